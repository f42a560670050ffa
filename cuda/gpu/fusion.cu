// Which operations need no launch of their own.
#include "executor.h"
#include "../program/operations.h"

namespace m40::cuda {

namespace {

// Whether what an earlier operation put into `columns` columns of the buffer is read from operation `from` on.
bool read_later(const std::vector<m40_op>& ops, size_t from, uint32_t buffer, uint64_t columns) {
  for (size_t i = from; i < ops.size(); i++) {
    if (reads_buffer(ops[i], buffer)) return true;
    if (replaces_buffer(ops[i], buffer, columns)) return false;
  }
  return false;
}

// Whether q, k and v are contiguous in one buffer, and get only head norms and a rotation.
bool rotates_in_place(const m40_op_rope_store& op) {
  const uint64_t k_column = uint64_t{op.n_heads} * op.head_dim;
  // Without a norm there are no weights; a norm has both or is not fused.
  const bool norms = op.head_norm == M40_HEAD_NORM_BEFORE;
  if ((op.q_norm != M40_NONE) != norms || (op.k_norm != M40_NONE) != norms) return false;
  return op.kv == op.q && op.k_column == k_column && op.v_column == k_column + uint64_t{op.n_kv_heads} * op.head_dim && op.value_dim == op.head_dim &&
         op.rope_offset == 0 && op.v_norm == 0 && op.temperature_scale == 0 && op.head_norm != M40_HEAD_NORM_AFTER;
}

bool fuses_with_attention(const std::vector<m40_op>& ops, size_t i) {
  if (i + 1 >= ops.size() || ops[i].kind != M40_OP_ROPE_STORE || ops[i + 1].kind != M40_OP_ATTENTION) return false;
  const m40_op_rope_store& rope = ops[i].rope_store;
  const m40_op_attention& attention = ops[i + 1].attention;
  if (attention.q != rope.q || attention.layer != rope.layer || !rotates_in_place(rope)) return false;
  // What is not rotated then is replaced by the next product of q, k and v.
  const Operation& operation = *find_operation(M40_OP_ROPE_STORE);
  return !read_later(ops, i + 2, rope.q, operation.fields[0].columns(ops[i], 0));
}

Fusion fusion_with_matmul(const std::vector<m40_op>& ops, size_t i) {
  if (i + 1 >= ops.size() || ops[i + 1].kind != M40_OP_MATMUL) return Fusion::kNone;
  const m40_op_matmul& matmul = ops[i + 1].matmul;
  uint32_t input, output, columns;
  if (ops[i].kind == M40_OP_NORM) {
    const m40_op_norm& norm = ops[i].norm;
    if (norm.norm != M40_NORM_RMS || norm.weight == M40_NONE || norm.bias != M40_NONE || norm.residual != M40_NONE || norm.factor != M40_NONE ||
        norm.n_groups != 1 || norm.input_column != 0 || norm.output_column != 0) {
      return Fusion::kNone;
    }
    input = norm.input;
    output = norm.output;
    columns = norm.columns;
  } else if (ops[i].kind == M40_OP_ACTIVATION) {
    const m40_op_activation& activation = ops[i].activation;
    if (!activation.gated || activation.up != activation.input || activation.up_column != activation.columns ||
        (activation.activation != M40_ACTIVATION_SILU && activation.activation != M40_ACTIVATION_GELU_TANH)) {
      return Fusion::kNone;
    }
    input = activation.input;
    output = activation.output;
    columns = activation.columns;
  } else {
    return Fusion::kNone;
  }
  // The product must not write to what its blocks still read.
  if (matmul.input != output || matmul.columns != columns || matmul.output == input || matmul.residual == output) return Fusion::kNone;
  if (!read_later(ops, i + 2, output, columns)) return Fusion::kWhole;
  return ops[i].kind == M40_OP_NORM && output != input ? Fusion::kKept : Fusion::kNone;
}

// The gated activation of the products of two weights with the same rows, in adjacent columns.
bool fuses_with_activation(const std::vector<m40_op>& ops, size_t i) {
  if (i + 1 >= ops.size() || ops[i].kind != M40_OP_EXPERT_MATMUL || ops[i + 1].kind != M40_OP_ACTIVATION) return false;
  const m40_op_expert_matmul& product = ops[i].expert_matmul;
  const m40_op_activation& activation = ops[i + 1].activation;
  if (product.n_weights != 2 || activation.gated == 0 || activation.input != product.output || activation.up != product.output) return false;
  if (product.output_column[0] != 0 || activation.up_column != product.output_column[1] || activation.columns != product.rows[0]) return false;
  if (activation.output == product.input || activation.output == product.weights) return false;
  return activation.output != product.output && !read_later(ops, i + 2, product.output, uint64_t{product.output_column[1]} + product.rows[1]);
}

// The sum of each token's slots.
bool fuses_with_sum(const std::vector<m40_op>& ops, size_t i) {
  if (i + 1 >= ops.size() || ops[i].kind != M40_OP_EXPERT_MATMUL || ops[i + 1].kind != M40_OP_EXPERT_SUM) return false;
  const m40_op_expert_matmul& product = ops[i].expert_matmul;
  const m40_op_expert_sum& sum = ops[i + 1].expert_sum;
  if (product.n_weights != 1 || product.output_column[0] != 0 || sum.input != product.output || sum.columns != product.rows[0] || sum.n_used != product.n_used) {
    return false;
  }
  // Some blocks add while others still multiply.
  if (sum.output == product.input || sum.output == product.weights || sum.output == product.output || sum.residual == product.output) return false;
  return !read_later(ops, i + 2, product.output, sum.columns);
}

// An activation of what a card alone has, and the exchange of it.
bool fuses_with_exchange(const std::vector<m40_op>& ops, size_t i) {
  if (i + 1 >= ops.size() || ops[i].kind != M40_OP_ACTIVATION || ops[i + 1].kind != M40_OP_EXCHANGE) return false;
  const m40_op_activation& activation = ops[i].activation;
  const m40_op_exchange& exchange = ops[i + 1].exchange;
  if (exchange.input != activation.output || exchange.input_column != 0 || activation.columns != exchange.bounds[exchange.card + 1] - exchange.bounds[exchange.card]) return false;
  // What is taken over must not be what is still to be activated.
  if (exchange.output == activation.output || exchange.output == activation.input || exchange.output == activation.up) return false;
  return !read_later(ops, i + 2, activation.output, activation.columns);
}

// A norm, and the silu of another buffer that its input was multiplied by, or its output is, in place.
bool fuses_with_gate(const std::vector<m40_op>& ops, size_t i) {
  if (i + 1 >= ops.size()) return false;
  const bool norm_first = ops[i].kind == M40_OP_NORM && ops[i + 1].kind == M40_OP_ACTIVATION;
  if (!norm_first && !(ops[i].kind == M40_OP_ACTIVATION && ops[i + 1].kind == M40_OP_NORM)) return false;
  const m40_op_norm& norm = (norm_first ? ops[i] : ops[i + 1]).norm;
  const m40_op_activation& gate = (norm_first ? ops[i + 1] : ops[i]).activation;
  if (norm.norm != M40_NORM_RMS || norm.residual != M40_NONE || norm.factor != M40_NONE || norm.input_column != 0 || norm.output_column != 0) return false;
  if (gate.gated == 0 || gate.activation != M40_ACTIVATION_SILU || gate.up_column != 0 || gate.columns != uint64_t{norm.n_groups} * norm.columns) return false;
  // No other operation uses the values between them where all three write to one buffer.
  if (gate.up != gate.output || gate.input == gate.output || norm.output != gate.output) return false;
  return norm_first || norm.input == gate.output;
}

}  // namespace

std::vector<Fusion> find_fusions(const std::vector<m40_op>& ops) {
  std::vector<Fusion> fusions(ops.size());
  for (size_t i = 0; i < ops.size(); i++) {
    const bool whole = fuses_with_attention(ops, i) || fuses_with_activation(ops, i) || fuses_with_sum(ops, i) || fuses_with_gate(ops, i) || fuses_with_exchange(ops, i);
    fusions[i] = whole ? Fusion::kWhole : fusion_with_matmul(ops, i);
  }
  return fusions;
}

}  // namespace m40::cuda
