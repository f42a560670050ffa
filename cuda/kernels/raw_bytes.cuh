// Numbers of a file's blocks, which may lie at any address.
#ifndef M40_KERNELS_RAW_BYTES_CUH
#define M40_KERNELS_RAW_BYTES_CUH

#include <stdint.h>

#include "../gpu/device.h"

namespace m40::cuda {

__device__ inline uint32_t raw_u16(const uint8_t* at) { return at[0] | uint32_t{at[1]} << 8; }
__device__ inline uint32_t raw_u32(const uint8_t* at) { return raw_u16(at) | raw_u16(at + 2) << 16; }

}  // namespace m40::cuda

#endif
