// Which operations need no launch of their own.
#include "executor.h"

namespace m40::cuda {

namespace {

bool reads(const m40_op& op, uint32_t buffer) {
  switch (op.kind) {
    case M40_OP_NORM: return op.norm.input == buffer || op.norm.residual == buffer;
    case M40_OP_MATMUL: return op.matmul.input == buffer || op.matmul.residual == buffer;
    case M40_OP_ROPE: return op.rope.qkv == buffer;
    case M40_OP_ATTENTION: return op.attention.qkv == buffer;
    case M40_OP_ACTIVATION: return op.activation.input == buffer;
    case M40_OP_ADD: return op.add.a == buffer || op.add.b == buffer;
    case M40_OP_SELECT: return op.select.input == buffer;
    case M40_OP_SOFTCAP: return op.softcap.input == buffer;
    case M40_OP_ROUTE: return op.route.input == buffer;
    case M40_OP_EXPERT_MATMUL: return op.expert_matmul.input == buffer || op.expert_matmul.experts == buffer;
    case M40_OP_EXPERT_SUM:
      return op.expert_sum.input == buffer || op.expert_sum.weights == buffer || op.expert_sum.residual == buffer;
    // Hidden states are read in steps that want them alone: Execution::run sees to those.
    case M40_OP_SAMPLE: return op.sample.logits == buffer;
    default: return false;
  }
}

// Whether the operation replaces all columns, `columns`, that an earlier one wrote to the buffer.
bool replaces(const m40_op& op, uint32_t buffer, uint32_t columns) {
  switch (op.kind) {
    case M40_OP_EMBED: return op.embed.output == buffer && op.embed.columns >= columns;
    case M40_OP_NORM: return op.norm.output == buffer && op.norm.columns >= columns;
    case M40_OP_ACTIVATION: return op.activation.output == buffer && op.activation.columns >= columns;
    default: return false;
  }
}

bool read_later(const std::vector<m40_op>& ops, size_t from, uint32_t buffer, uint32_t columns) {
  for (size_t i = from; i < ops.size(); i++) {
    if (reads(ops[i], buffer)) return true;
    if (replaces(ops[i], buffer, columns)) return false;
  }
  return false;
}

bool fuses_with_attention(const std::vector<m40_op>& ops, size_t i) {
  if (i + 1 >= ops.size() || ops[i].kind != M40_OP_ROPE || ops[i + 1].kind != M40_OP_ATTENTION) return false;
  const m40_op_rope& rope = ops[i].rope;
  const m40_op_attention& attention = ops[i + 1].attention;
  if (attention.qkv != rope.qkv || attention.layer != rope.layer) return false;
  // The next product of q, k and v replaces what is not rotated then.
  for (size_t k = i + 2; k < ops.size(); k++) {
    if (ops[k].kind == M40_OP_MATMUL && ops[k].matmul.output == rope.qkv) return true;
    if (reads(ops[k], rope.qkv)) return false;
  }
  return true;
}

bool fuses_with_matmul(const std::vector<m40_op>& ops, size_t i) {
  if (i + 1 >= ops.size() || ops[i + 1].kind != M40_OP_MATMUL) return false;
  const m40_op_matmul& matmul = ops[i + 1].matmul;
  uint32_t input, output, columns;
  if (ops[i].kind == M40_OP_NORM) {
    const m40_op_norm& norm = ops[i].norm;
    if (norm.norm != M40_NORM_RMS || norm.bias != M40_NONE || norm.residual != M40_NONE) return false;
    input = norm.input;
    output = norm.output;
    columns = norm.columns;
  } else if (ops[i].kind == M40_OP_ACTIVATION) {
    const m40_op_activation& activation = ops[i].activation;
    if (!activation.gated) return false;
    input = activation.input;
    output = activation.output;
    columns = activation.columns;
  } else {
    return false;
  }
  // The product must not write to what its blocks still read.
  return matmul.input == output && matmul.columns == columns && matmul.output != input && matmul.residual != output &&
         !read_later(ops, i + 2, output, columns);
}

}  // namespace

std::vector<bool> find_fusions(const std::vector<m40_op>& ops) {
  std::vector<bool> fusions(ops.size());
  for (size_t i = 0; i < ops.size(); i++) fusions[i] = fuses_with_matmul(ops, i) || fuses_with_attention(ops, i);
  return fusions;
}

}  // namespace m40::cuda
