// output = a + b, or a + sigmoid(gate) * b
#include "execution.h"

namespace m40::reference {

void run_add(const Execution& execution, const m40_op_add& op) {
  execution.for_each_value(execution.rows(op.a), op.columns, [&](uint64_t r, uint64_t first, uint64_t end) {
    const float* a = execution.row(op.a, r);
    const float* b = execution.row(op.b, r);
    float* output = execution.row(op.output, r);
    if (op.gate == M40_NONE) {
      for (uint64_t i = first; i < end; i++) output[i] = a[i] + b[i];
    } else {
      const float share = sigmoid(*execution.row(op.gate, r));
      for (uint64_t i = first; i < end; i++) output[i] = a[i] + share * b[i];
    }
  });
}

}  // namespace m40::reference
