// From the records of operations with states to launches.
#ifndef M40_RUNTIME_STATE_OPERATIONS_H
#define M40_RUNTIME_STATE_OPERATIONS_H

#include "device_objects.h"
#include "step_input.h"

namespace m40::cuda {

// Throws Failure (M40_UNSUPPORTED) where a state is larger than the kernels have room for.
void check_state_operation(const m40_op& op);

// Puts an operation that has a state on the context's stream.
void launch_state_operation(const m40_program& program, const StepShape& shape, const m40_op& op);

}  // namespace m40::cuda

#endif
