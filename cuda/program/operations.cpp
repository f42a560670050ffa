#include "operations.h"

#include <algorithm>

#include "operation_fields.h"

namespace m40 {

namespace {

// A count from the record, and for arrays from `i`.
#define COUNT(expression) []([[maybe_unused]] const m40_op& op, [[maybe_unused]] uint32_t i) -> uint64_t { return expression; }

template <class Record, uint32_t n>
constexpr Operation described(uint32_t kind, const char* name, const char* struct_name, const Field (&fields)[n]) {
  return {kind, name, struct_name, sizeof(Record), fields, n};
}
constexpr Operation with_pages(Operation operation) {
  operation.uses_pages = true;
  return operation;
}
constexpr Operation with_weights(Operation operation, Count n_weights, Count written) {
  operation.n_weights = n_weights;
  operation.written = written;
  return operation;
}
constexpr Operation with_written(Operation operation, Count written) {
  operation.written = written;
  return operation;
}
constexpr Operation with_experts(Operation operation, Count n_used) {
  operation.n_used = n_used;
  return operation;
}

#define OPERATION(KIND, name) described<m40_op_##name>(M40_OP_##KIND, #name, "m40_op_" #name, name##_fields)

constexpr Operation all[] = {
    OPERATION(EMBED, embed),
    with_written(OPERATION(NORM, norm), COUNT(norm_written(op.norm))),
    with_weights(OPERATION(MATMUL, matmul), COUNT(op.matmul.n_weights), COUNT(output_written(op.matmul))),
    with_pages(OPERATION(ROPE_STORE, rope_store)),
    with_pages(OPERATION(ATTENTION, attention)),
    OPERATION(ACTIVATION, activation),
    OPERATION(ADD, add),
    OPERATION(SELECT, select),
    OPERATION(SOFTCAP, softcap),
    OPERATION(ROUTE, route),
    with_experts(with_weights(OPERATION(EXPERT_MATMUL, expert_matmul), COUNT(op.expert_matmul.n_weights), COUNT(output_written(op.expert_matmul))),
                 COUNT(op.expert_matmul.n_used)),
    with_written(with_experts(OPERATION(EXPERT_SUM, expert_sum), COUNT(op.expert_sum.n_used)), COUNT(op.expert_sum.columns)),
    OPERATION(SAMPLE, sample),
    with_written(OPERATION(HEAD_MATMUL, head_matmul), COUNT(uint64_t{op.head_matmul.n_heads} * (op.head_matmul.rows + op.head_matmul.copied))),
    with_written(OPERATION(CONV, conv), COUNT(op.conv.columns)),
    OPERATION(DELTA_RULE, delta_rule),
    OPERATION(SELECTIVE_SCAN, selective_scan),
    with_written(OPERATION(COPY, copy), COUNT(uint64_t{op.copy.n_groups} * op.copy.columns)),
    OPERATION(EXCHANGE, exchange),
};

#undef OPERATION
#undef COUNT

// Whether its fields are the struct's, one behind the other and none left out, and have all that their roles need.
constexpr bool complete(const Operation& operation) {
  uint32_t end = 0;
  for (uint32_t i = 0; i < operation.n_fields; i++) {
    const Field& field = operation.fields[i];
    const bool array = field.n_bytes != sizeof(uint32_t);
    if (field.offset != end || field.n_bytes % sizeof(uint32_t) != 0) return false;
    if (field.role != Role::kNumber && (field.columns == nullptr || (array && operation.n_weights == nullptr))) return false;
    if (field.role == Role::kExperts && (field.experts == nullptr || field.rows == nullptr)) return false;
    if (field.row_kind == RowKind::kExperts && operation.n_used == nullptr) return false;
    end += field.n_bytes;
  }
  return end == operation.n_bytes && end <= sizeof(m40_op::words);
}

constexpr bool all_complete() {
  for (uint32_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
    if (all[i].kind != i + 1 || !complete(all[i])) return false;
  }
  return true;
}

static_assert(all_complete(), "a record, or a field of one, is not described");

// Whether a field that has a role names the buffer.
template <class HasRole>
bool names_buffer(const m40_op& op, uint32_t buffer, const HasRole& has_role) {
  const Operation* operation = find_operation(op.kind);
  return std::any_of(operation->begin(), operation->end(), [&](const Field& field) {
    return field.is_buffer() && has_role(field) && field.value(op) == buffer;
  });
}

}  // namespace

OperationList operations() { return {all, sizeof(all) / sizeof(all[0])}; }

const Operation* find_operation(uint32_t kind) { return kind >= 1 && kind <= operations().n ? &all[kind - 1] : nullptr; }

const char* op_name(uint32_t kind) {
  const Operation* operation = find_operation(kind);
  return operation == nullptr ? "unknown" : operation->name;
}

bool uses_pages(const m40_op& op) {
  const Operation* operation = find_operation(op.kind);
  return operation == nullptr || operation->uses_pages;
}

const Field* find_state(const m40_op& op) {
  const Operation* operation = find_operation(op.kind);
  if (operation == nullptr) return nullptr;
  const Field* found = std::find_if(operation->begin(), operation->end(), [](const Field& field) { return field.role == Role::kState; });
  return found == operation->end() ? nullptr : found;
}

bool reads_buffer(const m40_op& op, uint32_t buffer) {
  return find_operation(op.kind) == nullptr || names_buffer(op, buffer, [](const Field& field) { return field.reads(); });
}

bool writes_buffer(const m40_op& op, uint32_t buffer) {
  return find_operation(op.kind) == nullptr || names_buffer(op, buffer, [](const Field& field) { return field.writes(); });
}

bool replaces_buffer(const m40_op& op, uint32_t buffer, uint64_t columns) {
  if (reads_buffer(op, buffer)) return false;
  const Operation& operation = *find_operation(op.kind);
  return names_buffer(op, buffer, [&](const Field& field) {
    const uint64_t end = field.columns(op, 0);
    return field.writes() && end >= columns && (operation.written == nullptr || operation.written(op, 0) == end);
  });
}

}  // namespace m40
