#include "validate.h"

#include <math.h>
#include <stdarg.h>

namespace m40 {

const char* op_name(uint32_t kind) {
  switch (kind) {
    case M40_OP_EMBED: return "embed";
    case M40_OP_NORM: return "norm";
    case M40_OP_MATMUL: return "matmul";
    case M40_OP_ROPE: return "rope";
    case M40_OP_ATTENTION: return "attention";
    case M40_OP_ACTIVATION: return "activation";
    case M40_OP_ADD: return "add";
    case M40_OP_SELECT: return "select";
    case M40_OP_SOFTCAP: return "softcap";
    case M40_OP_ROUTE: return "route";
    case M40_OP_EXPERT_MATMUL: return "expert_matmul";
    case M40_OP_EXPERT_SUM: return "expert_sum";
    case M40_OP_SAMPLE: return "sample";
    default: return "unknown";
  }
}

namespace {

constexpr uint32_t max_list = 1u << 16;   // operations, buffers, heads: far above any model
constexpr uint32_t max_used = 1u << 12;   // experts of a token: the same

const char* rows_name(uint32_t rows) {
  return rows == M40_ROWS_TOKENS ? "tokens" : rows == M40_ROWS_OUTPUTS ? "outputs" : "experts";
}

const char* element_name(uint32_t element) { return element == M40_ELEMENT_F32 ? "F32" : "U32"; }

// Checks one record; every message starts with the record's index and kind.
class RecordChecker {
 public:
  RecordChecker(const ProgramDescription& program, const TensorLookup* tensors, uint32_t index)
      : program_(program), tensors_(tensors), index_(index), op_(program.ops[index]) {}

  void check() const {
    if (op_.flags != 0) reject("flags are 0x%x: wanted 0", op_.flags);
    switch (op_.kind) {
      case M40_OP_EMBED: return embed(op_.embed);
      case M40_OP_NORM: return norm(op_.norm);
      case M40_OP_MATMUL: return matmul(op_.matmul);
      case M40_OP_ROPE: return rope(op_.rope);
      case M40_OP_ATTENTION: return attention(op_.attention);
      case M40_OP_ACTIVATION: return activation(op_.activation);
      case M40_OP_ADD: return add(op_.add);
      case M40_OP_SELECT: return select(op_.select);
      case M40_OP_SOFTCAP: return softcap(op_.softcap);
      case M40_OP_ROUTE: return route(op_.route);
      case M40_OP_EXPERT_MATMUL: return expert_matmul(op_.expert_matmul);
      case M40_OP_EXPERT_SUM: return expert_sum(op_.expert_sum);
      case M40_OP_SAMPLE: return sample(op_.sample);
      default: reject("kind %u is not an operation of this ABI: wanted %d to %d", op_.kind, M40_OP_EMBED, M40_OP_SAMPLE);
    }
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

  // A buffer of at least `columns` columns.
  const m40_buffer_desc& buffer(const char* role, uint32_t index, uint64_t columns,
                                uint32_t element = M40_ELEMENT_F32) const {
    if (index >= program_.n_buffers) {
      reject("%s is buffer %u: wanted one below %u", role, index, program_.n_buffers);
    }
    const m40_buffer_desc& desc = program_.buffers[index];
    if (desc.element != element) {
      reject("%s (buffer %u) has elements %s: wanted %s", role, index, element_name(desc.element), element_name(element));
    }
    if (columns == 0) reject("%s would have no columns", role);
    if (columns > desc.columns) {
      reject("%s (buffer %u) has %u columns: wanted at least %llu", role, index, desc.columns,
             static_cast<unsigned long long>(columns));
    }
    return desc;
  }

  const m40_buffer_desc& buffer_of(const char* role, uint32_t index, uint64_t columns, uint32_t rows,
                                   uint32_t element = M40_ELEMENT_F32) const {
    const m40_buffer_desc& desc = buffer(role, index, columns, element);
    if (desc.rows != rows) {
      reject("%s (buffer %u) has rows of %s: wanted %s", role, index, rows_name(desc.rows), rows_name(rows));
    }
    return desc;
  }

  void same_rows(const char* role_a, const m40_buffer_desc& a, const char* role_b, const m40_buffer_desc& b) const {
    if (a.rows != b.rows || a.rows_factor != b.rows_factor) {
      reject("%s has rows of %s x %u, %s of %s x %u: wanted the same", role_a, rows_name(a.rows), a.rows_factor, role_b,
             rows_name(b.rows), b.rows_factor);
    }
  }

  void distinct(const char* role_a, uint32_t a, const char* role_b, uint32_t b) const {
    if (a == b) reject("%s and %s are both buffer %u: wanted two", role_a, role_b, a);
  }

  // rows == 0: any number of them.
  const m40_tensor_desc* tensor(const char* role, uint32_t index, uint32_t n_experts, uint32_t rows,
                                uint32_t columns) const {
    if (tensors_ == nullptr) return nullptr;
    const m40_tensor_desc* desc = tensors_->find(index);
    if (desc == nullptr) {
      if (index == M40_NONE) reject("%s is missing", role);
      reject("%s is tensor %u, which does not exist", role, index);
    }
    if (desc->n_experts != n_experts || (rows != 0 && desc->rows != rows) || desc->columns != columns) {
      reject("%s (tensor %u) is [%u, %u, %u]: wanted [%u, %u, %u]", role, index, desc->n_experts, desc->rows,
             desc->columns, n_experts, rows == 0 ? desc->rows : rows, columns);
    }
    return desc;
  }

  void vector(const char* role, uint32_t index, uint32_t columns) const { tensor(role, index, 1, 1, columns); }
  void optional_vector(const char* role, uint32_t index, uint32_t columns) const {
    if (index != M40_NONE) vector(role, index, columns);
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

  void heads(uint32_t n_heads, uint32_t n_kv_heads, uint32_t head_dim, uint32_t layer) const {
    if (n_heads == 0 || n_kv_heads == 0 || head_dim == 0 || n_heads > max_list || n_kv_heads > max_list || head_dim > max_list) {
      reject("%u heads, %u KV heads, head dimension %u: wanted 1 to %u of each", n_heads, n_kv_heads, head_dim, max_list);
    }
    if (n_heads % n_kv_heads != 0) reject("%u heads over %u KV heads: wanted a multiple", n_heads, n_kv_heads);
    const m40_cache_desc* cache = program_.cache;
    if (cache == nullptr) reject("the program has no KV cache: wanted one");
    if (cache->n_kv_heads != n_kv_heads || cache->head_dim != head_dim) {
      reject("%u KV heads of dimension %u: the cache has %u of %u", n_kv_heads, head_dim, cache->n_kv_heads, cache->head_dim);
    }
    if (layer >= cache->n_layers) reject("layer %u: the cache has %u", layer, cache->n_layers);
  }

  void embed(const m40_op_embed& op) const {
    buffer_of("output", op.output, op.columns, M40_ROWS_TOKENS);
    finite("scale", op.scale);
    const m40_tensor_desc* table = tensor("table", op.table, 1, 0, op.columns);
    if (table != nullptr && table->rows < program_.limits->n_vocab) {
      reject("table (tensor %u) has %u rows: wanted one a token, %u", op.table, table->rows, program_.limits->n_vocab);
    }
    if (op.position_table != M40_NONE) tensor("position_table", op.position_table, 1, 0, op.columns);
  }

  void norm(const m40_op_norm& op) const {
    const m40_buffer_desc& input = buffer("input", op.input, op.columns);
    same_rows("input", input, "output", buffer("output", op.output, op.columns));
    if (op.residual != M40_NONE) same_rows("input", input, "residual", buffer("residual", op.residual, op.columns));
    enumerated("norm", op.norm, M40_NORM_LAYER);
    at_least_zero("epsilon", op.epsilon);
    vector("weight", op.weight, op.columns);
    optional_vector("bias", op.bias, op.columns);
  }

  void matmul(const m40_op_matmul& op) const {
    if (op.n_weights == 0 || op.n_weights > M40_MAX_MATMUL_WEIGHTS) {
      reject("n_weights is %u: wanted 1 to %d", op.n_weights, M40_MAX_MATMUL_WEIGHTS);
    }
    const m40_buffer_desc& input = buffer("input", op.input, op.columns);
    distinct("input", op.input, "output", op.output);
    for (uint32_t i = 0; i < op.n_weights; i++) {
      const m40_buffer_desc& output = output_range(op.output, op.rows, op.output_column, i);
      same_rows("input", input, "output", output);
      tensor("weight", op.weight[i], 1, op.rows[i], op.columns);
      optional_vector("bias", op.bias[i], op.rows[i]);
    }
    if (op.residual != M40_NONE) {
      if (op.n_weights != 1) reject("a residual with %u weights: wanted 1", op.n_weights);
      distinct("input", op.input, "residual", op.residual);
      same_rows("input", input, "residual", buffer("residual", op.residual, uint64_t{op.output_column[0]} + op.rows[0]));
    }
  }

  // The range of output columns of weight i, which must not overlap those before it.
  const m40_buffer_desc& output_range(uint32_t output, const uint32_t* rows, const uint32_t* output_column, uint32_t i) const {
    if (rows[i] == 0) reject("rows[%u] is 0: wanted at least 1", i);
    for (uint32_t j = 0; j < i; j++) {
      const bool apart = uint64_t{output_column[i]} + rows[i] <= output_column[j] ||
                         uint64_t{output_column[j]} + rows[j] <= output_column[i];
      if (!apart) reject("the output columns of weights %u and %u overlap", j, i);
    }
    return buffer("output", output, uint64_t{output_column[i]} + rows[i]);
  }

  void rope(const m40_op_rope& op) const {
    heads(op.n_heads, op.n_kv_heads, op.head_dim, op.layer);
    buffer_of("qkv", op.qkv, (uint64_t{op.n_heads} + 2 * uint64_t{op.n_kv_heads}) * op.head_dim, M40_ROWS_TOKENS);
    enumerated("rope", op.rope, M40_ROPE_HALVES);
    optional_vector("q_norm", op.q_norm, op.head_dim);
    optional_vector("k_norm", op.k_norm, op.head_dim);
    at_least_zero("norm_epsilon", op.norm_epsilon);
    if (op.rope == M40_ROPE_NONE) return;
    if (op.rope_dim == 0 || op.rope_dim % 2 != 0 || op.rope_dim > op.head_dim) {
      reject("rope_dim is %u: wanted an even number from 2 to the head dimension, %u", op.rope_dim, op.head_dim);
    }
    optional_vector("factors", op.factors, op.rope_dim / 2);
    positive("freq_base", op.freq_base);
    positive("freq_scale", op.freq_scale);
    finite("attention_factor", op.attention_factor);
    finite("ext_factor", op.ext_factor);
    if (op.ext_factor != 0) {
      positive("beta_fast", op.beta_fast);
      positive("beta_slow", op.beta_slow);
      if (op.original_context == 0) reject("original_context is 0: wanted the context the model was trained with");
      if (op.freq_base == 1) reject("freq_base is 1: wanted another for YaRN");
    }
  }

  void attention(const m40_op_attention& op) const {
    heads(op.n_heads, op.n_kv_heads, op.head_dim, op.layer);
    // Only q is read from the buffer: k and v come from the cache.
    buffer_of("qkv", op.qkv, uint64_t{op.n_heads} * op.head_dim, M40_ROWS_TOKENS);
    buffer_of("output", op.output, uint64_t{op.n_heads} * op.head_dim, M40_ROWS_TOKENS);
    distinct("qkv", op.qkv, "output", op.output);
    finite("scale", op.scale);
    at_least_zero("softcap", op.softcap);
  }

  void activation(const m40_op_activation& op) const {
    enumerated("activation", op.activation, M40_ACTIVATION_RELU);
    enumerated("gated", op.gated, 1);
    const m40_buffer_desc& input = buffer("input", op.input, uint64_t{op.columns} * (op.gated ? 2 : 1));
    same_rows("input", input, "output", buffer("output", op.output, op.columns));
  }

  void add(const m40_op_add& op) const {
    const m40_buffer_desc& a = buffer("a", op.a, op.columns);
    same_rows("a", a, "b", buffer("b", op.b, op.columns));
    same_rows("a", a, "output", buffer("output", op.output, op.columns));
  }

  void select(const m40_op_select& op) const {
    buffer_of("input", op.input, op.columns, M40_ROWS_TOKENS);
    buffer_of("output", op.output, op.columns, M40_ROWS_OUTPUTS);
  }

  void softcap(const m40_op_softcap& op) const {
    same_rows("input", buffer("input", op.input, op.columns), "output", buffer("output", op.output, op.columns));
    finite("scale", op.scale);
    at_least_zero("softcap", op.softcap);
  }

  void used_experts(uint32_t n_used, uint32_t n_experts) const {
    const uint32_t most = n_experts < max_used ? n_experts : max_used;
    if (n_used == 0 || n_used > most) reject("%u experts used of %u: wanted 1 to %u", n_used, n_experts, most);
  }

  void expert_rows(const char* role, const m40_buffer_desc& desc, uint32_t n_used) const {
    if (desc.rows != M40_ROWS_EXPERTS || desc.rows_factor != n_used) {
      reject("%s has rows of %s x %u: wanted experts x %u", role, rows_name(desc.rows), desc.rows_factor, n_used);
    }
  }

  void route(const m40_op_route& op) const {
    used_experts(op.n_used, op.n_experts);
    buffer_of("input", op.input, op.n_experts, M40_ROWS_TOKENS);
    buffer_of("experts", op.experts, op.n_used, M40_ROWS_TOKENS, M40_ELEMENT_U32);
    buffer_of("weights", op.weights, op.n_used, M40_ROWS_TOKENS);
    distinct("input", op.input, "weights", op.weights);
    enumerated("normalise", op.normalise, 1);
    finite("scale", op.scale);
  }

  void expert_matmul(const m40_op_expert_matmul& op) const {
    used_experts(op.n_used, op.n_experts);
    if (op.n_weights == 0 || op.n_weights > 2) reject("n_weights is %u: wanted 1 or 2", op.n_weights);
    const m40_buffer_desc& input = buffer("input", op.input, op.columns);
    if (input.rows != M40_ROWS_TOKENS) expert_rows("input", input, op.n_used);
    buffer_of("experts", op.experts, op.n_used, M40_ROWS_TOKENS, M40_ELEMENT_U32);
    distinct("input", op.input, "output", op.output);
    for (uint32_t i = 0; i < op.n_weights; i++) {
      expert_rows("output", output_range(op.output, op.rows, op.output_column, i), op.n_used);
      tensor("weight", op.weight[i], op.n_experts, op.rows[i], op.columns);
    }
  }

  void expert_sum(const m40_op_expert_sum& op) const {
    expert_rows("input", buffer("input", op.input, op.columns), op.n_used);
    if (op.n_used == 0) reject("n_used is 0: wanted at least 1");
    buffer_of("weights", op.weights, op.n_used, M40_ROWS_TOKENS);
    buffer_of("output", op.output, op.columns, M40_ROWS_TOKENS);
    distinct("weights", op.weights, "output", op.output);
    if (op.residual != M40_NONE) buffer_of("residual", op.residual, op.columns, M40_ROWS_TOKENS);
  }

  void sample(const m40_op_sample& op) const {
    if (op.columns != program_.limits->n_vocab) {
      reject("%u columns: wanted the vocabulary's %u", op.columns, program_.limits->n_vocab);
    }
    buffer_of("logits", op.logits, op.columns, M40_ROWS_OUTPUTS);
    if (op.hidden != M40_NONE) {
      buffer_of("hidden", op.hidden, op.hidden_columns, M40_ROWS_OUTPUTS);
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
};

void validate_limits(const m40_limits& limits, const m40_cache_desc* cache) {
  if (limits.n_tokens == 0 || limits.n_sequences == 0 || limits.n_vocab == 0) {
    fail(M40_INVALID_ARGUMENT, "limits of %u tokens, %u sequences and a vocabulary of %u: none of them may be 0",
         limits.n_tokens, limits.n_sequences, limits.n_vocab);
  }
  if (limits.n_vocab > 0x7FFFFFFFu) fail(M40_INVALID_ARGUMENT, "a vocabulary of %u tokens: wanted fewer than 2^31", limits.n_vocab);
  if (limits.step_bytes < sizeof(m40_step_header)) {
    fail(M40_INVALID_ARGUMENT, "step_bytes is %llu: wanted at least the step header's %zu",
         static_cast<unsigned long long>(limits.step_bytes), sizeof(m40_step_header));
  }
  // Far below where sums overflow.
  if (limits.step_bytes > uint64_t{1} << 48) {
    fail(M40_INVALID_ARGUMENT, "step_bytes is %llu: wanted at most 2^48", static_cast<unsigned long long>(limits.step_bytes));
  }
  if (uint64_t{limits.n_sequences} * limits.n_sequence_pages > uint64_t{1} << 46) {
    fail(M40_INVALID_ARGUMENT, "%u sequences of %u pages: wanted at most 2^46 pages in all", limits.n_sequences, limits.n_sequence_pages);
  }
  if (cache == nullptr) return;
  checked_page_bytes(*cache);
  if (uint64_t{limits.n_sequence_pages} * cache->page_tokens > uint64_t{1} << 32) {
    fail(M40_INVALID_ARGUMENT, "%u pages a sequence of %u tokens: positions would not fit 32 bits", limits.n_sequence_pages,
         cache->page_tokens);
  }
  if (limits.n_sequence_pages == 0) fail(M40_INVALID_ARGUMENT, "n_sequence_pages is 0: wanted at least 1 with a KV cache");
}

void validate_buffer(uint32_t index, const m40_buffer_desc& buffer, const m40_limits& limits) {
  if (buffer.rows > M40_ROWS_EXPERTS) {
    fail(M40_INVALID_ARGUMENT, "buffer %u: rows is %u: wanted 0 (tokens), 1 (outputs) or 2 (experts)", index, buffer.rows);
  }
  if (buffer.rows == M40_ROWS_EXPERTS ? buffer.rows_factor == 0 : buffer.rows_factor != 1) {
    fail(M40_INVALID_ARGUMENT, "buffer %u: rows_factor is %u: wanted %s", index, buffer.rows_factor,
         buffer.rows == M40_ROWS_EXPERTS ? "the experts used a token" : "1");
  }
  if (buffer.columns == 0) fail(M40_INVALID_ARGUMENT, "buffer %u: columns is 0: wanted at least 1", index);
  if (buffer.element > M40_ELEMENT_U32) {
    fail(M40_INVALID_ARGUMENT, "buffer %u: element is %u: wanted 0 (F32) or 1 (U32)", index, buffer.element);
  }
  checked_buffer_bytes(buffer, limits);
}

}  // namespace

void validate_program(const ProgramDescription& program, const TensorLookup* tensors) {
  if (program.n_ops == 0 || program.n_ops > max_list) {
    fail(M40_INVALID_ARGUMENT, "a program of %u operations: wanted 1 to %u", program.n_ops, max_list);
  }
  if (program.n_buffers == 0 || program.n_buffers > max_list) {
    fail(M40_INVALID_ARGUMENT, "a program of %u buffers: wanted 1 to %u", program.n_buffers, max_list);
  }
  validate_limits(*program.limits, program.cache);
  for (uint32_t i = 0; i < program.n_buffers; i++) validate_buffer(i, program.buffers[i], *program.limits);
  for (uint32_t i = 0; i < program.n_ops; i++) RecordChecker(program, tensors, i).check();
}

uint64_t position_limit(const ProgramDescription& program, const TensorLookup& tensors) {
  uint64_t limit = uint64_t{1} << 32;
  if (program.cache != nullptr) {
    const uint64_t cached = uint64_t{program.limits->n_sequence_pages} * program.cache->page_tokens;
    if (cached < limit) limit = cached;
  }
  for (uint32_t i = 0; i < program.n_ops; i++) {
    const m40_op& op = program.ops[i];
    if (op.kind != M40_OP_EMBED || op.embed.position_table == M40_NONE) continue;
    const m40_tensor_desc* table = tensors.find(op.embed.position_table);
    if (table != nullptr && table->rows < limit) limit = table->rows;
  }
  return limit;
}

}  // namespace m40
