#include "advance_run.h"

#include "../gpu/launch_list.h"

namespace m40::cuda {

__global__ void __launch_bounds__(advance_run_threads, 1) advance_run_kernel(AdvanceRunArgs args) { advance_run(args); }

void launch_advance_run(const AdvanceRunArgs& args, cudaStream_t stream) {
  if (LaunchList* list = LaunchList::current()) return list->add({Body::kAdvanceRun, 0, 0, 0}, dim3(1), args);
  M40_LAUNCH((advance_run_kernel), 1, advance_run_threads, 0, stream, args);
}

}  // namespace m40::cuda
