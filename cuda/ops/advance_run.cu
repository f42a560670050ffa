#include "advance_run.h"

namespace m40::cuda {

__global__ void __launch_bounds__(advance_run_threads, 1) advance_run_kernel(AdvanceRunArgs args) { advance_run(args); }

void launch_advance_run(const AdvanceRunArgs& args, cudaStream_t stream) {
  M40_LAUNCH((advance_run_kernel), 1, advance_run_threads, 0, stream, args);
}

}  // namespace m40::cuda
