// output[t] = scale * table[token[t]] (+ position_table[position[t]])
#include "execution.h"

namespace m40::reference {

uint64_t embed_scratch_bytes(const m40_op_embed& op) {
  return op.position_table == M40_NONE ? 0 : uint64_t{op.columns} * sizeof(float);
}

void run_embed(const Execution& execution, const m40_op_embed& op) {
  const Tensor& table = execution.tensor(op.table);
  execution.pool.parallel(execution.step.n_tokens, 4, [&](uint64_t begin, uint64_t end, uint32_t thread) {
    for (uint64_t t = begin; t < end; t++) {
      float* output = execution.row(op.output, t);
      const uint32_t token = static_cast<uint32_t>(execution.step.tokens[t]);
      execution.kernels.dequantize(table.type, table.row(token), output, op.columns);
      if (op.scale != 1) {
        for (uint32_t i = 0; i < op.columns; i++) output[i] *= op.scale;
      }
      if (op.position_table == M40_NONE) continue;
      const Tensor& positions = execution.tensor(op.position_table);
      float* learned = execution.scratch(thread);
      execution.kernels.dequantize(positions.type, positions.row(execution.step.positions[t]), learned, op.columns);
      for (uint32_t i = 0; i < op.columns; i++) output[i] += learned[i];
    }
  });
}

}  // namespace m40::reference
