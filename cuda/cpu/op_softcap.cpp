// output = cap(scale * input)
#include "execution.h"

namespace m40::reference {

void run_softcap(const Execution& execution, const m40_op_softcap& op) {
  execution.for_each_value(execution.rows(op.input), op.columns, [&](uint64_t r, uint64_t first, uint64_t end) {
    const float* input = execution.row(op.input, r);
    float* output = execution.row(op.output, r);
    for (uint64_t i = first; i < end; i++) output[i] = soft_capped(input[i] * op.scale, op.softcap);
  });
}

}  // namespace m40::reference
