// What the fields of each operation's record are (operations.h), in their order there; for operations.cpp alone.
#ifndef M40_RUNTIME_OPERATION_FIELDS_H
#define M40_RUNTIME_OPERATION_FIELDS_H

#include <stddef.h>

#include <algorithm>

#include "operations.h"

namespace m40 {

namespace {

constexpr Field buffer(Field field, Role role, RowKind row_kind, Count columns, uint32_t element = M40_ELEMENT_F32) {
  field.role = role;
  field.row_kind = row_kind;
  field.columns = columns;
  field.element = element;
  return field;
}
constexpr Field reads(Field field, RowKind row_kind, Count columns, uint32_t element = M40_ELEMENT_F32) {
  return buffer(field, Role::kReads, row_kind, columns, element);
}
constexpr Field writes(Field field, RowKind row_kind, Count columns, uint32_t element = M40_ELEMENT_F32) {
  return buffer(field, Role::kWrites, row_kind, columns, element);
}
constexpr Field state(Field field, Count values) {
  field.role = Role::kState;
  field.columns = values;
  return field;
}
constexpr Field vector(Field field, Count columns) {
  field.role = Role::kVector;
  field.columns = columns;
  return field;
}
constexpr Field matrix(Field field, Count rows, Count columns) {
  field.role = Role::kMatrix;
  field.rows = rows;
  field.columns = columns;
  return field;
}
constexpr Field experts(Field field, Count n_experts, Count rows, Count columns) {
  field.role = Role::kExperts;
  field.experts = n_experts;
  field.rows = rows;
  field.columns = columns;
  return field;
}
constexpr Field optional(Field field) {
  field.optional = true;
  return field;
}
constexpr Field where(bool (*used)(const m40_op& op), Field field) {
  field.used = used;
  return field;
}

// Columns up to the end of the last weight's, and how many the weights write.
template <class Record>
uint64_t output_end(const Record& record) {
  uint64_t end = 0;
  for (uint32_t i = 0; i < record.n_weights; i++) end = std::max(end, uint64_t{record.output_column[i]} + record.rows[i]);
  return end;
}
template <class Record>
uint64_t output_written(const Record& record) {
  uint64_t columns = 0;
  for (uint32_t i = 0; i < record.n_weights; i++) columns += record.rows[i];
  return columns;
}

// Values that a norm writes, and that its weight has.
uint64_t norm_written(const m40_op_norm& op) { return uint64_t{op.n_groups} * op.columns; }
uint64_t norm_weights(const m40_op_norm& op) { return op.weight_per_group ? norm_written(op) : op.columns; }

// Columns up to the end of K and V.
uint64_t kv_end(const m40_op_rope_store& op) {
  const uint64_t k_end = uint64_t{op.k_column} + uint64_t{op.n_kv_heads} * op.head_dim;
  return op.v_column == M40_NONE ? k_end : std::max(k_end, uint64_t{op.v_column} + uint64_t{op.n_kv_heads} * op.value_dim);
}

// Experts of a token: chosen and shared.
uint64_t route_slots(const m40_op_route& op) { return uint64_t{op.n_used} + op.n_shared; }

// Columns that the card itself has computed. check_numbers has seen to it that there is such a card.
uint64_t exchange_own(const m40_op_exchange& op) { return op.bounds[op.card + 1] - op.bounds[op.card]; }

// Columns up to the end of the last head, of which `values` and those that are copied count.
uint64_t head_end(const m40_op_head_matmul& op, uint32_t stride, uint32_t values) {
  return uint64_t{op.n_heads - 1} * stride + values + op.copied;
}

// Columns up to the end of all that a convolution reads.
uint64_t conv_end(const m40_op_conv& op) {
  uint64_t end = op.input_column;
  for (const uint32_t column : {op.factor_column, op.gate_column}) {
    if (column != M40_NONE) end = std::max(end, uint64_t{column});
  }
  return end + op.columns;
}

// Columns up to the end of q, k and v, and of the numbers a and b.
uint64_t qkv_end(const m40_op_delta_rule& op) {
  const uint64_t k_end = std::max(op.q_column, op.k_column) + uint64_t{op.n_k_heads} * op.key_dim;
  return std::max(k_end, op.v_column + uint64_t{op.n_heads} * op.value_dim);
}
uint64_t gates_end(const m40_op_delta_rule& op) {
  return std::max(op.a_column, op.b_column) + uint64_t{op.n_heads / op.gate_heads - 1} * op.gate_stride + op.gate_heads;
}

// Columns up to the end of x, B and C.
uint64_t scan_end(const m40_op_selective_scan& op) {
  const uint64_t groups_end = std::max(op.b_column, op.c_column) + uint64_t{op.n_groups} * op.state_dim;
  return std::max(groups_end, op.x_column + uint64_t{op.n_heads} * op.head_dim);
}

// Columns up to the end of the last group.
uint64_t groups_end(const m40_op_copy& op, uint32_t column, uint32_t stride) {
  return column + uint64_t{op.n_groups - 1} * stride + op.columns;
}

#define FIELD(name, member) \
  Field { #member, offsetof(m40_op_##name, member), sizeof(m40_op_##name::member) }
// A count from the record, and for arrays from `i`.
#define COUNT(expression) []([[maybe_unused]] const m40_op& op, [[maybe_unused]] uint32_t i) -> uint64_t { return expression; }

constexpr Field embed_fields[] = {
    writes(FIELD(embed, output), RowKind::kTokens, COUNT(op.embed.columns)),
    matrix(FIELD(embed, table), nullptr, COUNT(op.embed.columns)),
    optional(matrix(FIELD(embed, position_table), nullptr, COUNT(op.embed.columns))),
    FIELD(embed, columns),
    FIELD(embed, scale),
};

constexpr Field norm_fields[] = {
    reads(FIELD(norm, input), RowKind::kAny, COUNT(op.norm.input_column + norm_written(op.norm))),
    writes(FIELD(norm, output), RowKind::kAsFirst, COUNT(op.norm.output_column + norm_written(op.norm))),
    optional(vector(FIELD(norm, weight), COUNT(norm_weights(op.norm)))),
    optional(vector(FIELD(norm, bias), COUNT(norm_weights(op.norm)))),
    optional(reads(FIELD(norm, residual), RowKind::kAsFirst, COUNT(op.norm.output_column + norm_written(op.norm)))),
    optional(vector(FIELD(norm, factor), COUNT(1))),
    FIELD(norm, norm),
    FIELD(norm, columns),
    FIELD(norm, n_groups),
    FIELD(norm, weight_per_group),
    FIELD(norm, input_column),
    FIELD(norm, output_column),
    FIELD(norm, epsilon),
};

constexpr Field matmul_fields[] = {
    reads(FIELD(matmul, input), RowKind::kAny, COUNT(op.matmul.columns)),
    writes(FIELD(matmul, output), RowKind::kAsFirst, COUNT(output_end(op.matmul))),
    optional(reads(FIELD(matmul, residual), RowKind::kAsFirst, COUNT(output_end(op.matmul)))),
    FIELD(matmul, n_weights),
    FIELD(matmul, columns),
    FIELD(matmul, scale),
    matrix(FIELD(matmul, weight), COUNT(op.matmul.rows[i]), COUNT(op.matmul.columns)),
    optional(vector(FIELD(matmul, bias), COUNT(op.matmul.rows[i]))),
    optional(vector(FIELD(matmul, factor), COUNT(1))),
    FIELD(matmul, rows),
    FIELD(matmul, output_column),
};

constexpr Field rope_store_fields[] = {
    buffer(FIELD(rope_store, q), Role::kUpdates, RowKind::kTokens, COUNT(uint64_t{op.rope_store.n_heads} * op.rope_store.head_dim)),
    optional(reads(FIELD(rope_store, kv), RowKind::kTokens, COUNT(kv_end(op.rope_store)))),
    FIELD(rope_store, k_column),
    FIELD(rope_store, v_column),
    FIELD(rope_store, layer),
    FIELD(rope_store, n_heads),
    FIELD(rope_store, n_kv_heads),
    FIELD(rope_store, head_dim),
    FIELD(rope_store, value_dim),
    FIELD(rope_store, rope_dim),
    FIELD(rope_store, rope_offset),
    FIELD(rope_store, rope),
    where([](const m40_op& op) { return op.rope_store.rope != M40_ROPE_NONE; }, optional(vector(FIELD(rope_store, factors), COUNT(op.rope_store.rope_dim / 2)))),
    FIELD(rope_store, head_norm),
    optional(vector(FIELD(rope_store, q_norm), COUNT(op.rope_store.head_dim))),
    optional(vector(FIELD(rope_store, k_norm), COUNT(op.rope_store.head_dim))),
    FIELD(rope_store, v_norm),
    FIELD(rope_store, original_context),
    FIELD(rope_store, temperature_length),
    FIELD(rope_store, temperature_offset),
    FIELD(rope_store, temperature_scale),
    FIELD(rope_store, norm_epsilon),
    FIELD(rope_store, freq_base),
    FIELD(rope_store, freq_scale),
    FIELD(rope_store, ext_factor),
    FIELD(rope_store, attention_factor),
    FIELD(rope_store, beta_fast),
    FIELD(rope_store, beta_slow),
};

constexpr Field attention_fields[] = {
    // K and V come from the cache.
    reads(FIELD(attention, q), RowKind::kTokens, COUNT(uint64_t{op.attention.n_heads} * op.attention.head_dim)),
    writes(FIELD(attention, output), RowKind::kTokens, COUNT(uint64_t{op.attention.n_heads} * op.attention.value_dim)),
    optional(vector(FIELD(attention, sinks), COUNT(op.attention.n_heads))),
    FIELD(attention, layer),
    FIELD(attention, n_heads),
    FIELD(attention, n_kv_heads),
    FIELD(attention, head_dim),
    FIELD(attention, value_dim),
    FIELD(attention, window),
    FIELD(attention, chunk),
    FIELD(attention, scale),
    FIELD(attention, softcap),
};

constexpr Field activation_fields[] = {
    reads(FIELD(activation, input), RowKind::kAny, COUNT(op.activation.columns)),
    optional(reads(FIELD(activation, up), RowKind::kAsFirst, COUNT(uint64_t{op.activation.up_column} + op.activation.columns))),
    writes(FIELD(activation, output), RowKind::kAsFirst, COUNT(op.activation.columns)),
    FIELD(activation, activation),
    FIELD(activation, gated),
    FIELD(activation, columns),
    FIELD(activation, up_column),
    FIELD(activation, alpha),
    FIELD(activation, limit),
};

constexpr Field add_fields[] = {
    reads(FIELD(add, a), RowKind::kAny, COUNT(op.add.columns)),
    reads(FIELD(add, b), RowKind::kAsFirst, COUNT(op.add.columns)),
    optional(reads(FIELD(add, gate), RowKind::kAsFirst, COUNT(1))),
    writes(FIELD(add, output), RowKind::kAsFirst, COUNT(op.add.columns)),
    FIELD(add, columns),
};

constexpr Field select_fields[] = {
    reads(FIELD(select, input), RowKind::kTokens, COUNT(op.select.columns)),
    writes(FIELD(select, output), RowKind::kOutputs, COUNT(op.select.columns)),
    FIELD(select, columns),
};

constexpr Field softcap_fields[] = {
    reads(FIELD(softcap, input), RowKind::kAny, COUNT(op.softcap.columns)),
    writes(FIELD(softcap, output), RowKind::kAsFirst, COUNT(op.softcap.columns)),
    FIELD(softcap, columns),
    FIELD(softcap, scale),
    FIELD(softcap, softcap),
};

constexpr Field route_fields[] = {
    reads(FIELD(route, input), RowKind::kTokens, COUNT(op.route.n_experts)),
    writes(FIELD(route, experts), RowKind::kTokens, COUNT(route_slots(op.route)), M40_ELEMENT_U32),
    writes(FIELD(route, weights), RowKind::kTokens, COUNT(route_slots(op.route))),
    optional(vector(FIELD(route, bias), COUNT(op.route.n_experts))),
    FIELD(route, n_experts),
    FIELD(route, n_used),
    FIELD(route, n_shared),
    FIELD(route, score),
    FIELD(route, normalise),
    FIELD(route, n_groups),
    FIELD(route, n_groups_used),
    FIELD(route, scale),
    FIELD(route, least_sum),
};

constexpr Field expert_matmul_fields[] = {
    // Rows of tokens, or of experts.
    reads(FIELD(expert_matmul, input), RowKind::kAny, COUNT(op.expert_matmul.columns)),
    reads(FIELD(expert_matmul, experts), RowKind::kTokens, COUNT(op.expert_matmul.n_used), M40_ELEMENT_U32),
    writes(FIELD(expert_matmul, output), RowKind::kExperts, COUNT(output_end(op.expert_matmul))),
    optional(reads(FIELD(expert_matmul, weights), RowKind::kTokens, COUNT(op.expert_matmul.n_used))),
    FIELD(expert_matmul, n_weights),
    FIELD(expert_matmul, columns),
    FIELD(expert_matmul, n_used),
    FIELD(expert_matmul, n_experts),
    FIELD(expert_matmul, n_shared),
    experts(FIELD(expert_matmul, weight), COUNT(op.expert_matmul.n_experts), COUNT(op.expert_matmul.rows[i]), COUNT(op.expert_matmul.columns)),
    where([](const m40_op& op) { return op.expert_matmul.n_shared != 0; },
          matrix(FIELD(expert_matmul, shared), COUNT(op.expert_matmul.rows[i]), COUNT(op.expert_matmul.columns))),
    optional(vector(FIELD(expert_matmul, bias), COUNT(uint64_t{op.expert_matmul.n_experts} * op.expert_matmul.rows[i]))),
    optional(vector(FIELD(expert_matmul, factor), COUNT(op.expert_matmul.n_experts))),
    FIELD(expert_matmul, rows),
    FIELD(expert_matmul, output_column),
};

constexpr Field expert_sum_fields[] = {
    reads(FIELD(expert_sum, input), RowKind::kExperts, COUNT(op.expert_sum.columns)),
    optional(reads(FIELD(expert_sum, weights), RowKind::kTokens, COUNT(op.expert_sum.n_used))),
    optional(reads(FIELD(expert_sum, residual), RowKind::kTokens, COUNT(uint64_t{op.expert_sum.output_column} + op.expert_sum.columns))),
    writes(FIELD(expert_sum, output), RowKind::kTokens, COUNT(uint64_t{op.expert_sum.output_column} + op.expert_sum.columns)),
    FIELD(expert_sum, columns),
    FIELD(expert_sum, n_used),
    FIELD(expert_sum, output_column),
    FIELD(expert_sum, scale),
};

constexpr Field sample_fields[] = {
    reads(FIELD(sample, logits), RowKind::kOutputs, COUNT(op.sample.columns)),
    FIELD(sample, columns),
    optional(buffer(FIELD(sample, hidden), Role::kLends, RowKind::kOutputs, COUNT(op.sample.hidden_columns))),
    FIELD(sample, hidden_columns),
};

constexpr Field head_matmul_fields[] = {
    reads(FIELD(head_matmul, input), RowKind::kTokens, COUNT(head_end(op.head_matmul, op.head_matmul.input_stride, op.head_matmul.columns))),
    writes(FIELD(head_matmul, output), RowKind::kTokens, COUNT(head_end(op.head_matmul, op.head_matmul.output_stride, op.head_matmul.rows))),
    experts(FIELD(head_matmul, weight), COUNT(op.head_matmul.n_heads), COUNT(op.head_matmul.rows), COUNT(op.head_matmul.columns)),
    FIELD(head_matmul, n_heads),
    FIELD(head_matmul, columns),
    FIELD(head_matmul, rows),
    FIELD(head_matmul, input_stride),
    FIELD(head_matmul, output_stride),
    FIELD(head_matmul, copied),
};

constexpr Field conv_fields[] = {
    reads(FIELD(conv, input), RowKind::kTokens, COUNT(conv_end(op.conv))),
    writes(FIELD(conv, output), RowKind::kTokens, COUNT(uint64_t{op.conv.output_column} + op.conv.columns)),
    vector(FIELD(conv, weight), COUNT(uint64_t{op.conv.columns} * op.conv.kernel)),
    optional(vector(FIELD(conv, bias), COUNT(op.conv.columns))),
    state(FIELD(conv, state), COUNT(uint64_t{op.conv.kernel - 1} * op.conv.columns)),
    FIELD(conv, columns),
    FIELD(conv, kernel),
    FIELD(conv, activation),
    FIELD(conv, input_column),
    FIELD(conv, factor_column),
    FIELD(conv, gate_column),
    FIELD(conv, output_column),
};

constexpr Field delta_rule_fields[] = {
    reads(FIELD(delta_rule, qkv), RowKind::kTokens, COUNT(qkv_end(op.delta_rule))),
    reads(FIELD(delta_rule, gates), RowKind::kTokens, COUNT(gates_end(op.delta_rule))),
    writes(FIELD(delta_rule, output), RowKind::kTokens, COUNT(uint64_t{op.delta_rule.n_heads} * op.delta_rule.value_dim)),
    vector(FIELD(delta_rule, decay), COUNT(op.delta_rule.n_heads)),
    vector(FIELD(delta_rule, a_bias), COUNT(op.delta_rule.n_heads)),
    state(FIELD(delta_rule, state), COUNT(uint64_t{op.delta_rule.n_heads} * op.delta_rule.key_dim * op.delta_rule.value_dim)),
    FIELD(delta_rule, n_heads),
    FIELD(delta_rule, n_k_heads),
    FIELD(delta_rule, key_dim),
    FIELD(delta_rule, value_dim),
    FIELD(delta_rule, q_column),
    FIELD(delta_rule, k_column),
    FIELD(delta_rule, v_column),
    FIELD(delta_rule, a_column),
    FIELD(delta_rule, b_column),
    FIELD(delta_rule, gate_heads),
    FIELD(delta_rule, gate_stride),
    FIELD(delta_rule, k_heads),
    FIELD(delta_rule, scale),
    FIELD(delta_rule, epsilon),
};

constexpr Field selective_scan_fields[] = {
    reads(FIELD(selective_scan, input), RowKind::kTokens, COUNT(scan_end(op.selective_scan))),
    reads(FIELD(selective_scan, steps), RowKind::kTokens, COUNT(uint64_t{op.selective_scan.dt_column} + op.selective_scan.n_heads)),
    writes(FIELD(selective_scan, output), RowKind::kTokens, COUNT(uint64_t{op.selective_scan.n_heads} * op.selective_scan.head_dim)),
    vector(FIELD(selective_scan, decay), COUNT(op.selective_scan.n_heads)),
    vector(FIELD(selective_scan, skip), COUNT(op.selective_scan.n_heads)),
    vector(FIELD(selective_scan, dt_bias), COUNT(op.selective_scan.n_heads)),
    state(FIELD(selective_scan, state), COUNT(uint64_t{op.selective_scan.n_heads} * op.selective_scan.head_dim * op.selective_scan.state_dim)),
    FIELD(selective_scan, n_heads),
    FIELD(selective_scan, n_groups),
    FIELD(selective_scan, head_dim),
    FIELD(selective_scan, state_dim),
    FIELD(selective_scan, x_column),
    FIELD(selective_scan, b_column),
    FIELD(selective_scan, c_column),
    FIELD(selective_scan, dt_column),
};

constexpr Field copy_fields[] = {
    reads(FIELD(copy, input), RowKind::kAny, COUNT(groups_end(op.copy, op.copy.input_column, op.copy.input_stride))),
    writes(FIELD(copy, output), RowKind::kAsFirst, COUNT(groups_end(op.copy, op.copy.output_column, op.copy.output_stride))),
    FIELD(copy, columns),
    FIELD(copy, n_groups),
    FIELD(copy, input_column),
    FIELD(copy, input_stride),
    FIELD(copy, output_column),
    FIELD(copy, output_stride),
};

constexpr Field exchange_fields[] = {
    reads(FIELD(exchange, input), RowKind::kAny, COUNT(uint64_t{op.exchange.input_column} + exchange_own(op.exchange))),
    writes(FIELD(exchange, output), RowKind::kAsFirst, COUNT(op.exchange.bounds[op.exchange.n_cards])),
    FIELD(exchange, input_column),
    FIELD(exchange, n_cards),
    FIELD(exchange, card),
    FIELD(exchange, bounds),
};

#undef FIELD
#undef COUNT

}  // namespace

}  // namespace m40

#endif
