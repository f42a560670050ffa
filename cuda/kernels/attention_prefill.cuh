// Attention of prompts' chunks: tiles of queries against tiles of positions with a running softmax (Milakov and
// Gimelshein 2018, Dao et al. 2022), in FP32.
//
// A tile's rows are the query heads of one KV head of consecutive tokens, so that K and V are staged once for all of
// them and short chunks fill a tile too. Positions go in tiles of 64 that start at multiples of 64, from the first
// on, and the tiles in spans (attention_spans.cuh): a row's result depends on its own query and position only, however
// the prompt was cut. The spans of a short chunk, which has few tiles, are shared among thread blocks; the last of them
// to finish adds what they left in scratch.
#ifndef M40_KERNELS_ATTENTION_PREFILL_CUH
#define M40_KERNELS_ATTENTION_PREFILL_CUH

#include "attention_prefill_args.cuh"
#include "attention_spans.cuh"

namespace m40::cuda {

// Grid: tiles of tokens (the last first: it has the most to do), KV heads * head_tiles, shares of the spans.
template <uint32_t Type, int Rows, int Groups>
__global__ void __launch_bounds__(attention_prefill_threads, 2) attention_prefill_kernel(AttentionPrefillArgs args) {
  using Shape = AttentionPrefillShape<Rows, Groups>;
  constexpr uint32_t rows = Shape::rows;
  __shared__ __align__(16) float stages[2][Shape::stage_floats];
  __shared__ __align__(16) float weights[attention_prefill_keys * rows];  // [position][row]
  __shared__ uint32_t queries[rows];                            // elements from args.qkv to a row's query, or to another's
  __shared__ uint2 bounds[rows];                                // the positions that a row attends to: from x to before y
  __shared__ float2 running[rows];                              // of a span, a row's largest score, and its sum of weights
  // Bytes from page 0's K to the rows of a tile's positions, and to their scales.
  // Of this tile and of the next, in turn.
  __shared__ uint64_t places[2][attention_prefill_keys];
  __shared__ uint64_t scale_places[2][KvValues<Type>::scaled ? attention_prefill_keys : 1];
  __shared__ struct {
    uint32_t sequence;
    uint32_t begin, end;  // positions that are read: from begin to before end
    uint32_t next;        // the next segment's first token
  } segment_of_tile;
  __shared__ bool is_last;

  const uint32_t thread = threadIdx.x;
  const uint32_t x = thread % 16;
  const uint32_t y = thread / 16;
  // Computed where they are needed, for want of registers.
  const auto head_dim = [&] { return args.cache.head_dim; };
  const auto padded = [&] { return padded_head_dim(args.cache.head_dim); };
  const auto kv_head = [&] { return blockIdx.y / args.head_tiles; };
  const auto first_in_group = [&] { return blockIdx.y % args.head_tiles * args.tile_heads; };
  const auto first_head = [&] { return kv_head() * args.group + first_in_group(); };
  const auto n_heads = [&] { return min(args.tile_heads, args.group - first_in_group()); };
  const auto first_token = [&] { return (gridDim.x - 1 - blockIdx.x) * args.tile_tokens; };
  const auto end_token = [&] { return min(first_token() + args.tile_tokens, args.n_tokens); };

  const uint32_t staged_d = thread / rows * Shape::query_values;  // of the queries
  if (thread < rows) {
    const uint32_t token = first_token() + thread / args.tile_heads;
    const uint32_t head = thread % args.tile_heads;
    const bool is_row = token < end_token() && head < n_heads();
    queries[thread] = (is_row ? token : first_token()) * args.qkv_stride + (first_head() + (is_row ? head : 0)) * head_dim();
  }
  // The position of a tile that it stages of K.
  const uint32_t staged_key = thread % attention_prefill_keys;
  const uint32_t key_d = thread / attention_prefill_keys * 8;

  const auto slot_of = [&](uint32_t i) {
    return args.partials + ((blockIdx.y * gridDim.x + blockIdx.x) * args.tile_slots + i) * uint64_t{Shape::slot_floats};
  };
  const auto begin_segment = [&](uint32_t segment) {
    __syncthreads();  // the segment before may still read what is written now
    if (thread == 0) {
      uint32_t next = segment + 1;
      while (next < end_token() && args.sequences[next] == args.sequences[segment]) next++;
      const uint32_t least = args.positions[segment] + 1;
      segment_of_tile = {args.sequences[segment], args.window != 0 && args.window < least ? least - args.window : 0, args.positions[next - 1] + 1, next};
    }
    __syncthreads();
    if (thread < rows) {
      const uint32_t token = first_token() + thread / args.tile_heads;
      const bool attends = token >= segment && token < segment_of_tile.next && thread % args.tile_heads < n_heads();
      const uint32_t row_end = attends ? args.positions[token] + 1 : 0;
      bounds[thread] = make_uint2(args.window != 0 && args.window < row_end ? row_end - args.window : 0, row_end);
      running[thread] = make_float2(-INFINITY, 0);
    }
    __syncthreads();
  };
  const auto write_row = [&](int r, const float (&sums)[4 * Groups], float total) {
    const uint32_t row = y * Rows + r;
    if (bounds[row].y == 0) return;
    float* output = args.output + uint64_t{first_token() + row / args.tile_heads} * args.output_stride +
                    uint64_t{first_head() + row % args.tile_heads} * head_dim();
#pragma unroll
    for (int i = 0; i < 4 * Groups; i++) {
      const uint32_t d = i / 4 * 64 + x * 4 + i % 4;
      if (d < head_dim()) output[d] = __fdiv_rn(sums[i], total);
    }
  };

  // Each sequence with tokens in the tile by itself: what one has that is not a number must not reach another.
  for (uint32_t segment = first_token(); segment < end_token(); segment = segment_of_tile.next) {
    begin_segment(segment);
    const SpanShare share(segment_of_tile.begin, segment_of_tile.end, args.span, blockIdx.z, gridDim.z);
    if (share.from == share.to) continue;
    const uint32_t range_end = min(segment_of_tile.end, share.to * args.span);
    float sums[Rows][4 * Groups];
#pragma unroll
    for (int r = 0; r < Rows; r++) {
#pragma unroll
      for (int i = 0; i < 4 * Groups; i++) sums[r][i] = 0;
    }
    // A span is done: its sums go to a slot of its own, or are added to those before it, which lie in the tile's.
    const auto end_span = [&](uint32_t span) {
      const bool adds = gridDim.z == 1 && span != share.first;
      float* const slot = slot_of(gridDim.z == 1 ? 0 : span - share.first);
#pragma unroll
      for (int r = 0; r < Rows; r++) {
        const uint32_t row = y * Rows + r;
        const bool is_row = bounds[row].y != 0;
        const SpanFold fold(adds && is_row ? __ldcg(slot_statistics(slot, row)) : make_float2(-INFINITY, 0), running[row]);
        if (is_row) {
          float* const at = slot_sums(slot, rows, r, 4 * Groups);
#pragma unroll
          for (int i = 0; i < 4 * Groups; i++) at[i * attention_prefill_threads] = adds ? fold.sums(__ldcg(at + i * attention_prefill_threads), sums[r][i]) : sums[r][i];
        }
        __syncwarp();
        if (x == 0) {
          if (is_row) *slot_statistics(slot, row) = fold.both;
          running[row] = make_float2(-INFINITY, 0);
        }
#pragma unroll
        for (int i = 0; i < 4 * Groups; i++) sums[r][i] = 0;
      }
      __syncwarp();
    };

    // What a thread holds on its way from memory to a stage.
    float query_values[Shape::query_values];
    KvValues<Type> key_values;
    KvValues<Type> values[Shape::value_loads];
    key_values.clear();
#pragma unroll
    for (int i = 0; i < Shape::value_loads; i++) values[i].clear();
    const auto find_keys = [&](uint32_t first_key) {
      if (thread >= attention_prefill_keys) return;
      const uint32_t at = first_key + thread;
      const uint32_t tile = first_key / attention_prefill_keys % 2;
      const bool is_read = at >= segment_of_tile.begin && at < segment_of_tile.end;
      const uint32_t* pages = args.page_table + uint64_t{segment_of_tile.sequence} * args.page_stride;
      const uint64_t page = is_read ? pages[at >> args.cache.page_shift] * args.cache.page_bytes : 0;
      const uint32_t row = cache_row(args.cache, kv_head(), at);
      places[tile][thread] = is_read ? page + row * args.cache.row_bytes : not_read;
      if (KvValues<Type>::scaled) scale_places[tile][thread] = page + args.cache.scales + row * args.cache.scale_row_bytes;
    };
    const auto load_product = [&](uint32_t slice, uint32_t tile) {
      const uint32_t d = slice * attention_prefill_slice + staged_d;
      const float* query = args.qkv + queries[thread % rows];
#pragma unroll
      for (int i = 0; i < Shape::query_values; i += 4) {
        if (args.aligned && d + i + 4 <= head_dim()) {
          const float4 four = *reinterpret_cast<const float4*>(query + d + i);
          query_values[i] = four.x;
          query_values[i + 1] = four.y;
          query_values[i + 2] = four.z;
          query_values[i + 3] = four.w;
        } else {
#pragma unroll
          for (int j = 0; j < 4; j++) query_values[i + j] = d + i + j < head_dim() ? query[d + i + j] : 0;
        }
      }
      const uint32_t kd = slice * attention_prefill_slice + key_d;
      const uint64_t place = places[tile][staged_key];
      if (place != not_read && kd < padded()) {
        key_values.load(args.cache.keys + place, args.cache.keys + (KvValues<Type>::scaled ? scale_places[tile][staged_key] : 0), kd);
      } else {
        key_values.clear();
      }
    };
    const auto store_product = [&](float* stage) {
#pragma unroll
      for (int i = 0; i < Shape::query_values; i++) stage[(staged_d + i) * rows + thread % rows] = query_values[i];
      float k[8];
      key_values.floats(k);
      const float scale = key_values.scale();
      float* place = stage + attention_prefill_slice * rows + key_d * attention_prefill_keys + staged_key;
#pragma unroll
      for (int i = 0; i < 8; i++) place[i * attention_prefill_keys] = KvValues<Type>::scaled ? __fmul_rn(k[i], scale) : k[i];
    };
    constexpr uint32_t value_columns = Shape::head_dim / 8;  // threads that stage a row of V
    const uint32_t value_d = thread % value_columns * 8;
    const auto load_values = [&](uint32_t slice, uint32_t tile) {
#pragma unroll
      for (int i = 0; i < Shape::value_loads; i++) {
        const uint32_t key = slice * attention_prefill_slice + thread / value_columns + i * (attention_prefill_threads / value_columns);
        const uint64_t place = places[tile][key];
        if (place != not_read && value_d < padded()) {
          const uint8_t* region = args.cache.keys + args.cache.values;
          values[i].load(region + place, region + (KvValues<Type>::scaled ? scale_places[tile][key] : 0), value_d);
        } else {
          values[i].clear();
        }
      }
    };
    const auto store_values = [&](float* stage) {
#pragma unroll
      for (int i = 0; i < Shape::value_loads; i++) {
        const uint32_t key = thread / value_columns + i * (attention_prefill_threads / value_columns);
        float v[8];
        values[i].floats(v);
        if (KvValues<Type>::scaled) {
          const float scale = values[i].scale();
#pragma unroll
          for (int j = 0; j < 8; j++) v[j] = __fmul_rn(v[j], scale);
        }
        float4* place = reinterpret_cast<float4*>(stage + key * Shape::head_dim + value_d);
        place[0] = make_float4(v[0], v[1], v[2], v[3]);
        place[1] = make_float4(v[4], v[5], v[6], v[7]);
      }
    };

    uint32_t stage = 0;
    uint32_t first_key = max(segment_of_tile.begin, share.from * args.span) / attention_prefill_keys * attention_prefill_keys;
    find_keys(first_key);
    __syncthreads();
    load_product(0, first_key / attention_prefill_keys % 2);
    store_product(stages[stage]);
    __syncthreads();
    for (uint32_t first_of_span = first_key; first_key < range_end; first_key += attention_prefill_keys) {
      if (first_key % args.span == 0 && first_key != first_of_span) {
        end_span(first_of_span / args.span);
        first_of_span = first_key;
      }
      const uint32_t tile = first_key / attention_prefill_keys % 2;
      float scores[Rows][4];
#pragma unroll
      for (int r = 0; r < Rows; r++) {
#pragma unroll
        for (int i = 0; i < 4; i++) scores[r][i] = 0;
      }
#pragma unroll 1
      for (uint32_t slice = 0; slice * attention_prefill_slice < padded(); slice++) {
        if ((slice + 1) * attention_prefill_slice < padded()) {
          load_product(slice + 1, tile);
        } else {
          load_values(0, tile);
        }
        const float* q = stages[stage] + y * Rows;
        const float* k = stages[stage] + attention_prefill_slice * rows + x * 4;
#pragma unroll
        for (uint32_t d = 0; d < attention_prefill_slice; d++) {
          float a[Rows];
#pragma unroll
          for (int r = 0; r < Rows; r += 4) {
            const float4 four = *reinterpret_cast<const float4*>(q + d * rows + r);
            a[r] = four.x;
            a[r + 1] = four.y;
            a[r + 2] = four.z;
            a[r + 3] = four.w;
          }
          const float4 b = *reinterpret_cast<const float4*>(k + d * attention_prefill_keys);
#pragma unroll
          for (int r = 0; r < Rows; r++) {
            scores[r][0] = __fmaf_rn(a[r], b.x, scores[r][0]);
            scores[r][1] = __fmaf_rn(a[r], b.y, scores[r][1]);
            scores[r][2] = __fmaf_rn(a[r], b.z, scores[r][2]);
            scores[r][3] = __fmaf_rn(a[r], b.w, scores[r][3]);
          }
        }
        stage ^= 1;
        if ((slice + 1) * attention_prefill_slice < padded()) {
          store_product(stages[stage]);
        } else {
          store_values(stages[stage]);
        }
        __syncthreads();
      }

      // The running softmax: a row's 64 scores are in 16 lanes.
#pragma unroll
      for (int r = 0; r < Rows; r++) {
        const uint2 bound = bounds[y * Rows + r];
        const float2 before = running[y * Rows + r];
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
        if (x == 0) running[y * Rows + r] = make_float2(now, __fmaf_rn(before.y, shrink, added));
#pragma unroll
        for (int i = 0; i < 4 * Groups; i++) sums[r][i] = __fmul_rn(sums[r][i], shrink);
      }
#pragma unroll
      for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int r = 0; r < Rows; r += 4) {
          *reinterpret_cast<float4*>(weights + (x * 4 + i) * rows + y * Rows + r) =
              make_float4(scores[r][i], scores[r + 1][i], scores[r + 2][i], scores[r + 3][i]);
        }
      }
      __syncthreads();

      constexpr uint32_t value_slices = attention_prefill_keys / attention_prefill_slice;
#pragma unroll 1
      for (uint32_t slice = 0; slice < value_slices; slice++) {
        const bool goes_on = slice + 1 == value_slices && first_key + attention_prefill_keys < range_end;
        if (slice + 1 < value_slices) {
          load_values(slice + 1, tile);
        } else if (goes_on) {
          load_product(0, tile ^ 1);
        }
        const float* w = weights + slice * attention_prefill_slice * rows + y * Rows;
        const float* v = stages[stage] + x * 4;
#pragma unroll
        for (uint32_t key = 0; key < attention_prefill_slice; key++) {
          float a[Rows];
#pragma unroll
          for (int r = 0; r < Rows; r += 4) {
            const float4 four = *reinterpret_cast<const float4*>(w + key * rows + r);
            a[r] = four.x;
            a[r + 1] = four.y;
            a[r + 2] = four.z;
            a[r + 3] = four.w;
          }
#pragma unroll
          for (int g = 0; g < Groups; g++) {
            const float4 b = *reinterpret_cast<const float4*>(v + key * Shape::head_dim + g * 64);
#pragma unroll
            for (int r = 0; r < Rows; r++) {
              sums[r][g * 4] = __fmaf_rn(a[r], b.x, sums[r][g * 4]);
              sums[r][g * 4 + 1] = __fmaf_rn(a[r], b.y, sums[r][g * 4 + 1]);
              sums[r][g * 4 + 2] = __fmaf_rn(a[r], b.z, sums[r][g * 4 + 2]);
              sums[r][g * 4 + 3] = __fmaf_rn(a[r], b.w, sums[r][g * 4 + 3]);
            }
          }
        }
        stage ^= 1;
        if (slice + 1 < value_slices) {
          store_values(stages[stage]);
        } else if (goes_on) {
          store_product(stages[stage]);
        }
        if (slice == 0) find_keys(first_key + attention_prefill_keys);
        __syncthreads();
      }
    }

    if (share.n_spans > 1) {
      end_span(share.to - 1);
      if (gridDim.z > 1) continue;
    }
#pragma unroll
    for (int r = 0; r < Rows; r++) {
      float weight = running[y * Rows + r].y;
      if (share.n_spans > 1) {
        load_sums(slot_of(0), rows, r, sums[r]);
        weight = __ldcg(slot_statistics(slot_of(0), y * Rows + r)).y;
      }
      write_row(r, sums[r], weight);
    }
  }
  if (gridDim.z == 1) return;

  // The last share of a tile to get here adds the spans.
  __threadfence();
  __syncthreads();
  if (thread == 0) {
    uint32_t* const counter = args.counters + blockIdx.y * gridDim.x + blockIdx.x;
    is_last = atomicAdd(counter, 1u) == gridDim.z - 1;
    if (is_last) *counter = 0;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  for (uint32_t segment = first_token(); segment < end_token(); segment = segment_of_tile.next) {
    begin_segment(segment);
    const SpanShare all(segment_of_tile.begin, segment_of_tile.end, args.span, 0, 1);
    if (all.n_spans == 1) continue;
    float sums[Rows][4 * Groups], weights_of_rows[Rows];
    add_spans(slot_of(0), Shape::slot_floats, rows, all.n_spans, y * Rows, sums, weights_of_rows);
#pragma unroll
    for (int r = 0; r < Rows; r++) write_row(r, sums[r], weights_of_rows[r]);
  }
}

}  // namespace m40::cuda

#endif
