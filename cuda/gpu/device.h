// What a kernel source is written against: CUDA's own headers, or the emulation that lets a C++ compiler build the
// same source for the CPU. Launches and dynamic shared memory, which C++ has no syntax for, go through two macros.
//
//   M40_LAUNCH((kernel<4, 2>), grid, block, shared_bytes, stream, arguments...);
//   M40_LAUNCH_TOGETHER(...);            // all thread blocks are on the device at a time, and may wait for each other
//   M40_DYNAMIC_SHARED(float, values);   // float* values, as many bytes as the launch asked for
#ifndef M40_RUNTIME_DEVICE_H
#define M40_RUNTIME_DEVICE_H

namespace m40::cuda {

// Whether launches of the calling thread are being written down instead (ops/launch_list.h): then this one is missing
// there.
bool written_down(const char* kernel);

}  // namespace m40::cuda

#ifdef M40_EMULATED

#include "../emulation/cuda.h"

// __noinline__ by a name that the C++ library's own headers do not use.
#define M40_NOINLINE __attribute__((noinline))

#else

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define M40_NOINLINE __noinline__

#define M40_UNPARENTHESISED(...) __VA_ARGS__
#define M40_LAUNCH_TOGETHER(kernel, grid, block, shared_bytes, stream, ...) \
  M40_UNPARENTHESISED kernel<<<grid, block, shared_bytes, stream>>>(__VA_ARGS__)
#define M40_LAUNCH(kernel, grid, block, shared_bytes, stream, ...)                                        \
  do {                                                                                                    \
    if (!::m40::cuda::written_down(#kernel)) {                                                            \
      M40_UNPARENTHESISED kernel<<<grid, block, shared_bytes, stream>>>(__VA_ARGS__);                     \
    }                                                                                                     \
  } while (0)

// One array for all kernels of a source, of the strictest alignment that any of them asks for.
#define M40_DYNAMIC_SHARED(type, name)                         \
  extern __shared__ __align__(16) unsigned char m40_shared_[]; \
  type* const name = reinterpret_cast<type*>(m40_shared_)

#endif

#endif
