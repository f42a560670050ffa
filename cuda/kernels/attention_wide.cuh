// Decode attention with K of more than 256 values, or with V of another length than K. Such are a latent cache
// (multi-head latent attention, DeepSeek-AI 2024), where many query heads share one row that is K and, without its end,
// V; and heads of 512 values.
//
// Chunks, partial results and their order are those of attention_decode.cuh. In a chunk positions go through shared
// memory as floats, a few at a time, while the next ones are loaded into registers. So a row is read and converted once
// for all heads of a block. A warp has four or five query heads and all of their dimensions, a lane four of each 128,
// with queries and sums in registers. So each value from shared memory is multiplied four or five times. Blocks of few
// heads have several warps for the same heads, each with its own positions; their sums are added at the end of a chunk,
// in their order.
#ifndef M40_KERNELS_ATTENTION_WIDE_CUH
#define M40_KERNELS_ATTENTION_WIDE_CUH

#include "attention_combine.cuh"
#include "attention_wide_staging.cuh"
#include "intrinsics.cuh"
#include "last_block.cuh"

namespace m40::cuda {

// What a lane has of the queries of a warp's heads: of their first 512 dimensions.
template <int Heads>
using WideQueries = float[Heads][wide_fours][4];

// Zeros where there is no head, and beyond the head dimension. q: of the first of n_heads heads. ends: what is beyond
// 512.
template <int Heads>
__device__ __forceinline__ void take_wide_queries(const float* q, uint32_t n_heads, uint32_t head_dim, uint32_t lane, WideQueries<Heads>& queries,
                                                  float (*ends)[wide_key_dim - wide_value_dim]) {
#pragma unroll
  for (uint32_t h = 0; h < Heads; h++) {
    const auto at = [&](uint32_t d) { return h < n_heads && d < head_dim ? q[h * head_dim + d] : 0.0f; };
#pragma unroll
    for (int j = 0; j < wide_fours; j++) {
#pragma unroll
      for (int i = 0; i < 4; i++) queries[h][j][i] = at(j * 128 + lane * 4 + i);
    }
    for (uint32_t d = lane; d < wide_key_dim - wide_value_dim; d += 32) ends[h][d] = at(wide_value_dim + d);
  }
  __syncwarp();
}

// Sums over all lanes, to their places in weights: sum i goes to place(i).
template <int N, class Place>
__device__ __forceinline__ void store_sums(float (&sums)[N], uint32_t lane, float* weights, const Place& place) {
  spread_sums<N, 16>(sums, lane);
  constexpr int copies = 32 / N;  // sum i is in the lanes with the highest bits of i
  if (lane % copies == 0) weights[place(lane / copies)] = sums[0];
}

// q k of some rows over the first Fours * 128 dimensions.
template <int Fours, class Shape>
__device__ __forceinline__ void multiply_fours(const float (*keys)[wide_key_dim], const WideQueries<Shape::heads>& queries, uint32_t lane,
                                               float (&products)[Shape::heads][Shape::part]) {
#pragma unroll
  for (int u = 0; u < Shape::part; u++) {
#pragma unroll
    for (int j = 0; j < Fours; j++) {
      const float4 k = *reinterpret_cast<const float4*>(keys[u] + j * 128 + lane * 4);
#pragma unroll
      for (int h = 0; h < Shape::heads; h++) {
        products[h][u] = __fmaf_rn(queries[h][j][0], k.x, products[h][u]);
        products[h][u] = __fmaf_rn(queries[h][j][1], k.y, products[h][u]);
        products[h][u] = __fmaf_rn(queries[h][j][2], k.z, products[h][u]);
        products[h][u] = __fmaf_rn(queries[h][j][3], k.w, products[h][u]);
      }
    }
  }
}

// The products of a warp's rows with its queries, to weights [rows][wide_weight_stride].
template <class Shape>
__device__ __forceinline__ void multiply_rows(const float (*keys)[wide_key_dim], const WideQueries<Shape::heads>& queries,
                                              const float (*ends)[wide_key_dim - wide_value_dim], uint32_t head_dim, uint32_t lane, float* weights) {
#pragma unroll
  for (int p = 0; p < Shape::rows; p += Shape::part) {
    float products[Shape::heads][Shape::part] = {};
    if (head_dim > 256) {
      multiply_fours<wide_fours, Shape>(keys + p, queries, lane, products);
    } else {
      multiply_fours<wide_fours / 2, Shape>(keys + p, queries, lane, products);
    }
    if (head_dim > wide_value_dim) {
      float2 k[Shape::part];
#pragma unroll
      for (int u = 0; u < Shape::part; u++) k[u] = *reinterpret_cast<const float2*>(keys[p + u] + wide_value_dim + lane * 2);
#pragma unroll
      for (int h = 0; h < Shape::heads; h++) {
        const float2 q = *reinterpret_cast<const float2*>(ends[h] + lane * 2);
#pragma unroll
        for (int u = 0; u < Shape::part; u++) products[h][u] = __fmaf_rn(q.y, k[u].y, __fmaf_rn(q.x, k[u].x, products[h][u]));
      }
    }
    float sums[Shape::part * 4];
#pragma unroll
    for (int i = 0; i < Shape::part * 4; i++) sums[i] = products[i % 4][i / 4];
    store_sums(sums, lane, weights, [p](uint32_t i) { return (p + i / 4) * wide_weight_stride + i % 4; });
    if (Shape::heads == 5) store_sums(products[Shape::heads - 1], lane, weights, [p](uint32_t i) { return (p + i) * wide_weight_stride + 4; });
  }
}

// The running softmax and the weighted values of a warp's heads in a chunk.
template <int Heads>
struct WideSums {
  float values[Heads][wide_fours][4];
  float largest;  // of head lane % 8; the same in all its lanes
  float weight;   // sum of this lane's weights

  __device__ __forceinline__ WideSums() : largest(-INFINITY), weight(0) {
#pragma unroll
    for (int h = 0; h < Heads; h++) {
#pragma unroll
      for (int j = 0; j < wide_fours; j++) {
#pragma unroll
        for (int i = 0; i < 4; i++) values[h][j][i] = 0;
      }
    }
  }

  // The sum of weights, in all lanes of a head.
  __device__ __forceinline__ void end() {
#pragma unroll
    for (int offset = 16; offset >= static_cast<int>(wide_weight_stride); offset /= 2) weight = __fadd_rn(weight, __shfl_xor_sync(~0u, weight, offset));
  }

  // Makes weights of the products in weights [Rows][wide_weight_stride], of positions from `first` on.
  template <int Rows>
  __device__ __forceinline__ void weigh(const AttentionKernelArgs& args, uint32_t first, uint32_t start, uint32_t end, uint32_t lane, float* weights, float* shrinks) {
    constexpr int each = Rows < 4 ? 1 : Rows / 4;  // rows of a lane
    const uint32_t head = lane % wide_weight_stride;
    float scores[each], now = largest;
#pragma unroll
    for (int i = 0; i < each; i++) {
      const uint32_t row = i * 4 + lane / wide_weight_stride, at = first + row;
      const bool attended = row < Rows && head < Heads && at >= start && at < end;
      scores[i] = attended ? attention_score(weights[row * wide_weight_stride + head], args.scale, args.softcap) : -INFINITY;
      now = fmaxf(now, scores[i]);
    }
#pragma unroll
    for (int offset = 16; offset >= static_cast<int>(wide_weight_stride); offset /= 2) now = fmaxf(now, __shfl_xor_sync(~0u, now, offset));
    const float shrink = attention_shrink(largest, now);
    largest = now;
    weight = __fmul_rn(weight, shrink);
#pragma unroll
    for (int i = 0; i < each; i++) {
      const uint32_t row = i * 4 + lane / wide_weight_stride;
      const float mine = attention_weight(scores[i], now);
      weight = __fadd_rn(weight, mine);
      if (row < Rows) weights[row * wide_weight_stride + head] = mine;
    }
    if (lane < wide_weight_stride) shrinks[lane] = shrink;
    __syncwarp();
    // Once the largest score is found, nothing shrinks any more: most of the time there is nothing to do.
    if (!__any_sync(~0u, shrink != 1)) return;
#pragma unroll
    for (int h = 0; h < Heads; h++) {
      const float factor = shrinks[h];
#pragma unroll
      for (int j = 0; j < wide_fours; j++) {
#pragma unroll
        for (int i = 0; i < 4; i++) values[h][j][i] = __fmul_rn(values[h][j][i], factor);
      }
    }
  }

  // Adds rows of V, Fours * 128 values of each, times their weights for each head.
  template <int Rows, int Fours>
  __device__ __forceinline__ void add_rows(const float* row, uint32_t row_floats, const float* weights, uint32_t lane) {
#pragma unroll
    for (int r = 0; r < Rows; r++) {
      const float4 four = *reinterpret_cast<const float4*>(weights + r * wide_weight_stride);
      const float w[5] = {four.x, four.y, four.z, four.w, Heads == 5 ? weights[r * wide_weight_stride + 4] : 0};
#pragma unroll
      for (int j = 0; j < Fours; j++) {
        const float4 v = *reinterpret_cast<const float4*>(row + r * row_floats + j * 128 + lane * 4);
#pragma unroll
        for (int h = 0; h < Heads; h++) {
          values[h][j][0] = __fmaf_rn(w[h], v.x, values[h][j][0]);
          values[h][j][1] = __fmaf_rn(w[h], v.y, values[h][j][1]);
          values[h][j][2] = __fmaf_rn(w[h], v.z, values[h][j][2]);
          values[h][j][3] = __fmaf_rn(w[h], v.w, values[h][j][3]);
        }
      }
    }
  }
};

// Where the sums of a chunk go: the token's result [value_dim] a head, or a partial one [tile_heads][padded], then
// largest score and sum of weights [tile_heads][2].
struct WideResult {
  const AttentionWideArgs& args;
  const WideHeads& heads;
  bool whole;
  float* partial;

  // What a head's values are multiplied by, and where they go.
  __device__ __forceinline__ float factor(uint32_t head, float largest, float sum) const {
    return whole ? __fdiv_rn(1, with_sink(heads.sinks(), head, largest, sum)) : 1;
  }
  __device__ __forceinline__ float* place(uint32_t head) const {
    return whole ? heads.output() + head * args.cache.value_dim : partial + head * padded_head_dim(args.cache.value_dim);
  }
  __device__ __forceinline__ void put_statistics(uint32_t head, float largest, float sum) const {
    if (whole) return;
    *reinterpret_cast<float2*>(partial + args.tile_heads * padded_head_dim(args.cache.value_dim) + head * 2) = make_float2(largest, sum);
  }
};

// A chunk ends where each warp has heads of its own.
template <int Heads>
__device__ __forceinline__ void finish_alone(const WideResult& result, const WideSums<Heads>& sums) {
  const uint32_t lane = thread_index() % 32, first_head = thread_index() / 32 * result.args.warp_heads;
#pragma unroll
  for (uint32_t h = 0; h < Heads; h++) {
    const uint32_t head = first_head + h;
    if (h >= result.args.warp_heads || head >= result.heads.count()) break;
    const float largest = __shfl_sync(~0u, sums.largest, h), sum = __shfl_sync(~0u, sums.weight, h), factor = result.factor(head, largest, sum);
    float* const to = result.place(head) + lane * 4;
#pragma unroll
    for (int j = 0; j < wide_fours; j++) {
#pragma unroll
      for (int i = 0; i < 4; i++) {
        if (j * 128 + lane * 4 + i < result.args.cache.value_dim) to[j * 128 + i] = __fmul_rn(sums.values[h][j][i], factor);
      }
    }
    if (lane == 0) result.put_statistics(head, largest, sum);
  }
}

// A chunk ends where KeyWarps warps have the same heads: their sums are added in their order. One head of theirs at a
// time goes through shared memory.
template <int KeyWarps, class Shape>
__device__ __forceinline__ void finish_together(const WideResult& result, const WideSums<Shape::heads>& sums, AttentionWideShared<Shape>& shared) {
  static_assert(Shape::keys >= KeyWarps, "room for a row of V of each of the warps");
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, head_warps = result.args.head_warps;
  if (lane < Shape::heads) {
    shared.statistics[warp][lane][0] = sums.largest;
    shared.statistics[warp][lane][1] = sums.weight;
  }
  float* const rows = &shared.values[0][0];
  for (uint32_t hw = 0; hw < head_warps; hw++) {
#pragma unroll
    for (uint32_t h = 0; h < Shape::heads; h++) {
      const uint32_t head = hw * result.args.warp_heads + h;
      if (h >= result.args.warp_heads || head >= result.heads.count()) break;
      __syncthreads();  // what lay here was read
      if (warp / KeyWarps == hw) {
#pragma unroll
        for (int j = 0; j < wide_fours; j++) {
          *reinterpret_cast<float4*>(rows + warp % KeyWarps * wide_value_dim + j * 128 + lane * 4) =
              make_float4(sums.values[h][j][0], sums.values[h][j][1], sums.values[h][j][2], sums.values[h][j][3]);
        }
      }
      __syncthreads();
      float largest = -INFINITY, sum = 0, factors[KeyWarps];
#pragma unroll
      for (int w = 0; w < KeyWarps; w++) largest = fmaxf(largest, shared.statistics[hw * KeyWarps + w][h][0]);
#pragma unroll
      for (int w = 0; w < KeyWarps; w++) {
        factors[w] = attention_shrink(shared.statistics[hw * KeyWarps + w][h][0], largest);
        sum = __fmaf_rn(shared.statistics[hw * KeyWarps + w][h][1], factors[w], sum);
      }
      const float factor = result.factor(head, largest, sum);
      for (uint32_t d = threadIdx.x; d < result.args.cache.value_dim; d += head_warps * KeyWarps * 32) {
        float value = 0;
#pragma unroll
        for (int w = 0; w < KeyWarps; w++) value = __fmaf_rn(rows[w * wide_value_dim + d], factors[w], value);
        result.place(head)[d] = __fmul_rn(value, factor);
      }
      if (threadIdx.x == 0) result.put_statistics(head, largest, sum);
    }
  }
  __syncthreads();
}

// Grid: blocks along the chunks, KV heads * head_tiles, decoded tokens. A block has head_warps * KeyWarps warps.
template <uint32_t Type, int KeyWarps>
__device__ __forceinline__ void attention_wide(const AttentionWideArgs& args, BlockIndex block, GridSize grid,
                                               AttentionWideShared<AttentionWideShape<Type, KeyWarps>>& shared) {
  using Shape = AttentionWideShape<Type, KeyWarps>;
  constexpr uint32_t keys = Shape::keys;
  const DecodePositions positions(args, block.z, true);
  if (block.x >= positions.n_chunks) return;
  const WideHeads heads = {args, block};
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, first_row = warp % KeyWarps * Shape::rows;
  const uint32_t first_head = warp / KeyWarps * args.warp_heads, head_dim = args.cache.head_dim;
  WideQueries<Shape::heads> queries;
  take_wide_queries<Shape::heads>(args.q + uint64_t{block.z} * args.q_stride + uint64_t{heads.first() + first_head} * head_dim,
                                  first_head < heads.count() ? min(args.warp_heads, heads.count() - first_head) : 0, head_dim, lane, queries,
                                  shared.query_ends[warp]);
  WideStaging<Type, Shape> staging = {args, shared, args.kv_block_table + uint64_t{args.sequences[block.z]} * args.kv_block_stride, heads.kv_head(),
                                      positions.start, positions.end, {}};
  float* const weights = &shared.weights[warp][0][0];
  // Found out where they are needed, for want of registers.
  const auto padded = [&] { return padded_head_dim(args.cache.value_dim); };
  const auto slot = [&] { return block.z * grid.y + block.y; };
  const auto floats = [&] { return chunk_floats(args.tile_heads, padded()); };
  const auto partials = [&] { return args.partials + uint64_t{slot()} * decode_most_chunks * floats(); };
  if (threadIdx.x == 0) shared.positions = positions;
  // Beyond the ends of rows, where nothing is ever put.
  for (uint32_t i = threadIdx.x; i < keys * wide_key_dim; i += args.head_warps * KeyWarps * 32) (&shared.keys[0][0])[i] = 0;
  for (uint32_t i = threadIdx.x; i < keys * wide_value_dim; i += args.head_warps * KeyWarps * 32) (&shared.values[0][0])[i] = 0;
  __syncthreads();
  for (uint32_t c = block.x; c < shared.positions.n_chunks; c += grid.x) {
    const uint32_t chunk_end = min(shared.positions.first + (c + 1) * shared.positions.chunk, positions.end);
    uint32_t tile = shared.positions.first + c * shared.positions.chunk;
    if (tile < positions.start) tile += (positions.start - tile) / keys * keys;
    WideSums<Shape::heads> sums;
    staging.put_kv_block(tile, staging.find_kv_block(tile));
    __syncthreads();
    staging.load(tile);
    uint32_t kv_block = staging.find_kv_block(tile + keys);
#pragma unroll 1
    for (; tile < chunk_end; tile += keys) {
      staging.store(tile);
      staging.put_kv_block(tile + keys, kv_block);
      __syncthreads();
      if (tile + keys < chunk_end) {
        staging.load(tile + keys);
        kv_block = staging.find_kv_block(tile + 2 * keys);
      }
      multiply_rows<Shape>(shared.keys + first_row, queries, shared.query_ends[warp], head_dim, lane, weights);
      __syncwarp();
      sums.template weigh<Shape::rows>(args, tile + first_row, positions.start, chunk_end, lane, weights, shared.shrinks[warp]);
      const float* row = staging.owns_values() ? shared.values[first_row] : shared.keys[first_row];
      const uint32_t row_floats = staging.owns_values() ? wide_value_dim : wide_key_dim;
      if (args.cache.value_dim > 256) {
        sums.template add_rows<Shape::rows, wide_fours>(row, row_floats, weights, lane);
      } else {
        sums.template add_rows<Shape::rows, wide_fours / 2>(row, row_floats, weights, lane);
      }
      __syncthreads();  // the next tile goes where this one lies
    }
    sums.end();
    const WideResult result = {args, heads, shared.positions.n_chunks == 1, partials() + c * floats()};
    if constexpr (KeyWarps == 1) {
      finish_alone(result, sums);
    } else {
      finish_together<KeyWarps>(result, sums, shared);
    }
    if (result.whole) return;
  }
  if (!is_last_block(args.counters + slot(), min(grid.x, shared.positions.n_chunks), shared.is_last)) return;
  combine_chunks(partials(), args.head_warps * KeyWarps, args.tile_heads, shared.positions.n_chunks, heads.count(), args.cache.value_dim, padded(), heads.sinks(),
                 &shared.keys[0][0], heads.output());
}

template <uint32_t Type, int KeyWarps>
__global__ void __launch_bounds__(AttentionWideShape<Type, KeyWarps>::warps * 32, KeyWarps == 1 ? 2 : 1) attention_wide_kernel(AttentionWideArgs args) {
  __shared__ AttentionWideShared<AttentionWideShape<Type, KeyWarps>> shared;
  attention_wide<Type, KeyWarps>(args, launched_block(), launched_grid(), shared);
}

}  // namespace m40::cuda

#endif
