// What the benches of kernels share: errors that end them, numbers, and the count of checks.
#ifndef M40_BENCH_CUDA_BENCH_H
#define M40_BENCH_CUDA_BENCH_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "../../cuda/gpu/device.h"

inline void must(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  exit(2);
}

inline uint64_t random_state = 88172645463325252ull;

inline uint32_t random_u32() {
  random_state ^= random_state << 13, random_state ^= random_state >> 7, random_state ^= random_state << 17;
  return static_cast<uint32_t>(random_state >> 32);
}
// From -1 to 1.
inline float random_float() { return static_cast<float>(random_u32() >> 8) / 8388608.0f - 1.0f; }

inline int failures = 0, checks = 0;

inline void expect(bool good, const std::string& what) {
  checks++;
  if (good) return;
  failures++;
  if (failures < 40) printf("FAILED: %s\n", what.c_str());
}

#endif
