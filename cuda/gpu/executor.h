// From a program's records to launches.
#ifndef M40_RUNTIME_EXECUTOR_H
#define M40_RUNTIME_EXECUTOR_H

#include <functional>

#include "device_objects.h"
#include "step_input.h"

namespace m40::cuda {

// For each operation, whether the one after it can compute it itself.
std::vector<Fusion> find_fusions(const std::vector<m40_op>& ops);

// Puts the whole program on the context's stream. The step's input is in the device's memory already. before: called
// with an operation's number ahead of its launches, except for one that the previous operation computes.
void launch_program(const m40_program& program, const StepShape& shape, const std::function<void(size_t)>& before = nullptr);

}  // namespace m40::cuda

#endif
