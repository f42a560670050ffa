// flags: -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mf16c -ffp-contract=off
// Intel Xeons from 2017 on, AMD from 2022 on. The flags are for x86-64; elsewhere this file is empty.
#if defined(__x86_64__)
#ifndef __AVX512F__
#error "compile this file with the flags in its first line"
#endif
#define M40_KERNELS kernels_avx512
#define M40_KERNELS_NAME "avx512"
#include "kernels_impl.h"
#endif
