// The integers of packed arithmetic: what a row of activations becomes before weights of few bits multiply it.
//
// Each run of 16 columns is rounded by itself, so a row's integers depend on that row alone. Of a run, l1 is the sum of
// its absolute values, added in pairs of neighbours; the integers are the values times room / l1, to the nearest (ties
// to even), so that their absolute values sum up to the room or some more. What a run's values are in units of is its
// unit, l1 / room. A run that is not finite has no integers, and NaN as its unit: it spoils its own row, nothing else.
#ifndef M40_REFERENCE_PACKED_INPUT_H
#define M40_REFERENCE_PACKED_INPUT_H

#include <stdint.h>

#include "kernels.h"
#include "lanes.h"

namespace m40::reference {
namespace {

// To the nearest, ties to even; of magnitudes below 2^22.
M40_INLINE float nearest(float x) { return (x + 12582912.0f) - 12582912.0f; }

constexpr int kRun = static_cast<int>(kPackedRun);

// Integers lie in the order in which a word's bytes are split into pairs: of four columns 0, 2, 1, 3.
M40_INLINE int place_of(int column) { return (column & ~3) | (column & 1) << 1 | (column >> 1 & 1); }

void pack_run(const float* x, float room, int16_t* integers, PackedRun* run) {
  float l1[kRun];
  M40_UNROLL for (int i = 0; i < kRun; i++) l1[i] = __builtin_fabsf(x[i]);
  M40_UNROLL for (int width = 1; width < kRun; width *= 2) {
    M40_UNROLL for (int i = 0; i < kRun; i += 2 * width) l1[i] += l1[i + width];
  }
  memset(integers, 0, kRun * sizeof(int16_t));
  *run = {0, 0, 0};
  if (!(l1[0] <= 1e20f)) {
    run->unit = run->part = __builtin_nanf("");
    return;
  }
  if (l1[0] <= 1e-24f) return;
  const float factor = room / l1[0];
  int32_t sum = 0;
  M40_UNROLL for (int i = 0; i < kRun; i++) {
    const int32_t integer = static_cast<int32_t>(nearest(x[i] * factor));
    integers[place_of(i)] = static_cast<int16_t>(integer);
    sum += integer;
  }
  run->unit = l1[0] / room;
  run->sum = sum;
  run->part = run->unit * static_cast<float>(sum);
}

void pack(const float* input, size_t columns, float room, int16_t* integers, PackedRun* runs) {
  for (size_t i = 0; i < columns / kPackedRun; i++) pack_run(input + i * kPackedRun, room, integers + i * kPackedRun, runs + i);
}

}  // namespace
}  // namespace m40::reference

#endif
