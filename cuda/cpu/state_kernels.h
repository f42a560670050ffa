// One token's part of recurrences over a matrix of states, for the instruction set that the including file is compiled
// for. Lanes are the columns of the state, each of which evolves by itself: its sums go over the rows from first to
// last, whatever the vectors' width.
#ifndef M40_REFERENCE_STATE_KERNELS_H
#define M40_REFERENCE_STATE_KERNELS_H

#include "lanes.h"

namespace m40::reference {
namespace {

// Independent vectors of sums that take turns, to hide the latency of an addition.
constexpr int kStateVectors = 4;

// Of n_vectors vectors of columns, or, with Lane = float, of as many single ones.
template <class Lane>
struct LaneOps;
template <>
struct LaneOps<Floats> {
  static constexpr size_t kColumns = kLanes;
  M40_INLINE static Floats get(const float* values) { return load(values); }
  M40_INLINE static void put(float* values, Floats v) { store(values, v); }
  M40_INLINE static Floats all(float value) { return broadcast(value); }
};
template <>
struct LaneOps<float> {
  static constexpr size_t kColumns = 1;
  M40_INLINE static float get(const float* values) { return *values; }
  M40_INLINE static void put(float* values, float v) { *values = v; }
  M40_INLINE static float all(float value) { return value; }
};

template <class Lane, int kVectors>
M40_INLINE void delta_columns(float* state, size_t n_rows, size_t n_columns, const float* q, const float* k, const float* v, float decay,
                              float beta, float scale, float* output) {
  using Ops = LaneOps<Lane>;
  constexpr size_t step = Ops::kColumns;
  const Lane g = Ops::all(decay);
  Lane sums[kVectors] = {}, changes[kVectors];
  M40_NO_UNROLL for (size_t i = 0; i < n_rows; i++) {
    const Lane key = Ops::all(k[i]);
    const float* const row = state + i * n_columns;
    M40_UNROLL for (int a = 0; a < kVectors; a++) sums[a] = multiply_add(g * Ops::get(row + a * step), key, sums[a]);
  }
  M40_UNROLL for (int a = 0; a < kVectors; a++) {
    changes[a] = Ops::all(beta) * (Ops::get(v + a * step) - sums[a]);
    sums[a] = Lane{};
  }
  M40_NO_UNROLL for (size_t i = 0; i < n_rows; i++) {
    const Lane key = Ops::all(k[i]), query = Ops::all(q[i]);
    float* const row = state + i * n_columns;
    M40_UNROLL for (int a = 0; a < kVectors; a++) {
      const Lane value = multiply_add(key, changes[a], g * Ops::get(row + a * step));
      Ops::put(row + a * step, value);
      sums[a] = multiply_add(query, value, sums[a]);
    }
  }
  M40_UNROLL for (int a = 0; a < kVectors; a++) Ops::put(output + a * step, Ops::all(scale) * sums[a]);
}

template <class Lane, int kVectors>
M40_INLINE void scan_columns(float* state, size_t n_rows, size_t n_columns, const float* x, const float* b, const float* c, float decay,
                             float step_size, float skip, float* output) {
  using Ops = LaneOps<Lane>;
  constexpr size_t step = Ops::kColumns;
  const Lane g = Ops::all(decay);
  Lane inputs[kVectors], sums[kVectors] = {};
  M40_UNROLL for (int a = 0; a < kVectors; a++) inputs[a] = Ops::all(step_size) * Ops::get(x + a * step);
  M40_NO_UNROLL for (size_t i = 0; i < n_rows; i++) {
    const Lane in = Ops::all(b[i]), out = Ops::all(c[i]);
    float* const row = state + i * n_columns;
    M40_UNROLL for (int a = 0; a < kVectors; a++) {
      const Lane value = multiply_add(in, inputs[a], g * Ops::get(row + a * step));
      Ops::put(row + a * step, value);
      sums[a] = multiply_add(out, value, sums[a]);
    }
  }
  M40_UNROLL for (int a = 0; a < kVectors; a++) Ops::put(output + a * step, multiply_add(Ops::all(skip), Ops::get(x + a * step), sums[a]));
}

// See kernels.h.
void delta_step(float* state, size_t n_rows, size_t n_columns, const float* q, const float* k, const float* v, float decay, float beta,
                float scale, float* output) {
  size_t c = 0;
  M40_NO_UNROLL for (; c + kStateVectors * kLanes <= n_columns; c += kStateVectors * kLanes) {
    delta_columns<Floats, kStateVectors>(state + c, n_rows, n_columns, q, k, v + c, decay, beta, scale, output + c);
  }
  M40_NO_UNROLL for (; c + kLanes <= n_columns; c += kLanes) {
    delta_columns<Floats, 1>(state + c, n_rows, n_columns, q, k, v + c, decay, beta, scale, output + c);
  }
  M40_NO_UNROLL for (; c < n_columns; c++) {
    delta_columns<float, 1>(state + c, n_rows, n_columns, q, k, v + c, decay, beta, scale, output + c);
  }
}

void scan_step(float* state, size_t n_rows, size_t n_columns, const float* x, const float* b, const float* c, float decay, float step_size,
               float skip, float* output) {
  size_t i = 0;
  M40_NO_UNROLL for (; i + kStateVectors * kLanes <= n_columns; i += kStateVectors * kLanes) {
    scan_columns<Floats, kStateVectors>(state + i, n_rows, n_columns, x + i, b, c, decay, step_size, skip, output + i);
  }
  M40_NO_UNROLL for (; i + kLanes <= n_columns; i += kLanes) {
    scan_columns<Floats, 1>(state + i, n_rows, n_columns, x + i, b, c, decay, step_size, skip, output + i);
  }
  M40_NO_UNROLL for (; i < n_columns; i++) {
    scan_columns<float, 1>(state + i, n_rows, n_columns, x + i, b, c, decay, step_size, skip, output + i);
  }
}

}  // namespace
}  // namespace m40::reference

#endif
