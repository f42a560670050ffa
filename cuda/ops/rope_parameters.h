// A kernel's arguments for a rope operation.
#ifndef M40_OPS_ROPE_PARAMETERS_H
#define M40_OPS_ROPE_PARAMETERS_H

#include "../kernels/rope.cuh"
#include "ops.h"

namespace m40::cuda {

RopeParameters rope_parameters(const RopeStoreArgs& args);

}  // namespace m40::cuda

#endif
