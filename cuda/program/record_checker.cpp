#include "record_checker.h"

#include <math.h>
#include <stdarg.h>

namespace m40 {

namespace {

constexpr uint32_t most_heads = 1u << 16;  // far above any model
constexpr uint32_t most_used = 1u << 12;   // experts of a token: the same

const char* rows_name(uint32_t rows) {
  return rows == M40_ROWS_TOKENS ? "tokens" : rows == M40_ROWS_OUTPUTS ? "outputs" : "experts";
}

const char* element_name(uint32_t element) { return element == M40_ELEMENT_F32 ? "F32" : "U32"; }

// Checks one record; every message starts with the record's index and kind.
class RecordChecker {
 public:
  RecordChecker(const ProgramDescription& program, const TensorLookup* tensors, uint32_t index)
      : program_(program), tensors_(tensors), index_(index), op_(program.ops[index]), operation_(find_operation(op_.kind)) {}

  void check() const {
    if (op_.flags != 0) reject("flags are 0x%x: wanted 0", op_.flags);
    if (operation_ == nullptr) reject("kind %u is not an operation of this ABI: wanted 1 to %u", op_.kind, operations().n);
    check_numbers();
    const m40_buffer_desc* first = nullptr;
    const Field* first_field = nullptr;
    for (const Field& field : *operation_) {
      for (uint32_t i = 0; i < operation_->n_elements(field, op_); i++) {
        if (field.optional && field.value(op_, i) == M40_NONE) continue;
        if (field.role == Role::kState) check_state(field);
        if (field.is_weight()) check_weight(field, i);
        if (!field.is_buffer()) continue;
        const m40_buffer_desc& desc = check_buffer(field);
        if (first == nullptr) {
          first = &desc;
          first_field = &field;
        }
        if (field.row_kind == RowKind::kAsFirst) check_same_rows(*first_field, *first, field, desc);
      }
    }
    check_relations();
  }

 private:
  [[noreturn]] void reject(const char* format, ...) const __attribute__((format(printf, 2, 3))) {
    char reason[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof(reason), format, arguments);
    va_end(arguments);
    fail(M40_INVALID_ARGUMENT, "operation %u (%s): %s", index_, op_name(op_.kind), reason);
  }

  // ---- what follows from the description --------------------------------------------------------------

  const m40_buffer_desc& check_buffer(const Field& field) const {
    const uint32_t index = field.value(op_);
    if (index >= program_.n_buffers) reject("%s is buffer %u: wanted one below %u", field.name, index, program_.n_buffers);
    const m40_buffer_desc& desc = program_.buffers[index];
    if (desc.element != field.element) {
      reject("%s (buffer %u) has elements %s: wanted %s", field.name, index, element_name(desc.element), element_name(field.element));
    }
    check_rows(field, desc);
    const uint64_t columns = field.columns(op_, 0);
    if (columns == 0) reject("%s would have no columns", field.name);
    if (columns > desc.columns) {
      reject("%s (buffer %u) has %u columns: wanted at least %llu", field.name, index, desc.columns, static_cast<unsigned long long>(columns));
    }
    return desc;
  }

  void check_rows(const Field& field, const m40_buffer_desc& desc) const {
    if (field.row_kind == RowKind::kExperts) return check_expert_rows(field.name, desc);
    if (field.row_kind != RowKind::kTokens && field.row_kind != RowKind::kOutputs) return;
    const uint32_t rows = field.row_kind == RowKind::kTokens ? M40_ROWS_TOKENS : M40_ROWS_OUTPUTS;
    if (desc.rows != rows) {
      reject("%s (buffer %u) has rows of %s: wanted %s", field.name, field.value(op_), rows_name(desc.rows), rows_name(rows));
    }
  }

  void check_expert_rows(const char* name, const m40_buffer_desc& desc) const {
    const uint64_t n_used = operation_->n_used(op_, 0);
    if (desc.rows != M40_ROWS_EXPERTS || desc.rows_factor != n_used) {
      reject("%s has rows of %s x %u: wanted experts x %llu", name, rows_name(desc.rows), desc.rows_factor, static_cast<unsigned long long>(n_used));
    }
  }

  void check_same_rows(const Field& field_a, const m40_buffer_desc& a, const Field& field_b, const m40_buffer_desc& b) const {
    if (a.rows != b.rows || a.rows_factor != b.rows_factor) {
      reject("%s has rows of %s x %u, %s of %s x %u: wanted the same", field_a.name, rows_name(a.rows), a.rows_factor, field_b.name,
             rows_name(b.rows), b.rows_factor);
    }
  }

  void check_weight(const Field& field, uint32_t i) const {
    if (tensors_ == nullptr) return;
    const uint32_t index = field.value(op_, i);
    const m40_tensor_desc* desc = tensors_->find(index);
    if (desc == nullptr) {
      if (index == M40_NONE) reject("%s is missing", field.name);
      reject("%s is tensor %u, which does not exist", field.name, index);
    }
    const uint64_t columns = field.columns(op_, i);
    const uint64_t n_experts = field.experts == nullptr ? 1 : field.experts(op_, i);
    const uint64_t rows = field.role == Role::kVector ? 1 : field.rows == nullptr ? desc->rows : field.rows(op_, i);
    if (desc->n_experts != n_experts || desc->rows != rows || desc->columns != columns) {
      reject("%s (tensor %u) is [%u, %u, %u]: wanted [%llu, %llu, %llu]", field.name, index, desc->n_experts, desc->rows, desc->columns,
             static_cast<unsigned long long>(n_experts), static_cast<unsigned long long>(rows), static_cast<unsigned long long>(columns));
    }
  }

  void check_state(const Field& field) const {
    const m40_cache_desc* cache = program_.cache;
    if (cache == nullptr || cache->n_states == 0) reject("the program's cache has no states: wanted one for the operation");
    const uint32_t state = field.value(op_);
    if (state >= cache->n_states) reject("state %u: the cache has %u", state, cache->n_states);
    const uint64_t values = field.columns(op_, 0);
    if (cache->state_values[state] != values) {
      reject("state %u has %u values: wanted %llu", state, cache->state_values[state], static_cast<unsigned long long>(values));
    }
    for (uint32_t i = 0; i < index_; i++) {
      const Field* other = find_state(program_.ops[i]);
      if (other != nullptr && other->value(program_.ops[i]) == state) reject("state %u is operation %u's already: wanted one of its own", state, i);
    }
  }

  // ---- checks of single operations: numbers, ahead of buffers and weights, and how they depend on each other
  // ------------

  void check_numbers() const {
    switch (op_.kind) {
      case M40_OP_EMBED: return finite("scale", op_.embed.scale);
      case M40_OP_NORM: return norm(op_.norm);
      case M40_OP_MATMUL: return matmul(op_.matmul);
      case M40_OP_ROPE_STORE: return rope_store(op_.rope_store);
      case M40_OP_ATTENTION: return attention(op_.attention);
      case M40_OP_ACTIVATION: return activation(op_.activation);
      case M40_OP_ADD: return add(op_.add);
      case M40_OP_SOFTCAP: return softcap(op_.softcap);
      case M40_OP_ROUTE: return route(op_.route);
      case M40_OP_EXPERT_MATMUL: return expert_matmul(op_.expert_matmul);
      case M40_OP_EXPERT_SUM: return expert_sum(op_.expert_sum);
      case M40_OP_SAMPLE: return sample(op_.sample);
      case M40_OP_HEAD_MATMUL: return head_matmul(op_.head_matmul);
      case M40_OP_CONV: return conv(op_.conv);
      case M40_OP_DELTA_RULE: return delta_rule(op_.delta_rule);
      case M40_OP_SELECTIVE_SCAN: return selective_scan(op_.selective_scan);
      case M40_OP_COPY: return copy(op_.copy);
      case M40_OP_EXCHANGE: return exchange(op_.exchange);
    }
  }

  void check_relations() const {
    if (op_.kind == M40_OP_EMBED && tensors_ != nullptr) {
      const m40_tensor_desc& table = *tensors_->find(op_.embed.table);
      if (table.rows < program_.limits->n_vocab) {
        reject("table (tensor %u) has %u rows: wanted one a token, %u", op_.embed.table, table.rows, program_.limits->n_vocab);
      }
    }
    if (op_.kind == M40_OP_EXPERT_MATMUL) {
      const m40_buffer_desc& input = program_.buffers[op_.expert_matmul.input];
      if (input.rows != M40_ROWS_TOKENS) check_expert_rows("input", input);
      if (tensors_ != nullptr && op_.expert_matmul.n_shared != 0) check_shared_types(op_.expert_matmul);
    }
  }

  void check_shared_types(const m40_op_expert_matmul& op) const {
    for (uint32_t i = 0; i < op.n_weights; i++) {
      const uint32_t type = tensors_->find(op.shared[i])->type, wanted = tensors_->find(op.weight[i])->type;
      if (type != wanted) reject("shared[%u] (tensor %u) has type %u: wanted that of weight[%u], %u", i, op.shared[i], type, i, wanted);
    }
  }

  void distinct(const char* role_a, uint32_t a, const char* role_b, uint32_t b) const {
    if (a == b) reject("%s and %s are both buffer %u: wanted two", role_a, role_b, a);
  }
  void finite(const char* role, float value) const {
    if (!isfinite(value)) reject("%s is %g: wanted a finite number", role, static_cast<double>(value));
  }
  void at_least_zero(const char* role, float value) const {
    finite(role, value);
    if (value < 0) reject("%s is %g: wanted 0 or more", role, static_cast<double>(value));
  }
  void positive(const char* role, float value) const {
    finite(role, value);
    if (value <= 0) reject("%s is %g: wanted more than 0", role, static_cast<double>(value));
  }
  void enumerated(const char* role, uint32_t value, uint32_t largest) const {
    if (value > largest) reject("%s is %u: wanted 0 to %u", role, value, largest);
  }

  void heads(uint32_t n_heads, uint32_t n_kv_heads, uint32_t head_dim, uint32_t value_dim, uint32_t layer) const {
    for (const uint32_t number : {n_heads, n_kv_heads, head_dim, value_dim}) {
      if (number != 0 && number <= most_heads) continue;
      reject("%u heads, %u KV heads, K of %u values and V of %u: wanted 1 to %u of each", n_heads, n_kv_heads, head_dim, value_dim, most_heads);
    }
    if (n_heads % n_kv_heads != 0) reject("%u heads over %u KV heads: wanted a multiple", n_heads, n_kv_heads);
    const m40_cache_desc* cache = program_.cache;
    if (cache == nullptr || cache->n_layers == 0) reject("the program has no KV cache: wanted one");
    if (layer >= cache->n_layers) reject("layer %u: the cache has %u", layer, cache->n_layers);
    if (cache->n_kv_heads[layer] != n_kv_heads || cache->head_dim[layer] != head_dim) {
      reject("%u KV heads of dimension %u: the cache has %u of %u", n_kv_heads, head_dim, cache->n_kv_heads[layer], cache->head_dim[layer]);
    }
    const uint32_t stored = cache->value_dim[layer];
    if (stored != 0 && stored != value_dim) reject("V of %u values: the cache has %u", value_dim, stored);
    if (stored == 0 && value_dim > head_dim) reject("V of %u values, the first of K's %u: wanted no more than those", value_dim, head_dim);
    if (stored == 0 && cache->type == M40_TYPE_Q8_0 && value_dim % 32 != 0) {
      reject("V of %u values, the first of K's, in a cache of type Q8_0: wanted a multiple of 32", value_dim);
    }
  }

  void norm(const m40_op_norm& op) const {
    enumerated("norm", op.norm, M40_NORM_LAYER);
    enumerated("weight_per_group", op.weight_per_group, 1);
    at_least_zero("epsilon", op.epsilon);
    if (op.n_groups == 0 || op.columns == 0) reject("%u groups of %u columns: wanted at least 1 of each", op.n_groups, op.columns);
    const bool in_place = op.input == op.output || (op.residual != M40_NONE && op.input == op.residual);
    if (in_place && op.input_column != op.output_column) {
      reject("input_column is %u and output_column %u of one buffer: wanted the same", op.input_column, op.output_column);
    }
  }

  void matmul(const m40_op_matmul& op) const {
    if (op.n_weights == 0 || op.n_weights > M40_MAX_MATMUL_WEIGHTS) {
      reject("n_weights is %u: wanted 1 to %d", op.n_weights, M40_MAX_MATMUL_WEIGHTS);
    }
    distinct("input", op.input, "output", op.output);
    finite("scale", op.scale);
    enumerated("arithmetic", op.arithmetic, M40_ARITHMETIC_PACKED);
    for (uint32_t i = 0; i < op.n_weights; i++) output_range(op.rows, op.output_column, i);
    if (op.residual == M40_NONE) return;
    if (op.n_weights != 1) reject("a residual with %u weights: wanted 1", op.n_weights);
    distinct("input", op.input, "residual", op.residual);
  }

  // The range of output columns of weight i, which must not overlap those of the weights before it.
  void output_range(const uint32_t* rows, const uint32_t* output_column, uint32_t i) const {
    if (rows[i] == 0) reject("rows[%u] is 0: wanted at least 1", i);
    for (uint32_t j = 0; j < i; j++) {
      const bool apart = uint64_t{output_column[i]} + rows[i] <= output_column[j] ||
                         uint64_t{output_column[j]} + rows[j] <= output_column[i];
      if (!apart) reject("the output columns of weights %u and %u overlap", j, i);
    }
  }

  void rope_store(const m40_op_rope_store& op) const {
    heads(op.n_heads, op.n_kv_heads, op.head_dim, op.value_dim, op.layer);
    enumerated("rope", op.rope, M40_ROPE_HALVES);
    enumerated("head_norm", op.head_norm, M40_HEAD_NORM_AFTER);
    enumerated("v_norm", op.v_norm, 1);
    at_least_zero("norm_epsilon", op.norm_epsilon);
    finite("temperature_scale", op.temperature_scale);
    if (op.temperature_scale != 0 && op.temperature_length == 0) reject("temperature_length is 0: wanted a number of tokens");
    if (op.kv != M40_NONE && op.kv == op.q) {
      const uint64_t q_end = uint64_t{op.n_heads} * op.head_dim;
      if (op.k_column < q_end || op.v_column < q_end) reject("K at column %u and V at %u of the buffer of q: wanted them after it, at %llu", op.k_column, op.v_column, static_cast<unsigned long long>(q_end));
    }
    if (op.kv != M40_NONE && (op.v_column == M40_NONE) != (program_.cache->value_dim[op.layer] == 0)) {
      reject("V %s: the layer of the cache has %s", op.v_column == M40_NONE ? "is missing" : "is given", op.v_column == M40_NONE ? "its own V" : "the first values of K for V");
    }
    if (op.v_column == M40_NONE && op.v_norm != 0) reject("v_norm is 1 without V: wanted 0");
    if (op.head_norm == M40_HEAD_NORM_NONE && (op.q_norm != M40_NONE || op.k_norm != M40_NONE)) {
      reject("q_norm or k_norm is given with head_norm 0: wanted 1 or 2");
    }
    if (op.rope == M40_ROPE_NONE) return;
    if (op.rope_dim == 0 || op.rope_dim % 2 != 0 || uint64_t{op.rope_offset} + op.rope_dim > op.head_dim) {
      reject("rope_dim is %u from value %u on: wanted an even number from 2, within the head dimension, %u", op.rope_dim, op.rope_offset, op.head_dim);
    }
    positive("freq_base", op.freq_base);
    positive("freq_scale", op.freq_scale);
    finite("attention_factor", op.attention_factor);
    finite("ext_factor", op.ext_factor);
    if (op.ext_factor == 0) return;
    positive("beta_fast", op.beta_fast);
    positive("beta_slow", op.beta_slow);
    if (op.original_context == 0) reject("original_context is 0: wanted the context the model was trained with");
    if (op.freq_base == 1) reject("freq_base is 1: wanted another for YaRN");
  }

  void attention(const m40_op_attention& op) const {
    heads(op.n_heads, op.n_kv_heads, op.head_dim, op.value_dim, op.layer);
    distinct("q", op.q, "output", op.output);
    if (op.window != 0 && op.chunk != 0) reject("a window of %u and a chunk of %u: wanted one of them", op.window, op.chunk);
    finite("scale", op.scale);
    at_least_zero("softcap", op.softcap);
  }

  void activation(const m40_op_activation& op) const {
    enumerated("activation", op.activation, M40_ACTIVATION_SWIGLU_CLAMPED);
    enumerated("gated", op.gated, 1);
    if ((op.gated != 0) != (op.up != M40_NONE)) reject("up is %s with gated %u: wanted a buffer where it is 1", op.up == M40_NONE ? "missing" : "given", op.gated);
    if (op.gated != 0 && op.up == op.output && op.up_column != 0 && op.up_column < op.columns) {
      reject("up_column is %u in the output's buffer: wanted 0, or %u or more", op.up_column, op.columns);
    }
    if (op.activation != M40_ACTIVATION_SWIGLU_CLAMPED) return;
    if (op.gated == 0) reject("gated is 0: wanted 1 for the clamped SwiGLU");
    finite("alpha", op.alpha);
    positive("limit", op.limit);
  }

  void add(const m40_op_add& op) const {
    if (op.gate != M40_NONE) distinct("gate", op.gate, "output", op.output);
  }

  void softcap(const m40_op_softcap& op) const {
    finite("scale", op.scale);
    at_least_zero("softcap", op.softcap);
  }

  void used_experts(uint32_t n_used, uint64_t n_experts) const {
    const uint64_t most = n_experts < most_used ? n_experts : most_used;
    if (n_used == 0 || n_used > most) {
      reject("%u experts used of %llu: wanted 1 to %llu", n_used, static_cast<unsigned long long>(n_experts), static_cast<unsigned long long>(most));
    }
  }

  void route(const m40_op_route& op) const {
    used_experts(op.n_used, op.n_experts);
    distinct("input", op.input, "weights", op.weights);
    enumerated("n_shared", op.n_shared, 1);
    enumerated("score", op.score, M40_SCORE_SOFTMAX_CHOSEN);
    enumerated("normalise", op.normalise, 1);
    finite("scale", op.scale);
    at_least_zero("least_sum", op.least_sum);
    if (op.n_groups == 0 || op.n_experts % op.n_groups != 0 || op.n_groups_used == 0 || op.n_groups_used > op.n_groups) {
      reject("%u of %u groups of %u experts: wanted at least 1 of groups that share the experts evenly", op.n_groups_used, op.n_groups, op.n_experts);
    }
    const uint64_t candidates = uint64_t{op.n_experts} / op.n_groups * op.n_groups_used;
    if (op.n_used > candidates) reject("%u experts used of the %llu of %u groups: wanted no more", op.n_used, static_cast<unsigned long long>(candidates), op.n_groups_used);
  }

  void expert_matmul(const m40_op_expert_matmul& op) const {
    enumerated("n_shared", op.n_shared, 1);
    used_experts(op.n_used, uint64_t{op.n_experts} + op.n_shared);
    if (op.n_weights == 0 || op.n_weights > 2) reject("n_weights is %u: wanted 1 or 2", op.n_weights);
    distinct("input", op.input, "output", op.output);
    enumerated("arithmetic", op.arithmetic, M40_ARITHMETIC_PACKED);
    for (uint32_t i = 0; i < op.n_weights; i++) {
      output_range(op.rows, op.output_column, i);
      if (op.n_shared == 0) continue;
      if (op.rows[i] == 1) reject("rows[%u] is 1 with a shared expert: wanted at least 2", i);
      if (op.bias[i] != M40_NONE || op.factor[i] != M40_NONE) reject("weight %u has a shared expert and a bias or a factor: wanted neither", i);
    }
  }

  void expert_sum(const m40_op_expert_sum& op) const {
    if (op.n_used == 0) reject("n_used is 0: wanted at least 1");
    distinct("weights", op.weights, "output", op.output);
    finite("scale", op.scale);
  }

  void head_matmul(const m40_op_head_matmul& op) const {
    distinct("input", op.input, "output", op.output);
    if (op.n_heads == 0 || op.n_heads > most_heads) reject("%u heads: wanted 1 to %u", op.n_heads, most_heads);
    if (op.rows == 0 || op.columns == 0) reject("heads of %u rows and %u columns: wanted at least 1 of each", op.rows, op.columns);
    if (uint64_t{op.columns} + op.copied > op.input_stride) reject("input_stride is %u: wanted room for a head's %u and %u values", op.input_stride, op.columns, op.copied);
    if (uint64_t{op.rows} + op.copied > op.output_stride) reject("output_stride is %u: wanted room for a head's %u and %u values", op.output_stride, op.rows, op.copied);
  }

  void conv(const m40_op_conv& op) const {
    distinct("input", op.input, "output", op.output);
    if (op.columns == 0) reject("columns is 0: wanted at least 1");
    if (op.kernel < 2 || op.kernel > 8) reject("kernel is %u: wanted 2 to 8", op.kernel);
    if (op.activation != M40_ACTIVATION_SILU && op.activation != M40_NONE) {
      reject("activation is %u: wanted %d (silu), or M40_NONE", op.activation, M40_ACTIVATION_SILU);
    }
  }

  // Of an operation with a matrix a head as its state.
  void state_heads(uint32_t n_heads, const char* shared_name, uint32_t n_shared, uint32_t rows, uint32_t columns) const {
    for (const uint32_t number : {n_heads, n_shared, rows, columns}) {
      if (number == 0 || number > most_heads) {
        reject("%u heads, %u %s, states of %u x %u values: wanted 1 to %u of each", n_heads, n_shared, shared_name, rows, columns, most_heads);
      }
    }
    if (n_heads % n_shared != 0) reject("%u heads over %u %s: wanted a multiple", n_heads, n_shared, shared_name);
  }

  void delta_rule(const m40_op_delta_rule& op) const {
    state_heads(op.n_heads, "K heads", op.n_k_heads, op.key_dim, op.value_dim);
    distinct("qkv", op.qkv, "output", op.output);
    distinct("gates", op.gates, "output", op.output);
    if (op.gate_heads == 0 || op.n_heads % op.gate_heads != 0) {
      reject("gate_heads is %u: wanted a number that divides the %u heads", op.gate_heads, op.n_heads);
    }
    enumerated("k_heads", op.k_heads, M40_K_HEADS_CYCLED);
    finite("scale", op.scale);
    at_least_zero("epsilon", op.epsilon);
  }

  void selective_scan(const m40_op_selective_scan& op) const {
    state_heads(op.n_heads, "groups", op.n_groups, op.head_dim, op.state_dim);
    distinct("input", op.input, "output", op.output);
    distinct("steps", op.steps, "output", op.output);
  }

  void copy(const m40_op_copy& op) const {
    distinct("input", op.input, "output", op.output);
    if (op.n_groups == 0 || op.columns == 0) reject("%u groups of %u columns: wanted at least 1 of each", op.n_groups, op.columns);
    if (op.n_groups > 1 && op.output_stride < op.columns) reject("output_stride is %u: wanted room for a group's %u values", op.output_stride, op.columns);
  }

  void exchange(const m40_op_exchange& op) const {
    if (op.n_cards < 2 || op.n_cards > M40_MAX_CARDS) reject("%u cards: wanted 2 to %d", op.n_cards, M40_MAX_CARDS);
    if (op.card >= op.n_cards) reject("card %u of %u: wanted one below that", op.card, op.n_cards);
    if (op.bounds[0] != 0) reject("bounds[0] is %u: wanted 0", op.bounds[0]);
    for (uint32_t card = 0; card < op.n_cards; card++) {
      if (op.bounds[card + 1] > op.bounds[card]) continue;
      reject("bounds[%u] is %u after %u: wanted a column for each card at least", card + 1, op.bounds[card + 1], op.bounds[card]);
    }
    if (op.input == op.output && op.input_column != op.bounds[op.card]) {
      reject("input_column is %u in the output's buffer: wanted %u, where the card's columns are", op.input_column, op.bounds[op.card]);
    }
    for (uint32_t i = 0; i < index_; i++) {
      const m40_op& other = program_.ops[i];
      if (other.kind != M40_OP_EXCHANGE || (other.exchange.n_cards == op.n_cards && other.exchange.card == op.card)) continue;
      reject("card %u of %u: operation %u exchanges as card %u of %u, wanted the same", op.card, op.n_cards, i, other.exchange.card, other.exchange.n_cards);
    }
  }

  void sample(const m40_op_sample& op) const {
    if (op.columns != program_.limits->n_vocab) reject("%u columns: wanted the vocabulary's %u", op.columns, program_.limits->n_vocab);
    if (op.hidden != M40_NONE) {
      distinct("logits", op.logits, "hidden", op.hidden);
    } else if (op.hidden_columns != 0) {
      reject("hidden_columns is %u without a hidden buffer: wanted 0", op.hidden_columns);
    }
    for (uint32_t i = 0; i < index_; i++) {
      if (program_.ops[i].kind == M40_OP_SAMPLE) reject("operation %u samples already: wanted one a program", i);
    }
  }

  const ProgramDescription& program_;
  const TensorLookup* tensors_;
  uint32_t index_;
  const m40_op& op_;
  const Operation* operation_;
};

}  // namespace

void check_record(const ProgramDescription& program, const TensorLookup* tensors, uint32_t index) {
  RecordChecker(program, tensors, index).check();
}

}  // namespace m40
