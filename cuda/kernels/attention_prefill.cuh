// Prefill attention: tiles of queries against tiles of positions with a running softmax (Milakov and Gimelshein 2018,
// Dao et al. 2022), in FP32.
//
// A tile's rows are the query heads of one KV head of consecutive tokens, so that K and V are staged once for all of
// them and short chunks fill a tile too. Positions are in tiles of 64 that start at multiples of 64, from the first on,
// and the tiles are in spans (attention_spans.cuh). So a row's result depends only on its own query and position, for
// any division of the prompt into chunks. A short chunk has few tiles, so thread blocks share its spans; the last block
// to finish adds the partial results in scratch.
#ifndef M40_KERNELS_ATTENTION_PREFILL_CUH
#define M40_KERNELS_ATTENTION_PREFILL_CUH

#include "attention_spans.cuh"
#include "attention_staging.cuh"
#include "intrinsics.cuh"
#include "last_block.cuh"

namespace m40::cuda {

// Threads go as 8 x 16. A thread has Shape::thread_rows rows of the tile, the first of them thread_row(); of a tile's
// positions 4, of the result 4 of each 64 dimensions, the first of them thread_column() * 4.
__device__ __forceinline__ uint32_t thread_column() { return threadIdx.x % 16; }
template <class Shape>
__device__ __forceinline__ uint32_t thread_row() {
  return threadIdx.x / 16 * Shape::thread_rows;
}

// The result of a thread's rows, as sums of weighted values.
template <class Shape>
using AttentionSums = float[Shape::thread_rows][4 * Shape::groups];

template <class Shape>
__device__ __forceinline__ void clear_sums(AttentionSums<Shape>& sums) {
#pragma unroll
  for (int r = 0; r < Shape::thread_rows; r++) {
#pragma unroll
    for (int i = 0; i < 4 * Shape::groups; i++) sums[r][i] = 0;
  }
}

// ---- rows
// ------------------------------------------------------------------------------------------------------------

// Where each row's query is; that of the tile's first row where a tile has fewer rows.
template <uint32_t Type, class Shape>
__device__ __forceinline__ void find_queries(const AttentionPrefillTile& tile, AttentionPrefillShared<Type, Shape>& shared) {
  if (threadIdx.x >= static_cast<uint32_t>(Shape::rows)) return;
  const AttentionPrefillArgs& args = tile.args;
  const uint32_t token = tile.first_token() + threadIdx.x / args.tile_heads;
  const uint32_t head = threadIdx.x % args.tile_heads;
  const bool is_row = token < tile.end_token() && head < tile.n_heads();
  shared.queries[threadIdx.x] = (is_row ? token : tile.first_token()) * args.q_stride + (tile.first_head() + (is_row ? head : 0)) * args.cache.head_dim;
}

// The tile's tokens of one sequence, from token `segment` on: which positions they attend to.
template <uint32_t Type, class Shape>
__device__ __forceinline__ void begin_segment(const AttentionPrefillTile& tile, uint32_t segment, AttentionPrefillShared<Type, Shape>& shared) {
  const AttentionPrefillArgs& args = tile.args;
  const uint32_t thread = threadIdx.x;
  __syncthreads();  // the previous segment may still read what is written now
  if (thread == 0) {
    uint32_t next = segment + 1;
    while (next < tile.end_token() && args.sequences[next] == args.sequences[segment]) next++;
    const uint32_t least = args.positions[segment] + 1;
    shared.segment = {args.sequences[segment], attention_start(args, least), args.positions[next - 1] + 1, next};
  }
  __syncthreads();
  if (thread < static_cast<uint32_t>(Shape::rows)) {
    const uint32_t token = tile.first_token() + thread / args.tile_heads;
    const bool attends = token >= segment && token < shared.segment.next && thread % args.tile_heads < tile.n_heads();
    const uint32_t row_end = attends ? args.positions[token] + 1 : 0;
    shared.bounds[thread] = make_uint2(attends ? attention_start(args, row_end) : 0, row_end);
    shared.running[thread] = make_float2(-INFINITY, 0);
  }
  __syncthreads();
}

// Row r of the thread's: its sums divided by the weights' sum. statistics: the row's largest score, and that sum.
template <uint32_t Type, class Shape>
__device__ __forceinline__ void write_row(const AttentionPrefillTile& tile, const AttentionPrefillShared<Type, Shape>& shared, int r,
                                          const float (&sums)[4 * Shape::groups], float2 statistics) {
  const AttentionPrefillArgs& args = tile.args;
  const uint32_t row = thread_row<Shape>() + r;
  if (shared.bounds[row].y == 0) return;
  const uint32_t head = tile.first_head() + row % args.tile_heads;
  const float total = with_sink(args.sinks, head, statistics.x, statistics.y);
  float* output = args.output + uint64_t{tile.first_token() + row / args.tile_heads} * args.output_stride + uint64_t{head} * args.cache.value_dim;
#pragma unroll
  for (int i = 0; i < 4 * Shape::groups; i++) {
    const uint32_t d = i / 4 * 64 + thread_column() * 4 + i % 4;
    if (d < args.cache.value_dim) output[d] = __fdiv_rn(sums[i], total);
  }
}

// ---- a tile of positions, by phase
// -----------------------------------------------------------------------------------

// Rows' values of a slice's column, four at a time.
template <int Rows>
__device__ __forceinline__ void load_column(const float* from, float (&a)[Rows]) {
#pragma unroll
  for (int r = 0; r < Rows; r += 4) {
    const float4 four = *reinterpret_cast<const float4*>(from + r);
    a[r] = four.x;
    a[r + 1] = four.y;
    a[r + 2] = four.z;
    a[r + 3] = four.w;
  }
}

// scores += q k over the dimensions of a slice.
template <class Shape>
__device__ __forceinline__ void multiply_slice(const float* stage, float (&scores)[Shape::thread_rows][4]) {
  const float* q = stage + thread_row<Shape>();
  const float* k = stage + attention_prefill_slice * Shape::rows + thread_column() * 4;
#pragma unroll
  for (uint32_t d = 0; d < attention_prefill_slice; d++) {
    float a[Shape::thread_rows];
    load_column(q + d * Shape::rows, a);
    const float4 b = *reinterpret_cast<const float4*>(k + d * attention_prefill_keys);
#pragma unroll
    for (int r = 0; r < Shape::thread_rows; r++) {
      scores[r][0] = __fmaf_rn(a[r], b.x, scores[r][0]);
      scores[r][1] = __fmaf_rn(a[r], b.y, scores[r][1]);
      scores[r][2] = __fmaf_rn(a[r], b.z, scores[r][2]);
      scores[r][3] = __fmaf_rn(a[r], b.w, scores[r][3]);
    }
  }
}

// The running softmax: makes weights of the scores, and puts them into shared.weights. A row's 64 scores are in 16
// lanes.
template <uint32_t Type, class Shape>
__device__ __forceinline__ void weigh_tile(const AttentionPrefillArgs& args, uint32_t first_key, float (&scores)[Shape::thread_rows][4],
                                           AttentionSums<Shape>& sums, AttentionPrefillShared<Type, Shape>& shared) {
  const uint32_t x = thread_column(), first_row = thread_row<Shape>();
#pragma unroll
  for (int r = 0; r < Shape::thread_rows; r++) {
    const uint2 bound = shared.bounds[first_row + r];
    const float2 before = shared.running[first_row + r];
    float now = before.x;
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const uint32_t at = first_key + x * 4 + i;
      const bool attended = at >= bound.x && at < bound.y;
      scores[r][i] = attended ? attention_score(scores[r][i], args.scale, args.softcap) : -INFINITY;
      now = fmaxf(now, scores[r][i]);
    }
#pragma unroll
    for (int offset = 8; offset > 0; offset /= 2) now = fmaxf(now, __shfl_xor_sync(~0u, now, offset));
    const float shrink = attention_shrink(before.x, now);
    float added = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
      scores[r][i] = attention_weight(scores[r][i], now);
      added = __fadd_rn(added, scores[r][i]);
    }
#pragma unroll
    for (int offset = 8; offset > 0; offset /= 2) added = __fadd_rn(added, __shfl_xor_sync(~0u, added, offset));
    if (x == 0) shared.running[first_row + r] = make_float2(now, __fmaf_rn(before.y, shrink, added));
#pragma unroll
    for (int i = 0; i < 4 * Shape::groups; i++) sums[r][i] = __fmul_rn(sums[r][i], shrink);
  }
#pragma unroll
  for (int i = 0; i < 4; i++) {
#pragma unroll
    for (int r = 0; r < Shape::thread_rows; r += 4) {
      *reinterpret_cast<float4*>(shared.weights + (x * 4 + i) * Shape::rows + first_row + r) =
          make_float4(scores[r][i], scores[r + 1][i], scores[r + 2][i], scores[r + 3][i]);
    }
  }
}

// sums += weights times V over the positions of a slice. weights: of the slice [position][row].
template <class Shape>
__device__ __forceinline__ void add_slice(const float* weights, const float* stage, uint32_t value_dim, AttentionSums<Shape>& sums) {
  const float* w = weights + thread_row<Shape>();
  const float* v = stage + thread_column() * 4;
#pragma unroll
  for (uint32_t key = 0; key < Shape::value_slice; key++) {
    float a[Shape::thread_rows];
    load_column(w + key * Shape::rows, a);
#pragma unroll
    for (int g = 0; g < Shape::groups; g++) {
      if (Shape::wide && g * 64u >= value_dim) break;
      const float4 b = *reinterpret_cast<const float4*>(v + key * Shape::value_dim + g * 64);
#pragma unroll
      for (int r = 0; r < Shape::thread_rows; r++) {
        sums[r][g * 4] = __fmaf_rn(a[r], b.x, sums[r][g * 4]);
        sums[r][g * 4 + 1] = __fmaf_rn(a[r], b.y, sums[r][g * 4 + 1]);
        sums[r][g * 4 + 2] = __fmaf_rn(a[r], b.z, sums[r][g * 4 + 2]);
        sums[r][g * 4 + 3] = __fmaf_rn(a[r], b.w, sums[r][g * 4 + 3]);
      }
    }
  }
}

// ---- spans
// -----------------------------------------------------------------------------------------------------------

// Ends a span: its sums go to a slot, or (adds) are added to those of the earlier spans there; then they are cleared.
template <uint32_t Type, class Shape>
__device__ __forceinline__ void end_span(float* slot, bool adds, AttentionSums<Shape>& sums, AttentionPrefillShared<Type, Shape>& shared) {
#pragma unroll
  for (int r = 0; r < Shape::thread_rows; r++) {
    const uint32_t row = thread_row<Shape>() + r;
    const bool is_row = shared.bounds[row].y != 0;
    const SpanFold fold(adds && is_row ? __ldcg(slot_statistics(slot, row)) : make_float2(-INFINITY, 0), shared.running[row]);
    if (is_row) {
      float* const at = in_register(slot_sums<attention_prefill_threads>(slot, Shape::rows, r, 4 * Shape::groups));
#pragma unroll
      for (int i = 0; i < 4 * Shape::groups; i++) {
        at[i * attention_prefill_threads] = adds ? fold.sums(__ldcg(at + i * attention_prefill_threads), sums[r][i]) : sums[r][i];
      }
    }
    __syncwarp();
    if (thread_column() == 0) {
      if (is_row) *slot_statistics(slot, row) = fold.both;
      shared.running[row] = make_float2(-INFINITY, 0);
    }
#pragma unroll
    for (int i = 0; i < 4 * Shape::groups; i++) sums[r][i] = 0;
  }
  __syncwarp();
}

// The same for span number `span` of a share: the sums of shared spans each have a slot, those of others one together.
template <uint32_t Type, class Shape>
__device__ __forceinline__ void end_span_of(const AttentionPrefillTile& tile, const SpanShare& share, uint32_t span, AttentionSums<Shape>& sums,
                                            AttentionPrefillShared<Type, Shape>& shared) {
  const bool alone = tile.grid.z == 1;
  end_span(tile.slot<Shape>(alone ? 0 : span - share.first), alone && span != share.first, sums, shared);
}

// The last share of a tile to get here adds what all of them left of its spans.
template <uint32_t Type, class Shape>
__device__ __forceinline__ void add_shares(const AttentionPrefillTile& tile, AttentionPrefillShared<Type, Shape>& shared) {
  if (!is_last_block(tile.args.counters + tile.index(), tile.grid.z, shared.is_last)) return;
  for (uint32_t segment = tile.first_token(); segment < tile.end_token(); segment = shared.segment.next) {
    begin_segment(tile, segment, shared);
    const SpanShare all(shared.segment.begin, shared.segment.end, tile.args.span, 0, 1);
    if (all.n_spans == 1) continue;
    AttentionSums<Shape> sums;
    float2 statistics[Shape::thread_rows];
    add_spans<attention_prefill_threads>(tile.slot<Shape>(0), Shape::slot_floats, Shape::rows, all.n_spans, thread_row<Shape>(), sums, statistics);
#pragma unroll
    for (int r = 0; r < Shape::thread_rows; r++) write_row(tile, shared, r, sums[r], statistics[r]);
  }
}

// ---- the kernel
// ------------------------------------------------------------------------------------------------------

// A share's tiles of positions of a segment.
template <uint32_t Type, class Shape>
__device__ __forceinline__ void walk_share(const AttentionPrefillTile& tile, const SpanShare& share, AttentionPrefillShared<Type, Shape>& shared,
                                           AttentionSums<Shape>& sums) {
  const AttentionPrefillArgs& args = tile.args;
  constexpr uint32_t slice_size = attention_prefill_slice, value_slices = attention_prefill_keys / Shape::value_slice;
  const auto padded = [&] { return padded_head_dim(args.cache.head_dim); };
  const uint32_t range_end = min(shared.segment.end, share.to * args.span);
  AttentionStaging<Type, Shape> staging(tile, shared);
  uint32_t stage = 0;
  uint32_t first_key = max(shared.segment.begin, share.from * args.span) / attention_prefill_keys * attention_prefill_keys;
  staging.find_keys(first_key);
  __syncthreads();
  staging.load_product(0, first_key / attention_prefill_keys % 2);
  staging.store_product(shared.stages[stage]);
  __syncthreads();
  for (uint32_t first_of_span = first_key; first_key < range_end; first_key += attention_prefill_keys) {
    if (first_key % args.span == 0 && first_key != first_of_span) {
      end_span_of(tile, share, first_of_span / args.span, sums, shared);
      first_of_span = first_key;
    }
    const uint32_t turn = first_key / attention_prefill_keys % 2;
    float scores[Shape::thread_rows][4] = {};
#pragma unroll 1
    for (uint32_t slice = 0; slice * slice_size < padded(); slice++) {
      if ((slice + 1) * slice_size < padded()) {
        staging.load_product(slice + 1, turn);
      } else {
        staging.load_values(0, turn);
      }
      multiply_slice<Shape>(shared.stages[stage], scores);
      stage ^= 1;
      if ((slice + 1) * slice_size < padded()) {
        staging.store_product(shared.stages[stage]);
      } else {
        staging.store_values(shared.stages[stage]);
      }
      __syncthreads();
    }
    weigh_tile(args, first_key, scores, sums, shared);
    __syncthreads();
#pragma unroll 1
    for (uint32_t slice = 0; slice < value_slices; slice++) {
      const bool goes_on = slice + 1 == value_slices && first_key + attention_prefill_keys < range_end;
      if (slice + 1 < value_slices) {
        staging.load_values(slice + 1, turn);
      } else if (goes_on) {
        staging.load_product(0, turn ^ 1);
      }
      add_slice<Shape>(shared.weights + slice * Shape::value_slice * Shape::rows, shared.stages[stage], args.cache.value_dim, sums);
      stage ^= 1;
      if (slice + 1 < value_slices) {
        staging.store_values(shared.stages[stage]);
      } else if (goes_on) {
        staging.store_product(shared.stages[stage]);
      }
      if (slice == 0) staging.find_keys(first_key + attention_prefill_keys);
      __syncthreads();
    }
  }
}

// Grid: tiles of tokens, KV heads * head_tiles, shares of the spans.
template <uint32_t Type, class Shape>
__device__ __forceinline__ void attention_prefill(const AttentionPrefillArgs& args, const BlockIndex& block, const GridSize& grid,
                                                  AttentionPrefillShared<Type, Shape>& shared) {
  const AttentionPrefillTile tile = {args, block, grid};
  find_queries(tile, shared);
  // Each sequence with tokens in the tile by itself: what one has that is not a number must not reach another.
  for (uint32_t segment = tile.first_token(); segment < tile.end_token(); segment = shared.segment.next) {
    begin_segment(tile, segment, shared);
    const SpanShare share(shared.segment.begin, shared.segment.end, args.span, block.z, grid.z);
    if (share.from == share.to) continue;
    AttentionSums<Shape> sums;
    clear_sums<Shape>(sums);
    walk_share(tile, share, shared, sums);
    if (share.n_spans > 1) {
      end_span_of(tile, share, share.to - 1, sums, shared);
      if (grid.z > 1) continue;
    }
#pragma unroll
    for (int r = 0; r < Shape::thread_rows; r++) {
      float2 statistics = shared.running[thread_row<Shape>() + r];
      if (share.n_spans > 1) {
        load_sums<attention_prefill_threads>(tile.slot<Shape>(0), Shape::rows, r, sums[r]);
        statistics = __ldcg(slot_statistics(tile.slot<Shape>(0), thread_row<Shape>() + r));
      }
      write_row(tile, shared, r, sums[r], statistics);
    }
  }
  if (grid.z > 1) add_shares(tile, shared);
}

template <uint32_t Type, int Rows, int Groups, bool Wide = false>
__global__ void __launch_bounds__(attention_prefill_threads, attention_prefill_residency) attention_prefill_kernel(AttentionPrefillArgs args) {
  using Shape = AttentionPrefillShape<Rows, Groups, Wide>;
  __shared__ AttentionPrefillShared<Type, Shape> shared;
  attention_prefill<Type, Shape>(args, launched_block(), launched_grid(), shared);
}

// The same by fewer thread blocks than its grid has, args.grid. The block's numbers are in shared memory.
template <uint32_t Type, int Rows, int Groups, bool Wide = false>
__global__ void __launch_bounds__(attention_prefill_threads, attention_prefill_residency) attention_prefill_part_kernel(AttentionPrefillArgs args) {
  using Shape = AttentionPrefillShape<Rows, Groups, Wide>;
  __shared__ AttentionPrefillShared<Type, Shape> shared;
  __shared__ BlockIndex place;
  __shared__ uint32_t at;
  walk_grid(args.grid, at, place, [&] { attention_prefill<Type, Shape>(args, place, args.grid, shared); });
}

}  // namespace m40::cuda

#endif
