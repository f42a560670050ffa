// The rows of the step's outputs.
#include <string.h>

#include "execution.h"

namespace m40::reference {

void run_select(const Execution& execution, const m40_op_select& op) {
  for (uint32_t i = 0; i < execution.step.n_outputs; i++) {
    memcpy(execution.row(op.output, i), execution.row(op.input, execution.step.outputs[i].row), uint64_t{op.columns} * sizeof(float));
  }
}

}  // namespace m40::reference
