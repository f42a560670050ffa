#include "advance_run.h"

#include "../kernels/advance_run.cuh"
#include "launch_list.h"

namespace m40::cuda {

__global__ void __launch_bounds__(advance_run_threads, 1) advance_run_kernel(AdvanceRunArgs args) { advance_run(args); }

void launch_advance_run(const AdvanceRunArgs& args, cudaStream_t stream) {
  M40_LAUNCH_BODY(body_key(Body::kAdvanceRun), (advance_run_kernel), dim3(1), advance_run_threads, 0, stream, args);
}

}  // namespace m40::cuda
