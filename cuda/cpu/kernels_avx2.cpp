// flags: -mavx2 -mfma -mf16c -ffp-contract=off
// Intel from 2013 (Haswell) on, AMD from 2015 on. The flags are for x86-64; elsewhere this file is empty.
#if defined(__x86_64__)
#ifndef __AVX2__
#error "compile this file with the flags in its first line"
#endif
#define M40_KERNELS kernels_avx2
#define M40_KERNELS_NAME "avx2"
#include "kernels_impl.h"
#endif
