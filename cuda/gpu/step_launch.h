// A step's program on its stream, by whatever runs such steps, and what is known when it is done.
#ifndef M40_RUNTIME_STEP_LAUNCH_H
#define M40_RUNTIME_STEP_LAUNCH_H

#include "device_objects.h"
#include "step_input.h"

namespace m40::cuda {

// Whether all rows of a step decode.
inline bool decodes(const StepShape& shape) { return shape.n_decode == shape.n_tokens; }

// Puts the program on its stream, by launches or as a graph, also where a persistent kernel would be faster: the caller
// has decided against that. Decode steps measure their time where it is not known yet: program->progress says whether
// this one does.
void launch_operations(m40_program* program, const StepShape& shape);

// A step is done: notes what it took, where that is wanted.
void note_time(m40_program* program);

// Whether a step's results begin with what was wrong with it.
bool has_fixed_results(const m40_program& program);

// Throws where the copied results of a finished step say that it had rows for experts that do not exist, or that other
// cards did not come to its exchanges.
void check_fixed_results(const m40_program& program);

}  // namespace m40::cuda

#endif
