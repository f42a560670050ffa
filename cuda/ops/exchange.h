#ifndef M40_OPS_EXCHANGE_H
#define M40_OPS_EXCHANGE_H

#include "../gpu/device.h"
#include "../kernels/exchange_args.cuh"

namespace m40::cuda {

void launch_exchange(const ExchangeArgs& args, cudaStream_t stream);

// A step's exchanges are over.
void launch_count_step(uint64_t* steps, cudaStream_t stream);

}  // namespace m40::cuda

#endif
