// Attention of decoded tokens, each by itself: split along the positions (flash-decoding, Dao et al. 2023), with the
// query heads of a KV head together, so that K and V are read once.
//
// A sequence's positions are cut into chunks whose size follows from its length alone; a block computes a chunk for
// one KV head and leaves a partial result; the last block of a token and KV head to finish adds them in the order of
// the chunks. So the bits of a token's result depend on its own sequence only, and there is one launch.
//
// In a chunk each warp goes its own way, without barriers, over runs of positions: `lanes` lanes read a row of K
// (8 values each), 32 / lanes rows at a time and `batch` of them in flight, and the same of V.
#ifndef M40_KERNELS_ATTENTION_DECODE_CUH
#define M40_KERNELS_ATTENTION_DECODE_CUH

#include "attention_queries.cuh"
#include "last_block.cuh"

namespace m40::cuda {

// A lane of a warp in its runs of positions: what it reads, and where the warp puts what its lanes tell each other.
template <uint32_t Type, int Lanes, int Heads>
struct DecodeLane {
  using Shape = AttentionDecodeShape<Type, Lanes, Heads>;
  using Rows = KvValues<Type>[Shape::batch];  // what a lane holds of a run's rows of K, or of V

  const AttentionDecodeArgs& args;
  const DecodePositions& positions;
  const float* queries;   // [Heads][Shape::head_dim]
  const uint32_t* pages;  // of the sequence
  float* weights;         // the warp's: products, scores and then weights of a run [keys][Heads]
  float* shrinks;         // the warp's: [Heads]
  uint32_t kv_head;
  uint32_t lane;
  uint32_t row;           // of those that the warp reads at a time
  uint32_t d;             // the first of its 8 dimensions
  uint32_t d_read;
  uint32_t run_keys;      // a run is inside a page
  float q[Shape::holds_queries ? Heads : 1][8];

  __device__ __forceinline__ DecodeLane(const AttentionDecodeArgs& kernel_args, const DecodePositions& token_positions, const float* token_queries,
                                        const uint32_t* sequence_pages, float* work, uint32_t head)
      : args(kernel_args), positions(token_positions), queries(token_queries), pages(sequence_pages), kv_head(head) {
    const uint32_t warp = threadIdx.x / 32;
    lane = threadIdx.x % 32;
    row = lane / Lanes;
    d = lane % Lanes * 8;
    // Lanes beyond the row read its start: their queries are 0.
    d_read = d < padded_head_dim(args.cache.head_dim) ? d : 0;
    if constexpr (Shape::holds_queries) {
#pragma unroll
      for (int h = 0; h < Heads; h++) {
#pragma unroll
        for (int i = 0; i < 8; i++) q[h][i] = queries[h * Shape::head_dim + d + i];
      }
    }
    weights = work + warp * Shape::score_floats;
    shrinks = weights + Shape::keys * Heads;
    run_keys = min(static_cast<uint32_t>(Shape::keys), args.cache.page_tokens);
  }

  __device__ __forceinline__ const uint8_t* page_of(uint32_t run) const {
    return args.cache.keys + pages[run >> args.cache.page_shift] * args.cache.page_bytes;
  }

  // visit(u, row, scales of the row) for the rows of K that this lane reads in a run. Positions that are not attended to
  // read the row of one that is. Rows of V are args.cache.values behind.
  template <class Visit>
  __device__ __forceinline__ void for_each_row(uint32_t run, const uint8_t* page, const Visit& visit) const {
    const uint32_t first = cache_row(args.cache, kv_head, run);
    const uint32_t least = max(positions.start, run) - run;
    const uint32_t most = min(run_keys, positions.end - run) - 1;
    const uint8_t* at = page + first * args.cache.row_bytes;
    const uint8_t* scales = page + args.cache.scales + first * args.cache.scale_row_bytes;
    uint32_t offset = row * args.cache.row_bytes;
    uint32_t scale_offset = row * args.cache.scale_row_bytes;
#pragma unroll
    for (int u = 0; u < Shape::batch; u++) {
      const uint32_t here = max(min(offset, most * args.cache.row_bytes), least * args.cache.row_bytes);
      const uint32_t scales_here = max(min(scale_offset, most * args.cache.scale_row_bytes), least * args.cache.scale_row_bytes);
      visit(u, at + here, scales + scales_here);
      offset += Shape::rows * args.cache.row_bytes;
      scale_offset += Shape::rows * args.cache.scale_row_bytes;
    }
  }
  __device__ __forceinline__ void load_keys(uint32_t run, const uint8_t* page, Rows& k) const {
    for_each_row(run, page, [&](int u, const uint8_t* from, const uint8_t* scales) { k[u].load(from, scales, d_read); });
  }
  __device__ __forceinline__ void load_values(uint32_t run, const uint8_t* page, Rows& v) const {
    for_each_row(run, page, [&](int u, const uint8_t* from, const uint8_t* scales) { v[u].load(from + args.cache.values, scales + args.cache.values, d_read); });
  }
  __device__ __forceinline__ void load_both(uint32_t run, const uint8_t* page, Rows& k, Rows& v) const {
    for_each_row(run, page, [&](int u, const uint8_t* from, const uint8_t* scales) {
      k[u].load(from, scales, d_read);
      v[u].load(from + args.cache.values, scales + args.cache.values, d_read);
    });
  }
};

// ---- a run of positions, by phase ------------------------------------------------------------------------------------

// q k over this lane's 8 dimensions, of rows [first, first + part) of a run and all heads: [part][Heads].
template <uint32_t Type, int Lanes, int Heads, class Shape = AttentionDecodeShape<Type, Lanes, Heads>>
__device__ __forceinline__ void multiply_queries(const DecodeLane<Type, Lanes, Heads>& own, const KvValues<Type> (&k)[Shape::batch], int first,
                                                 float (&products)[Shape::part * Heads]) {
  const auto product_of = [&](const float* query, const float (&values)[8], int u) {
    float product = __fmul_rn(query[0], values[0]);
#pragma unroll
    for (int i = 1; i < 8; i++) product = __fmaf_rn(query[i], values[i], product);
    return KvValues<Type>::scaled ? __fmul_rn(product, k[first + u].scale()) : product;
  };
  if constexpr (Shape::holds_queries) {
#pragma unroll
    for (int u = 0; u < Shape::part; u++) {
      float values[8];
      k[first + u].floats(values);
#pragma unroll
      for (int h = 0; h < Heads; h++) products[u * Heads + h] = product_of(own.q[h], values, u);
    }
  } else {
    float values[Shape::part][8];
#pragma unroll
    for (int u = 0; u < Shape::part; u++) k[first + u].floats(values[u]);
#pragma unroll
    for (int h = 0; h < Heads; h++) {
      const float4 low = *reinterpret_cast<const float4*>(&own.queries[h * Shape::head_dim + own.d]);
      const float4 high = *reinterpret_cast<const float4*>(&own.queries[h * Shape::head_dim + own.d + 4]);
      const float query[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
      for (int u = 0; u < Shape::part; u++) products[u * Heads + h] = product_of(query, values[u], u);
    }
  }
}

// The products of a run's keys with the queries, summed over lanes: to own.weights.
template <uint32_t Type, int Lanes, int Heads, class Shape = AttentionDecodeShape<Type, Lanes, Heads>>
__device__ __forceinline__ void multiply_keys(const DecodeLane<Type, Lanes, Heads>& own, const KvValues<Type> (&k)[Shape::batch]) {
  constexpr int n = Shape::part * Heads;
#pragma unroll
  for (int p = 0; p < Shape::batch / Shape::part; p++) {
    float products[n];
    multiply_queries(own, k, p * Shape::part, products);
    spread_sums<n, Lanes / 2>(products, own.lane);
    // Sum i of the part went to the lanes whose bits are i's highest.
    constexpr int left = n >= Lanes ? n / Lanes : 1;
    constexpr int copies = n >= Lanes ? 1 : Lanes / n;
    const uint32_t owner = own.lane % Lanes / copies;
    if (own.lane % copies == 0) {
#pragma unroll
      for (int i = 0; i < left; i++) {
        const uint32_t index = owner * left + i;
        const uint32_t u = p * Shape::part + index / Heads;
        own.weights[(u * Shape::rows + own.row) * Heads + index % Heads] = products[i];
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

// own.weights: products become weights; own.shrinks: what sums so far are multiplied by.
template <uint32_t Type, int Lanes, int Heads>
__device__ __forceinline__ void weigh_run(const DecodeLane<Type, Lanes, Heads>& own, uint32_t run, DecodeSums<Heads>& sums) {
  constexpr int entries = AttentionDecodeShape<Type, Lanes, Heads>::keys * Heads;
  constexpr int per_lane = (entries + 31) / 32;
  float scores[per_lane];
  float now = sums.largest;
#pragma unroll
  for (int i = 0; i < per_lane; i++) {
    const uint32_t entry = i * 32 + own.lane;
    const uint32_t at = run + entry / Heads;
    const bool attended = entry < own.run_keys * Heads && at >= own.positions.start && at < own.positions.end;
    scores[i] = attended ? attention_score(own.weights[entry], own.args.scale, own.args.softcap) : -INFINITY;
    now = fmaxf(now, scores[i]);
  }
#pragma unroll
  for (int offset = 16; offset >= Heads; offset /= 2) now = fmaxf(now, __shfl_xor_sync(~0u, now, offset));
  const float shrink = attention_shrink(sums.largest, now);
  sums.largest = now;
  sums.weight = __fmul_rn(sums.weight, shrink);
#pragma unroll
  for (int i = 0; i < per_lane; i++) {
    const uint32_t entry = i * 32 + own.lane;
    const float weight = attention_weight(scores[i], now);
    sums.weight = __fadd_rn(sums.weight, weight);
    if (entry < static_cast<uint32_t>(entries)) own.weights[entry] = weight;
  }
  if (own.lane < Heads) own.shrinks[own.lane] = shrink;
}

// The weighted sum of a run's values, over the rows that this lane reads.
template <uint32_t Type, int Lanes, int Heads, class Shape = AttentionDecodeShape<Type, Lanes, Heads>>
__device__ __forceinline__ void add_values(const DecodeLane<Type, Lanes, Heads>& own, const KvValues<Type> (&v)[Shape::batch], DecodeSums<Heads>& sums) {
#pragma unroll
  for (int h = 0; h < Heads; h++) {
    const float factor = own.shrinks[h];
#pragma unroll
    for (int i = 0; i < 8; i++) sums.values[h][i] = __fmul_rn(sums.values[h][i], factor);
  }
#pragma unroll
  for (int u = 0; u < Shape::batch; u++) {
    float values[8];
    v[u].floats(values);
    const float scale = v[u].scale();
    const float* weight_of_key = own.weights + (u * Shape::rows + own.row) * Heads;
#pragma unroll
    for (int h = 0; h < Heads; h++) {
      const float weight = KvValues<Type>::scaled ? __fmul_rn(weight_of_key[h], scale) : weight_of_key[h];
#pragma unroll
      for (int i = 0; i < 8; i++) sums.values[h][i] = __fmaf_rn(weight, values[i], sums.values[h][i]);
    }
  }
}

// ---- a chunk ---------------------------------------------------------------------------------------------------------

// A warp's runs of a chunk: every so manyth of those that start at chunk_start.
template <uint32_t Type, int Lanes, int Heads>
__device__ __forceinline__ void walk_chunk(const DecodeLane<Type, Lanes, Heads>& own, uint32_t chunk_start, uint32_t chunk_end, DecodeSums<Heads>& sums) {
  using Shape = AttentionDecodeShape<Type, Lanes, Heads>;
  KvValues<Type> k[Shape::batch];
  KvValues<Type> v[Shape::batch];
  const uint32_t stride = Shape::warps * own.run_keys;
  uint32_t run = chunk_start + threadIdx.x / 32 * own.run_keys;
  // Runs before the window are passed over: their pages may be another sequence's by now.
  while (run + own.run_keys <= own.positions.start) run += stride;
  const uint8_t* page = nullptr;
  if (Shape::reads_ahead && run < chunk_end) {
    page = own.page_of(run);
    own.load_keys(run, page, k);
    own.load_values(run, page, v);
  }
  while (run < chunk_end) {
    const uint32_t next = run + stride;
    if (!Shape::reads_ahead) {
      own.load_both(run, own.page_of(run), k, v);
    } else if (next < chunk_end) {
      page = own.page_of(next);
    }
    multiply_keys(own, k);
    __syncwarp();
    // On its way while this run is finished.
    if (Shape::reads_ahead && next < chunk_end) own.load_keys(next, page, k);
    weigh_run(own, run, sums);
    __syncwarp();
    add_values(own, v, sums);
    if (Shape::reads_ahead && next < chunk_end) own.load_values(next, page, v);
    run = next;
    __syncwarp();
  }
}

// Adds the rows of a warp, and puts the warps' sums into work, as combine_warps() takes them.
template <uint32_t Type, int Lanes, int Heads>
__device__ __forceinline__ void store_warp(const DecodeLane<Type, Lanes, Heads>& own, DecodeSums<Heads>& sums, float* work, float* statistics) {
  using Shape = AttentionDecodeShape<Type, Lanes, Heads>;
  const uint32_t warp = threadIdx.x / 32;
#pragma unroll
  for (int offset = Lanes; offset < 32; offset *= 2) {
#pragma unroll
    for (int h = 0; h < Heads; h++) {
#pragma unroll
      for (int i = 0; i < 8; i++) sums.values[h][i] = __fadd_rn(sums.values[h][i], __shfl_xor_sync(~0u, sums.values[h][i], offset));
    }
  }
#pragma unroll
  for (int offset = 16; offset >= Heads; offset /= 2) sums.weight = __fadd_rn(sums.weight, __shfl_xor_sync(~0u, sums.weight, offset));
  __syncthreads();  // weights lie where the sums go
  if (own.row == 0) {
#pragma unroll
    for (int h = 0; h < Heads; h++) {
      float4* place = reinterpret_cast<float4*>(work + (warp * Heads + h) * Shape::head_dim + own.d);
      place[0] = make_float4(sums.values[h][0], sums.values[h][1], sums.values[h][2], sums.values[h][3]);
      place[1] = make_float4(sums.values[h][4], sums.values[h][5], sums.values[h][6], sums.values[h][7]);
    }
  }
  if (own.lane < Heads) {
    statistics[(warp * Heads + own.lane) * 2] = sums.largest;
    statistics[(warp * Heads + own.lane) * 2 + 1] = sums.weight;
  }
  __syncthreads();
}

// Grid: blocks along the chunks, KV heads * head_tiles, decoded tokens.
template <uint32_t Type, int Lanes, int Heads>
__device__ __forceinline__ void attention_decode(const AttentionDecodeArgs& args, const BlockIndex& block, const GridSize& grid,
                                                 AttentionDecodeShared<AttentionDecodeShape<Type, Lanes, Heads>>& shared) {
  using Shape = AttentionDecodeShape<Type, Lanes, Heads>;
  const uint32_t position = args.positions[block.z];
  const uint32_t sequence = args.sequences[block.z];
  const DecodePositions positions(position, args.window);
  if (block.x >= positions.n_chunks) return;
  const DecodeHeads<Heads> heads = {args, block};
  const uint32_t head_dim = args.cache.head_dim, padded = padded_head_dim(head_dim);
  const uint32_t* pages = args.page_table + uint64_t{sequence} * args.page_stride;
  const float* qkv = args.qkv + uint64_t{block.z} * args.qkv_stride;
  if (args.rotates) {
    // Who computes the last chunk writes the token's K and V, before it reads them.
    const bool caches = (positions.n_chunks - 1) % grid.x == block.x;
    rotate_queries<Type, Shape>(args, heads, position, caches, pages, qkv, shared.queries, shared.work);
  } else {
    copy_queries<Shape>(args, heads, qkv, shared.queries);
  }
  __syncthreads();

  const DecodeLane<Type, Lanes, Heads> own(args, positions, shared.queries, pages, shared.work, heads.kv_head());
  float* statistics = shared.work + Shape::warps * Shape::query_floats;
  const uint32_t partial_floats = Heads * (padded + 2);
  const auto slot = [&] { return block.z * grid.y + block.y; };
  const auto partials = [&] { return args.partials + uint64_t{slot()} * decode_most_chunks * partial_floats; };
  for (uint32_t c = block.x; c < positions.n_chunks; c += grid.x) {
    DecodeSums<Heads> sums;
    walk_chunk(own, positions.first + c * positions.chunk, min(positions.first + (c + 1) * positions.chunk, positions.end), sums);
    store_warp(own, sums, shared.work, statistics);
    if (positions.n_chunks == 1) {
      combine_warps<Shape::warps, Heads>(shared.work, statistics, Shape::head_dim, heads.count(), head_dim, true, heads.output(), head_dim, nullptr);
      return;
    }
    float* partial = partials() + c * partial_floats;
    combine_warps<Shape::warps, Heads>(shared.work, statistics, Shape::head_dim, heads.count(), head_dim, false, partial, padded, partial + Heads * padded);
    __syncthreads();  // the sums lie where the next chunk's weights go
  }
  // Whoever comes last adds the chunks.
  if (!is_last_block(args.counters + slot(), min(grid.x, positions.n_chunks), shared.is_last)) return;
  combine_chunks<Shape::warps, Heads>(partials(), positions.n_chunks, heads.count(), head_dim, padded, shared.work, heads.output());
}

template <uint32_t Type, int Lanes, int Heads>
__global__ void __launch_bounds__(AttentionDecodeShape<Type, Lanes, Heads>::warps * 32, 2) attention_decode_kernel(AttentionDecodeArgs args) {
  __shared__ AttentionDecodeShared<AttentionDecodeShape<Type, Lanes, Heads>> shared;
  attention_decode<Type, Lanes, Heads>(args, launched_block(), launched_grid(), shared);
}

}  // namespace m40::cuda

#endif
