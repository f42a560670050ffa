// Attention of decoded tokens, one a sequence: split along the positions (flash-decoding, Dao et al. 2023), with the
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

#include <math.h>
#include <stdint.h>

#include "../include/m40.h"
#include "../runtime/device.h"
#include "attention_combine.cuh"
#include "kv_cache.cuh"
#include "rope.cuh"

namespace m40::cuda {

struct AttentionArgsDecode {
  RopeParameters rope;  // of a fused launch
  bool rotates;         // q and k are rotated and K and V written here: the rope operation is fused
  CacheLayer cache;
  const float* qkv;     // row 0 is the first decoded token's
  uint32_t qkv_stride;
  float* output;
  uint32_t output_stride;
  const uint32_t* positions;
  const uint32_t* sequences;
  const uint32_t* page_table;
  uint32_t page_stride;
  uint32_t n_heads;
  uint32_t n_kv_heads;
  uint32_t group;       // query heads of a KV head
  uint32_t head_tiles;  // blocks that share a KV head's query heads
  uint32_t window;
  float scale;          // of base-2 logarithms where there is no cap
  float softcap;
  float* partials;      // [tokens][n_kv_heads * head_tiles][decode_most_chunks][heads][padded_head_dim + 2]
  uint32_t* counters;   // [tokens][n_kv_heads * head_tiles]
};

template <uint32_t Type, int Lanes, int Heads>
struct DecodeShape {
  static constexpr int rows = 32 / Lanes;                        // of K that a warp reads at a time
  static constexpr int batch = (Type == M40_TYPE_F32 ? 4 : 8) / (Heads == 2 || Heads == 4 || (Heads == 8 && Type == M40_TYPE_F32) ? 2 : 1);  // of those, in flight
  static constexpr int keys = rows * batch;                      // positions of a run
  static constexpr int part = Heads == 8 ? batch / 2 : Heads == 4 && (Type != M40_TYPE_F16 || Lanes == 8) ? 2 : batch;            // rows whose products are added together
  static constexpr bool holds_queries = Heads <= 2 || (Heads == 4 && Type == M40_TYPE_F16);  // in registers
  // Whether a run's rows are read while the run before is finished: where the registers for it do more good than queries.
  static constexpr bool reads_ahead = !holds_queries;
  static constexpr int head_dim = Lanes * 8;                     // at most
  static constexpr int warps = Heads >= 8 || Heads * head_dim >= 2048 ? 4 : 8;  // of a block
  static constexpr int score_floats = keys * Heads + Heads;      // a warp: weights [keys][Heads], shrinks [Heads]
  static constexpr int query_floats = Heads * head_dim;
  // Warps' sums at the end of a chunk: [warps][Heads][head_dim], then largest and sum [warps][Heads][2].
  static constexpr int sum_floats = warps * Heads * (head_dim + 2);
  static constexpr int work_floats = sum_floats > warps * score_floats ? sum_floats : warps * score_floats;
};

// Grid: blocks along the chunks, KV heads * head_tiles, decoded tokens.
template <uint32_t Type, int Lanes, int Heads>
__global__ void __launch_bounds__(DecodeShape<Type, Lanes, Heads>::warps * 32, 2) attention_decode_kernel(AttentionArgsDecode args) {
  using Shape = DecodeShape<Type, Lanes, Heads>;
  constexpr int rows = Shape::rows;
  constexpr int batch = Shape::batch;
  constexpr int keys = Shape::keys;
  constexpr int part = Shape::part;
  constexpr int warps = Shape::warps;
  __shared__ __align__(16) float queries[Shape::query_floats];
  __shared__ __align__(16) float work[Shape::work_floats];
  __shared__ uint32_t is_last;

  const uint32_t position = args.positions[blockIdx.z];
  const uint32_t sequence = args.sequences[blockIdx.z];
  const uint32_t end = position + 1;
  const uint32_t start = args.window != 0 && args.window < end ? end - args.window : 0;
  const uint32_t first = start / decode_chunk * decode_chunk;
  const uint32_t chunk = chunk_positions(end - first);
  const uint32_t n_chunks = (end - first + chunk - 1) / chunk;
  if (blockIdx.x >= n_chunks) return;

  const uint32_t kv_head = blockIdx.y / args.head_tiles;
  // Computed where they are needed, for want of registers.
  const auto tile = [&] { return blockIdx.y % args.head_tiles; };
  const auto first_head = [&] { return blockIdx.y / args.head_tiles * args.group + tile() * Heads; };
  const auto n_heads = [&] { return min(static_cast<uint32_t>(Heads), args.group - tile() * Heads); };
  const uint32_t warp = threadIdx.x / 32;
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t padded = padded_head_dim(args.cache.head_dim);
  const uint32_t* pages = args.page_table + uint64_t{sequence} * args.page_stride;
  const float* qkv = args.qkv + uint64_t{blockIdx.z} * args.qkv_stride;

  // The queries, with zeros where there is no head and beyond args.cache.head_dim.
  if (args.rotates) {
    float* table = work;                         // [rope_dim]
    float* rotated = work + args.rope.rope_dim;  // K or V, a warp: [args.cache.head_dim] each
    rope_table(args.rope, position, table, threadIdx.x, static_cast<uint32_t>(warps) * 32);
    for (uint32_t i = threadIdx.x; i < static_cast<uint32_t>(Shape::query_floats); i += static_cast<uint32_t>(warps) * 32) queries[i] = 0;
    __syncthreads();
    for (uint32_t h = warp; h < n_heads(); h += static_cast<uint32_t>(warps)) {
      rotate_head(args.rope, args.rope.q_norm, qkv + (first_head() + h) * args.cache.head_dim, queries + h * Shape::head_dim, table, lane);
    }
    // Who computes the last chunk writes the token's K and V, before it reads them.
    if ((n_chunks - 1) % gridDim.x == blockIdx.x && warp >= static_cast<uint32_t>(warps) - 2) {
      const bool is_value = warp == static_cast<uint32_t>(warps) - 1;
      const float* input = qkv + (args.n_heads + kv_head + (is_value ? args.n_kv_heads : 0)) * args.cache.head_dim;
      if (!is_value) {
        rotate_head(args.rope, args.rope.k_norm, input, rotated, table, lane);
        input = rotated;
      }
      uint8_t* region = args.cache.keys + pages[position >> args.cache.page_shift] * args.cache.page_bytes + (is_value ? args.cache.values : 0);
      store_head<Type>(args.cache, region, cache_row(args.cache, kv_head, position), input, lane);
      __threadfence_block();
    }
  } else {
    for (uint32_t i = threadIdx.x; i < static_cast<uint32_t>(Shape::query_floats); i += static_cast<uint32_t>(warps) * 32) {
      const uint32_t h = i / Shape::head_dim;
      const uint32_t d = i % Shape::head_dim;
      queries[i] = h < n_heads() && d < args.cache.head_dim ? qkv[(first_head() + h) * args.cache.head_dim + d] : 0;
    }
  }
  __syncthreads();

  const uint32_t row_of_lane = lane / Lanes;
  const uint32_t d_of_lane = lane % Lanes * 8;
  // Lanes beyond the row read its start: their queries are 0.
  const uint32_t d_read = d_of_lane < padded ? d_of_lane : 0;
  float q[Shape::holds_queries ? Heads : 1][8];
  if constexpr (Shape::holds_queries) {
#pragma unroll
    for (int h = 0; h < Heads; h++) {
#pragma unroll
      for (int i = 0; i < 8; i++) q[h][i] = queries[h * Shape::head_dim + d_of_lane + i];
    }
  }
  float* weights = work + warp * Shape::score_floats;
  float* shrinks = weights + keys * Heads;
  float* statistics = work + warps * Shape::query_floats;
  const uint32_t run_keys = min(static_cast<uint32_t>(keys), args.cache.page_tokens);  // a run is inside a page
  const uint32_t partial_floats = Heads * (padded + 2);
  const auto slot = [&] { return blockIdx.z * gridDim.y + blockIdx.y; };
  const auto partials = [&] { return args.partials + uint64_t{slot()} * decode_most_chunks * partial_floats; };

  for (uint32_t c = blockIdx.x; c < n_chunks; c += gridDim.x) {
    const uint32_t chunk_end = min(first + (c + 1) * chunk, end);
    float sums[Heads][8];
#pragma unroll
    for (int h = 0; h < Heads; h++) {
#pragma unroll
      for (int i = 0; i < 8; i++) sums[h][i] = 0;
    }
    float largest = -INFINITY;  // of head lane % Heads; the same in all its lanes
    float sum = 0;              // of this lane's weights

    KvValues<Type> k[batch];
    KvValues<Type> v[batch];
    // visit(u, row, scales of the row) for the rows of K that this lane reads in a run. Positions that are not attended to
    // read the row of one that is. Rows of V are args.cache.values behind.
    const auto for_each_row = [&](uint32_t run, const uint8_t* page, const auto& visit) {
      const uint32_t row = cache_row(args.cache, kv_head, run);
      const uint32_t least = max(start, run) - run;
      const uint32_t most = min(run_keys, end - run) - 1;
      const uint8_t* at = page + row * args.cache.row_bytes;
      const uint8_t* scales = page + args.cache.scales + row * args.cache.scale_row_bytes;
      uint32_t offset = row_of_lane * args.cache.row_bytes;
      uint32_t scale_offset = row_of_lane * args.cache.scale_row_bytes;
#pragma unroll
      for (int u = 0; u < batch; u++) {
        const uint32_t here = max(min(offset, most * args.cache.row_bytes), least * args.cache.row_bytes);
        const uint32_t scales_here = max(min(scale_offset, most * args.cache.scale_row_bytes), least * args.cache.scale_row_bytes);
        visit(u, at + here, scales + scales_here);
        offset += rows * args.cache.row_bytes;
        scale_offset += rows * args.cache.scale_row_bytes;
      }
    };
    const auto load_keys = [&](uint32_t run, const uint8_t* page) {
      for_each_row(run, page, [&](int u, const uint8_t* row, const uint8_t* scales) { k[u].load(row, scales, d_read); });
    };
    const auto load_values = [&](uint32_t run, const uint8_t* page) {
      for_each_row(run, page, [&](int u, const uint8_t* row, const uint8_t* scales) { v[u].load(row + args.cache.values, scales + args.cache.values, d_read); });
    };
    const auto page_of = [&](uint32_t run) { return args.cache.keys + pages[run >> args.cache.page_shift] * args.cache.page_bytes; };
    const uint32_t stride = warps * run_keys;
    uint32_t run = first + c * chunk + warp * run_keys;
    // Runs before the window are passed over: their pages may be another sequence's by now.
    while (run + run_keys <= start) run += stride;
    const uint8_t* page = nullptr;
    if (Shape::reads_ahead && run < chunk_end) {
      page = page_of(run);
      load_keys(run, page);
      load_values(run, page);
    }
    while (run < chunk_end) {
      const uint32_t next = run + stride;
      if (!Shape::reads_ahead) {
        for_each_row(run, page_of(run), [&](int u, const uint8_t* row, const uint8_t* scales) {
          k[u].load(row, scales, d_read);
          v[u].load(row + args.cache.values, scales + args.cache.values, d_read);
        });
      } else if (next < chunk_end) {
        page = page_of(next);
      }
#pragma unroll
      for (int p = 0; p < batch / part; p++) {
        float products[part * Heads];  // [part][Heads]
        if constexpr (Shape::holds_queries) {
#pragma unroll
          for (int u = 0; u < part; u++) {
            float values[8];
            k[p * part + u].floats(values);
#pragma unroll
            for (int h = 0; h < Heads; h++) {
              float product = __fmul_rn(q[h][0], values[0]);
#pragma unroll
              for (int i = 1; i < 8; i++) product = __fmaf_rn(q[h][i], values[i], product);
              products[u * Heads + h] = KvValues<Type>::scaled ? __fmul_rn(product, k[p * part + u].scale()) : product;
            }
          }
        } else {
          float values[part][8];
#pragma unroll
          for (int u = 0; u < part; u++) k[p * part + u].floats(values[u]);
#pragma unroll
          for (int h = 0; h < Heads; h++) {
            const float4 low = *reinterpret_cast<const float4*>(&queries[h * Shape::head_dim + d_of_lane]);
            const float4 high = *reinterpret_cast<const float4*>(&queries[h * Shape::head_dim + d_of_lane + 4]);
            const float query[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
            for (int u = 0; u < part; u++) {
              float product = __fmul_rn(query[0], values[u][0]);
#pragma unroll
              for (int i = 1; i < 8; i++) product = __fmaf_rn(query[i], values[u][i], product);
              products[u * Heads + h] = KvValues<Type>::scaled ? __fmul_rn(product, k[p * part + u].scale()) : product;
            }
          }
        }
        constexpr int n = part * Heads;
        spread_sums<n, Lanes / 2>(products, lane);
        // Sum i of the part went to the lanes whose bits are i's highest.
        constexpr int left = n >= Lanes ? n / Lanes : 1;
        constexpr int copies = n >= Lanes ? 1 : Lanes / n;
        const uint32_t owner = lane % Lanes / copies;
        if (lane % copies == 0) {
#pragma unroll
          for (int i = 0; i < left; i++) {
            const uint32_t index = owner * left + i;
            const uint32_t u = p * part + index / Heads;
            weights[(u * rows + row_of_lane) * Heads + index % Heads] = products[i];
          }
        }
      }
      __syncwarp();

      // On its way while this run is finished.
      if (Shape::reads_ahead && next < chunk_end) load_keys(next, page);
      constexpr int entries = keys * Heads;
      constexpr int per_lane = (entries + 31) / 32;
      float scores[per_lane];
      float now = largest;
#pragma unroll
      for (int i = 0; i < per_lane; i++) {
        const uint32_t entry = i * 32 + lane;
        const uint32_t at = run + entry / Heads;
        const bool attended = entry < run_keys * Heads && at >= start && at < end;
        scores[i] = attended ? attention_score(weights[entry], args.scale, args.softcap) : -INFINITY;
        now = fmaxf(now, scores[i]);
      }
#pragma unroll
      for (int offset = 16; offset >= Heads; offset /= 2) now = fmaxf(now, __shfl_xor_sync(~0u, now, offset));
      const float shrink = attention_shrink(largest, now);
      largest = now;
      sum = __fmul_rn(sum, shrink);
#pragma unroll
      for (int i = 0; i < per_lane; i++) {
        const uint32_t entry = i * 32 + lane;
        const float weight = attention_weight(scores[i], now);
        sum = __fadd_rn(sum, weight);
        if (entry < static_cast<uint32_t>(entries)) weights[entry] = weight;
      }
      if (lane < Heads) shrinks[lane] = shrink;
      __syncwarp();

#pragma unroll
      for (int h = 0; h < Heads; h++) {
        const float factor = shrinks[h];
#pragma unroll
        for (int i = 0; i < 8; i++) sums[h][i] = __fmul_rn(sums[h][i], factor);
      }
#pragma unroll
      for (int u = 0; u < batch; u++) {
        float values[8];
        v[u].floats(values);
        const float scale = v[u].scale();
        const float* weight_of_key = weights + (u * rows + row_of_lane) * Heads;
#pragma unroll
        for (int h = 0; h < Heads; h++) {
          const float weight = KvValues<Type>::scaled ? __fmul_rn(weight_of_key[h], scale) : weight_of_key[h];
#pragma unroll
          for (int i = 0; i < 8; i++) sums[h][i] = __fmaf_rn(weight, values[i], sums[h][i]);
        }
      }
      if (Shape::reads_ahead && next < chunk_end) load_values(next, page);
      run = next;
      __syncwarp();
    }

    // Rows of the warp, then warps.
#pragma unroll
    for (int offset = Lanes; offset < 32; offset *= 2) {
#pragma unroll
      for (int h = 0; h < Heads; h++) {
#pragma unroll
        for (int i = 0; i < 8; i++) sums[h][i] = __fadd_rn(sums[h][i], __shfl_xor_sync(~0u, sums[h][i], offset));
      }
    }
#pragma unroll
    for (int offset = 16; offset >= Heads; offset /= 2) sum = __fadd_rn(sum, __shfl_xor_sync(~0u, sum, offset));
    __syncthreads();  // weights lie where the sums go
    if (row_of_lane == 0) {
#pragma unroll
      for (int h = 0; h < Heads; h++) {
        float4* place = reinterpret_cast<float4*>(work + (warp * Heads + h) * Shape::head_dim + d_of_lane);
        place[0] = make_float4(sums[h][0], sums[h][1], sums[h][2], sums[h][3]);
        place[1] = make_float4(sums[h][4], sums[h][5], sums[h][6], sums[h][7]);
      }
    }
    if (lane < Heads) {
      statistics[(warp * Heads + lane) * 2] = largest;
      statistics[(warp * Heads + lane) * 2 + 1] = sum;
    }
    __syncthreads();
    if (n_chunks == 1) {
      float* output = args.output + uint64_t{blockIdx.z} * args.output_stride + uint64_t{first_head()} * args.cache.head_dim;
      combine_warps<warps, Heads>(work, statistics, Shape::head_dim, n_heads(), args.cache.head_dim, true, output, args.cache.head_dim, nullptr);
      return;
    }
    float* partial = partials() + c * partial_floats;
    combine_warps<warps, Heads>(work, statistics, Shape::head_dim, n_heads(), args.cache.head_dim, false, partial, padded, partial + Heads * padded);
    __syncthreads();  // the sums lie where the next chunk's weights go
  }

  // Whoever comes last adds the chunks.
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    const uint32_t n_blocks = min(gridDim.x, n_chunks);
    const uint32_t before = atomicAdd(args.counters + slot(), 1u);
    is_last = before == n_blocks - 1;
    if (is_last) args.counters[slot()] = 0;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  float* output = args.output + uint64_t{blockIdx.z} * args.output_stride + uint64_t{first_head()} * args.cache.head_dim;
  combine_chunks<warps, Heads>(partials(), n_chunks, n_heads(), args.cache.head_dim, padded, work, output);
}

}  // namespace m40::cuda

#endif
