// After each step of a run: its sampled tokens go into the ring, and become the next step's input.
#ifndef M40_OPS_ADVANCE_RUN_H
#define M40_OPS_ADVANCE_RUN_H

#include "../gpu/device.h"
#include "../kernels/advance_run_args.cuh"

namespace m40::cuda {

void launch_advance_run(const AdvanceRunArgs& args, cudaStream_t stream);

}  // namespace m40::cuda

#endif
