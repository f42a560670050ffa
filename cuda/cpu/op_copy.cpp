// Groups of columns from one buffer to another.
#include <string.h>

#include "execution.h"

namespace m40::reference {

void run_copy(const Execution& execution, const m40_op_copy& op) {
  execution.pool.parallel(execution.rows(op.input), 4, [&](uint64_t begin, uint64_t end, uint32_t) {
    for (uint64_t row = begin; row < end; row++) {
      const float* input = execution.row(op.input, row) + op.input_column;
      float* output = execution.row(op.output, row) + op.output_column;
      for (uint64_t g = 0; g < op.n_groups; g++) {
        memcpy(output + g * op.output_stride, input + g * op.input_stride, op.columns * sizeof(float));
      }
    }
  });
}

}  // namespace m40::reference
