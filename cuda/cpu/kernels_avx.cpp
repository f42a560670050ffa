// flags: -mavx -ffp-contract=off
// Intel from 2011 (Sandy Bridge) on: no fused multiply-add, no half precision, no wide integers. The flags are for x86-64; elsewhere this file is empty.
#if defined(__x86_64__)
#ifndef __AVX__
#error "compile this file with the flags in its first line"
#endif
#define M40_KERNELS kernels_avx
#define M40_KERNELS_NAME "avx"
#include "kernels_impl.h"
#endif
