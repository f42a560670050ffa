// Decode attention, each token by itself: split along the positions (flash-decoding, Dao et al. 2023), with the query
// heads of a KV head together, so that K and V are read once.
//
// A sequence's positions are cut into chunks; their size follows only from its length. A thread block computes a chunk
// for one KV head and leaves a partial result. The last block of a token and KV head to finish adds them in the order
// of the chunks. So the bits of a token's result depend only on its own sequence, and there is one launch.
//
// In a chunk each warp walks over runs of positions, without barriers: `lanes` lanes read a row of K (8 values each),
// 32 / lanes rows at a time with `batch` loads in flight, and the same of V.
#ifndef M40_KERNELS_ATTENTION_DECODE_CUH
#define M40_KERNELS_ATTENTION_DECODE_CUH

#include "attention_decode_keys.cuh"
#include "attention_decode_reader.cuh"
#include "attention_queries.cuh"
#include "last_block.cuh"

namespace m40::cuda {

// ---- a run of positions, by phase
// ------------------------------------------------------------------------------------

// The queries that a lane holds in registers, of its 8 dimensions; or a place for none.
template <class Shape, int Heads>
using HeldQueries = float[Shape::holds_queries ? Heads : 1][8];

template <class Shape, int Heads>
__device__ __forceinline__ void hold_queries(const float* queries, uint32_t d, HeldQueries<Shape, Heads>& held) {
  if constexpr (Shape::holds_queries) {
#pragma unroll
    for (int h = 0; h < Heads; h++) {
#pragma unroll
      for (int i = 0; i < 8; i++) held[h][i] = queries[h * Shape::head_dim + d + i];
    }
  }
}

// q k over a lane's 8 dimensions, of a row and a head.
template <uint32_t Type>
__device__ __forceinline__ float product_of(const float (&query)[8], const float (&values)[8], const KvValues<Type>& row) {
  float product = __fmul_rn(query[0], values[0]);
#pragma unroll
  for (int i = 1; i < 8; i++) product = __fmaf_rn(query[i], values[i], product);
  return KvValues<Type>::scaled ? __fmul_rn(product, row.scale()) : product;
}

// The same of rows [first, first + part) of a run and all heads: [part][Heads].
template <uint32_t Type, class Shape, int Heads>
__device__ __forceinline__ void multiply_part(const KvValues<Type> (&k)[Shape::batch], int first, const HeldQueries<Shape, Heads>& held, const float* queries,
                                              uint32_t d, float (&products)[Shape::part * Heads]) {
  if constexpr (Shape::holds_queries) {
#pragma unroll
    for (int u = 0; u < Shape::part; u++) {
      float values[8];
      k[first + u].floats(values);
#pragma unroll
      for (int h = 0; h < Heads; h++) products[u * Heads + h] = product_of(held[h], values, k[first + u]);
    }
  } else {
    float values[Shape::part][8];
#pragma unroll
    for (int u = 0; u < Shape::part; u++) k[first + u].floats(values[u]);
#pragma unroll
    for (int h = 0; h < Heads; h++) {
      const float4 low = *reinterpret_cast<const float4*>(&queries[h * Shape::head_dim + d]);
      const float4 high = *reinterpret_cast<const float4*>(&queries[h * Shape::head_dim + d + 4]);
      const float query[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
      for (int u = 0; u < Shape::part; u++) products[u * Heads + h] = product_of(query, values[u], k[first + u]);
    }
  }
}

// The products of a run's keys with the queries, added over lanes: to weights [keys][Heads].
template <uint32_t Type, int Lanes, int Heads, class Shape = AttentionDecodeShape<Type, Lanes, Heads>>
__device__ __forceinline__ void multiply_keys(const KvValues<Type> (&k)[Shape::batch], const HeldQueries<Shape, Heads>& held, const float* queries,
                                              const DecodeLane<Lanes>& lane, float* weights) {
  constexpr int n = Shape::part * Heads;
#pragma unroll
  for (int p = 0; p < Shape::batch / Shape::part; p++) {
    float products[n];
    multiply_part<Type, Shape, Heads>(k, p * Shape::part, held, queries, lane.d, products);
    spread_sums<n, Lanes / 2>(products, lane.index);
    // Sum i of the part is in the lanes with the highest bits of i.
    constexpr int left = n >= Lanes ? n / Lanes : 1;
    constexpr int copies = n >= Lanes ? 1 : Lanes / n;
    const uint32_t owner = lane.index % Lanes / copies;
    if (lane.index % copies == 0) {
#pragma unroll
      for (int i = 0; i < left; i++) {
        const uint32_t index = owner * left + i;
        const uint32_t u = p * Shape::part + index / Heads;
        weights[(u * Shape::rows + lane.row) * Heads + index % Heads] = products[i];
      }
    }
  }
}

// A warp's part of a chunk: the running softmax and the weighted values.
template <int Heads>
struct DecodeSums {
  float values[Heads][8];
  float largest;  // of head lane % Heads; the same in all its lanes
  float weight;   // sum of this lane's weights

  __device__ __forceinline__ DecodeSums() : largest(-INFINITY), weight(0) {
#pragma unroll
    for (int h = 0; h < Heads; h++) {
#pragma unroll
      for (int i = 0; i < 8; i++) values[h][i] = 0;
    }
  }
};

// Makes weights of a run's products, where they stand. shrinks: what the sums so far are multiplied by, a head.
template <int Keys, int Heads>
__device__ __forceinline__ void weigh_run(const AttentionDecodeArgs& args, const DecodePositions& positions, uint32_t run, uint32_t run_keys, uint32_t lane,
                                          float* weights, float* shrinks, DecodeSums<Heads>& sums) {
  constexpr int entries = Keys * Heads;
  constexpr int per_lane = (entries + 31) / 32;
  float scores[per_lane];
  float now = sums.largest;
#pragma unroll
  for (int i = 0; i < per_lane; i++) {
    const uint32_t entry = i * 32 + lane;
    const uint32_t at = run + entry / Heads;
    const bool attended = entry < run_keys * Heads && at >= positions.start && at < positions.end;
    scores[i] = attended ? attention_score(weights[entry], args.scale, args.softcap) : -INFINITY;
    now = fmaxf(now, scores[i]);
  }
#pragma unroll
  for (int offset = 16; offset >= Heads; offset /= 2) now = fmaxf(now, __shfl_xor_sync(~0u, now, offset));
  const float shrink = attention_shrink(sums.largest, now);
  sums.largest = now;
  sums.weight = __fmul_rn(sums.weight, shrink);
#pragma unroll
  for (int i = 0; i < per_lane; i++) {
    const uint32_t entry = i * 32 + lane;
    const float weight = attention_weight(scores[i], now);
    sums.weight = __fadd_rn(sums.weight, weight);
    if (entry < static_cast<uint32_t>(entries)) weights[entry] = weight;
  }
  if (lane < Heads) shrinks[lane] = shrink;
}

// The weighted sum of a run's values, over the rows that this lane reads.
template <uint32_t Type, int Lanes, int Heads, class Shape = AttentionDecodeShape<Type, Lanes, Heads>>
__device__ __forceinline__ void add_values(const KvValues<Type> (&v)[Shape::batch], const float* weights, const float* shrinks, bool shrunk,
                                           const DecodeLane<Lanes>& lane, DecodeSums<Heads>& sums) {
  if (shrunk) {
#pragma unroll
    for (int h = 0; h < Heads; h++) {
      const float factor = shrinks[h];
#pragma unroll
      for (int i = 0; i < 8; i++) sums.values[h][i] = __fmul_rn(sums.values[h][i], factor);
    }
  }
#pragma unroll
  for (int u = 0; u < Shape::batch; u++) {
    float values[8];
    v[u].floats(values);
    const float scale = v[u].scale();
    const float* weight_of_key = weights + (u * Shape::rows + lane.row) * Heads;
#pragma unroll
    for (int h = 0; h < Heads; h++) {
      const float weight = KvValues<Type>::scaled ? __fmul_rn(weight_of_key[h], scale) : weight_of_key[h];
#pragma unroll
      for (int i = 0; i < 8; i++) sums.values[h][i] = __fmaf_rn(weight, values[i], sums.values[h][i]);
    }
  }
}

// ---- a chunk
// ---------------------------------------------------------------------------------------------------------

// Adds the rows of a warp, and puts the warps' sums where combine_warps() wants them.
template <int Lanes, int Heads, int Width, bool SpreadsKeys>
__device__ __forceinline__ void store_warp(const DecodeLane<Lanes>& lane, DecodeSums<Heads>& sums, float* work, float* statistics) {
  const uint32_t warp = threadIdx.x / 32;
#pragma unroll
  for (int offset = Lanes; offset < 32; offset *= 2) {
#pragma unroll
    for (int h = 0; h < Heads; h++) {
#pragma unroll
      for (int i = 0; i < 8; i++) sums.values[h][i] = __fadd_rn(sums.values[h][i], __shfl_xor_sync(~0u, sums.values[h][i], offset));
    }
  }
  if constexpr (!SpreadsKeys) {
#pragma unroll
    for (int offset = 16; offset >= Heads; offset /= 2) sums.weight = __fadd_rn(sums.weight, __shfl_xor_sync(~0u, sums.weight, offset));
  }
  __syncthreads();  // weights lie where the sums go
  if (lane.row == 0) {
#pragma unroll
    for (int h = 0; h < Heads; h++) {
      float4* place = reinterpret_cast<float4*>(work + (warp * Heads + h) * Width + lane.d);
      place[0] = make_float4(sums.values[h][0], sums.values[h][1], sums.values[h][2], sums.values[h][3]);
      place[1] = make_float4(sums.values[h][4], sums.values[h][5], sums.values[h][6], sums.values[h][7]);
    }
  }
  if (!SpreadsKeys && lane.index < Heads) {
    statistics[(warp * Heads + lane.index) * 2] = sums.largest;
    statistics[(warp * Heads + lane.index) * 2 + 1] = sums.weight;
  }
}

// Where a block leaves the sums of its chunks, [chunks][Heads * (padded + 2)], and which of the counters is theirs.
template <int Heads>
struct DecodePartials {
  const AttentionDecodeArgs& args;
  const BlockIndex& block;
  const GridSize& grid;
  uint32_t padded;  // head dimension

  __device__ __forceinline__ uint32_t slot() const { return block.z * grid.y + block.y; }
  __device__ __forceinline__ uint32_t floats() const { return chunk_floats(Heads, padded); }
  __device__ __forceinline__ float* first() const { return args.partials + uint64_t{slot()} * decode_most_chunks * floats(); }
};

// Grid: blocks along the chunks, KV heads * head_tiles, decoded tokens.
//
// The loop over a chunk's runs stands here and not in a function of its own: there, the compiler finds out again for V
// where a run's rows are, 60 instructions of 380 where they are read ahead.
template <uint32_t Type, int Lanes, int Heads>
__device__ __forceinline__ void attention_decode(const AttentionDecodeArgs& args, BlockIndex block, GridSize grid,
                                                 AttentionDecodeShared<AttentionDecodeShape<Type, Lanes, Heads>>& shared) {
  using Shape = AttentionDecodeShape<Type, Lanes, Heads>;
  const DecodePositions positions(args, block.z);
  if (block.x >= positions.n_chunks) return;
  const DecodeHeads<Heads> heads = {args, block};
  const uint32_t head_dim = args.cache.head_dim, padded = padded_head_dim(head_dim), warp = threadIdx.x / 32;
  const uint32_t* kv_blocks = args.kv_block_table + uint64_t{args.sequences[block.z]} * args.kv_block_stride;
  const DecodeLane<Lanes> lane;
  // Lanes beyond the row read its start: their queries are 0.
  const DecodeReader<Type, Lanes, Heads> reader = {args.cache, positions, kv_blocks, heads.kv_head(), min(static_cast<uint32_t>(Shape::keys), args.cache.kv_block_tokens),
                                                   lane.row, lane.d < padded ? lane.d : 0};
  // On their way while the queries are taken.
  if constexpr (Shape::prefetches) reader.prefetch_first_runs(block.x, warp);
  take_queries<Type, Shape>(args, heads, positions, block, grid, kv_blocks, shared.queries, shared.work);
  HeldQueries<Shape, Heads> held;
  hold_queries<Shape, Heads>(shared.queries, lane.d, held);
  DecodeKeys<Type, Lanes, Heads> keys;
  const KeyOffsets<Type, Lanes, Heads> offsets(keys.lane, padded);
  float* weights = shared.work + warp * Shape::score_floats;
  float* shrinks = weights + Shape::keys * Heads;
  float* statistics = shared.work + Shape::warps * Shape::query_floats;
  const DecodePartials<Heads> partials = {args, block, grid, padded};
  for (uint32_t c = block.x; c < positions.n_chunks; c += grid.x) {
    const uint32_t chunk_end = reader.chunk_end(c), stride = Shape::warps * reader.run_keys;
    uint32_t run = reader.first_run(c, warp);
    DecodeSums<Heads> sums;
    KvValues<Type> v[Shape::batch];
    if constexpr (Shape::spreads_keys) {
      typename DecodeKeys<Type, Lanes, Heads>::Rows k;
      keys.clear();
      // The KV blocks of the next run are read one run ahead.
      uint32_t kv_block = 0;
      if (run < chunk_end) {
        const uint8_t* first = reader.kv_block_of(run);
        reader.load_shares(run, first, keys, offsets, k);
        reader.load_values(run, first, v);
        if (run + stride < chunk_end) kv_block = reader.kv_block_number(run + stride);
      }
      while (run < chunk_end) {
        const uint32_t next = run + stride, second = next + stride;
        const bool more = next < chunk_end;
        uint32_t second_kv_block = 0;
        if (second < chunk_end) second_kv_block = reader.kv_block_number(second);
        float products[DecodeKeys<Type, Lanes, Heads>::Keys::places];
        keys.multiply(k, shared.queries, products);
        // On its way while this run is finished.
        const uint8_t* next_kv_block = reader.kv_block_at(kv_block);
        if (more) reader.load_shares(next, next_kv_block, keys, offsets, k);
        const bool shrunk = keys.weigh(args, positions, run, reader.run_keys, products, weights, shrinks);
        __syncwarp();
        add_values<Type, Lanes, Heads>(v, weights, shrinks, shrunk, lane, sums);
        if (more) reader.load_values(next, next_kv_block, v);
        if (Shape::prefetches && second < chunk_end) reader.prefetch(second, reader.kv_block_at(second_kv_block));
        kv_block = second_kv_block;
        run = next;
        __syncwarp();
      }
    } else {
      KvValues<Type> k[Shape::batch];
      const uint8_t* kv_block = nullptr;
      if (Shape::reads_ahead && run < chunk_end) {
        kv_block = reader.kv_block_of(run);
        reader.load_both(run, kv_block, k, v);
      }
      while (run < chunk_end) {
        const uint32_t next = run + stride;
        if (!Shape::reads_ahead) {
          reader.load_both(run, reader.kv_block_of(run), k, v);
        } else if (next < chunk_end) {
          kv_block = reader.kv_block_of(next);
        }
        multiply_keys<Type, Lanes, Heads>(k, held, shared.queries, lane, weights);
        __syncwarp();
        if (Shape::reads_ahead && next < chunk_end) reader.load_keys(next, kv_block, k);
        weigh_run<Shape::keys>(args, positions, run, reader.run_keys, lane.index, weights, shrinks, sums);
        __syncwarp();
        add_values<Type, Lanes, Heads>(v, weights, shrinks, true, lane, sums);
        if (Shape::reads_ahead && next < chunk_end) reader.load_values(next, kv_block, v);
        run = next;
        __syncwarp();
      }
    }
    store_warp<Lanes, Heads, Shape::head_dim, Shape::spreads_keys>(lane, sums, shared.work, statistics);
    if constexpr (Shape::spreads_keys) keys.store(statistics + warp * Heads * 2);
    __syncthreads();
    if (positions.n_chunks == 1) {
      combine_warps<Shape::warps, Heads>(shared.work, statistics, Shape::head_dim, heads.count(), head_dim, true, heads.sinks(), heads.output(), head_dim, nullptr);
      return;
    }
    float* partial = partials.first() + c * partials.floats();
    combine_warps<Shape::warps, Heads>(shared.work, statistics, Shape::head_dim, heads.count(), head_dim, false, nullptr, partial, padded, partial + Heads * padded);
    __syncthreads();  // the sums lie where the next chunk's weights go
  }
  // The last block adds the chunks.
  if (!is_last_block(args.counters + partials.slot(), min(grid.x, positions.n_chunks), shared.is_last)) return;
  combine_chunks(partials.first(), Shape::warps, Heads, positions.n_chunks, heads.count(), head_dim, padded, heads.sinks(), shared.work, heads.output());
}

template <uint32_t Type, int Lanes, int Heads>
__global__ void __launch_bounds__(AttentionDecodeShape<Type, Lanes, Heads>::warps * 32, 2) attention_decode_kernel(AttentionDecodeArgs args) {
  __shared__ AttentionDecodeShared<AttentionDecodeShape<Type, Lanes, Heads>> shared;
  attention_decode<Type, Lanes, Heads>(args, launched_block(), launched_grid(), shared);
}

}  // namespace m40::cuda

#endif
