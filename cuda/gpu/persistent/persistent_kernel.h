// How the library knows of the persistent kernel.
#ifndef M40_PERSISTENT_KERNEL_H
#define M40_PERSISTENT_KERNEL_H

#include "../decode_executor.h"

namespace m40::cuda {

const DecodeExecutorKind& persistent_kernel();

}  // namespace m40::cuda

#endif
