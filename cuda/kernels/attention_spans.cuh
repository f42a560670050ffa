// A prompt's positions in spans: each has its own running softmax, and they are added in their order. Where spans begin
// follows from the positions alone, so that bits depend neither on how a prompt was cut nor on how many thread blocks
// share its spans.
#ifndef M40_KERNELS_ATTENTION_SPANS_CUH
#define M40_KERNELS_ATTENTION_SPANS_CUH

#include "attention_score.cuh"

namespace m40::cuda {

constexpr uint32_t least_span = 512;  // positions
constexpr uint32_t most_spans = 32;   // of the longest sequence: with more positions, spans are longer

// Positions of a span, where a sequence has at most so many: a power of two.
__host__ __device__ inline uint32_t span_positions(uint32_t max_positions) {
  uint32_t span = least_span;
  while (uint64_t{span} * most_spans < max_positions) span *= 2;
  return span;
}

// Of positions [begin, end), the spans that one of n_shares takes.
struct SpanShare {
  uint32_t first, n_spans;  // of all of them
  uint32_t from, to;        // of the share

  __device__ __forceinline__ SpanShare(uint32_t begin, uint32_t end, uint32_t span, uint32_t share, uint32_t n_shares) {
    first = begin / span;
    n_spans = (end - 1) / span - first + 1;
    from = first + n_spans * share / n_shares;
    to = first + n_spans * (share + 1) / n_shares;
  }
};

// Adds a span to the earlier ones: the factors of its sums and of theirs, and the combined largest score and sum of
// weights. Exact where either has no weight.
struct SpanFold {
  float before, span;
  float2 both;

  __device__ __forceinline__ SpanFold(float2 statistics_before, float2 statistics) {
    const float largest = fmaxf(statistics_before.x, statistics.x);
    before = attention_shrink(statistics_before.x, largest);
    span = attention_shrink(statistics.x, largest);
    both = make_float2(largest, sums(statistics_before.y, statistics.y));
  }
  __device__ __forceinline__ float sums(float sum_before, float sum) const { return __fmaf_rn(sum_before, before, __fmul_rn(sum, span)); }
};

// A slot of scratch holds sums of weighted values: first each row's largest score and sum of weights, then the threads'
// sums [Rows][N][threads].
__device__ __forceinline__ float2* slot_statistics(float* slot, uint32_t row) { return reinterpret_cast<float2*>(slot) + row; }
template <uint32_t Threads>
__device__ __forceinline__ float* slot_sums(float* slot, uint32_t n_rows, int r, int n_sums) {
  return slot + 2 * n_rows + r * n_sums * Threads + threadIdx.x;
}

template <uint32_t Threads, int N>
__device__ __forceinline__ void load_sums(float* slot, uint32_t n_rows, int r, float (&sums)[N]) {
  const float* const at = slot_sums<Threads>(slot, n_rows, r, N);
#pragma unroll
  for (int i = 0; i < N; i++) sums[i] = __ldcg(at + i * Threads);
}

// Adds the spans in the slots from this one on. Rows from first_row on are the thread's. statistics: a row's largest
// score and sum of weights.
template <uint32_t Threads, int Rows, int N>
__device__ __forceinline__ void add_spans(float* slot, uint32_t slot_floats, uint32_t n_rows, uint32_t n_spans, uint32_t first_row, float (&sums)[Rows][N],
                                          float2 (&statistics)[Rows]) {
#pragma unroll
  for (int r = 0; r < Rows; r++) {
    statistics[r] = make_float2(-INFINITY, 0);
#pragma unroll
    for (int i = 0; i < N; i++) sums[r][i] = 0;
  }
#pragma unroll 1
  for (uint32_t s = 0; s < n_spans; s++, slot += slot_floats) {
    // All loads of a span are in flight at once.
    float loaded[Rows][N];
    float2 of_span[Rows];
#pragma unroll
    for (int r = 0; r < Rows; r++) {
      of_span[r] = __ldcg(slot_statistics(slot, first_row + r));
      load_sums<Threads>(slot, n_rows, r, loaded[r]);
    }
#pragma unroll
    for (int r = 0; r < Rows; r++) {
      const SpanFold fold(statistics[r], of_span[r]);
#pragma unroll
      for (int i = 0; i < N; i++) sums[r][i] = fold.sums(sums[r][i], loaded[r][i]);
      statistics[r] = fold.both;
    }
  }
}

}  // namespace m40::cuda

#endif
