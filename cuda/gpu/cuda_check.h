// How a failure of CUDA becomes a status and a message.
#ifndef M40_RUNTIME_CUDA_CHECK_H
#define M40_RUNTIME_CUDA_CHECK_H

#include "device.h"
#include "../common/error.h"

namespace m40::cuda {

inline m40_status status_of(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation: return M40_OUT_OF_MEMORY;
    case cudaErrorInvalidDevice: return M40_INVALID_ARGUMENT;
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion: return M40_UNSUPPORTED;
    // A launch that was never valid: a mistake of the library, not the device's end.
    case cudaErrorInvalidValue:
    case cudaErrorInvalidConfiguration: return M40_INTERNAL;
    default: return M40_DEVICE_LOST;
  }
}

// Throws Failure where error is one. what: what was being done ("a step").
inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // an error that passes must not be taken for a later launch's
  fail(status_of(error), "%s: %s (%s)", what, cudaGetErrorName(error), cudaGetErrorString(error));
}

// Of launches, which report nothing themselves.
inline void check_launches(const char* what) { check(cudaGetLastError(), what); }

}  // namespace m40::cuda

#endif
