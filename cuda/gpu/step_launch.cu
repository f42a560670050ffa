#include "step_launch.h"

#include <string.h>

#include <algorithm>

#include "../kernels/exchange_args.cuh"
#include "decode_executor.h"
#include "executor.h"
#include "graphs.h"
#include "step_executors.h"
#include "step_progress.h"

namespace m40::cuda {

bool has_fixed_results(const m40_program& program) {
  return std::any_of(program.ops.begin(), program.ops.end(), [](const m40_op& op) { return op.kind == M40_OP_EXPERT_MATMUL || op.kind == M40_OP_EXCHANGE; });
}

void check_fixed_results(const m40_program& program) {
  if (!has_fixed_results(program)) return;
  StepResults results;
  memcpy(&results, program.results->data(), sizeof(results));
  if (results.exchange_fault == exchange_given_up) fail(M40_INTERNAL, "an exchange with other cards was given up");
  if (results.exchange_fault != 0) {
    fail(M40_INTERNAL, "card %u has not come to an exchange within %u seconds", results.exchange_fault - 1, exchange_patience_us / 1'000'000);
  }
  if (results.expert_fault_token == 0) return;
  for (const m40_op& op : program.ops) {
    if (op.kind != M40_OP_EXPERT_MATMUL) continue;
    fail(M40_INVALID_ARGUMENT, "expert_matmul: token %u of the step goes to expert %u: wanted one below %u", results.expert_fault_token - 1,
         results.expert_fault, op.expert_matmul.n_experts + op.expert_matmul.n_shared);
  }
}

void launch_operations(m40_program* program, const StepShape& shape) {
  StepProgress& progress = *program->progress;
  auto use = ProgramGraphs::Use::kNone;
  if (decodes(shape) && program->executors->next_launched(shape.n_tokens) == M40_EXECUTOR_GRAPHS) use = program->graphs->launch(*program, shape);
  if (!program->graphs->usable()) program->executors->have_no_graphs();
  const bool is_graph = use == ProgramGraphs::Use::kCaptured || use == ProgramGraphs::Use::kReplayed;
  if (!is_graph) {
    launch_program(*program, shape);
    check_launches("a step");
  }
  progress.executor = is_graph ? M40_EXECUTOR_GRAPHS : M40_EXECUTOR_LAUNCHES;
  // The device waits while a graph is made; and of a graph that will not soon be there nothing is to be waited for.
  const bool says = use == ProgramGraphs::Use::kNone || use == ProgramGraphs::Use::kReplayed;
  progress.measures = decodes(shape) && says && program->executors->measures_launched(shape.n_tokens);
}

void note_time(m40_program* program) {
  StepProgress& progress = *program->progress;
  if (!progress.measures) return;
  progress.measures = false;
  const bool by_decoder = progress.executor == M40_EXECUTOR_RESIDENT;
  program->executors->took(progress.shape.n_tokens, progress.executor, by_decoder ? program->decoder->milliseconds() : progress.timer.milliseconds());
}

}  // namespace m40::cuda
