// flags: -ffp-contract=off
// For every processor: SSE2 on x86-64, NEON on 64-bit Arm.
#define M40_KERNELS kernels_baseline
#define M40_KERNELS_NAME "baseline"
#include "kernels_impl.h"
