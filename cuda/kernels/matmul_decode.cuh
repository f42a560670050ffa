// Products of few tokens with packed weights: decode.
//
// Lanes are rows. A warp owns 32 * R rows and T tokens over a part of the columns, and walks them alone: it turns 32
// quants a row into floats and multiplies each with every token's activation, read from shared memory by broadcast. The
// columns of a weight are cut into parts, eight to a split; how many splits there are follows from the weight's shape
// alone. An output is summed in one order whatever the kernel, T, R and the number of tokens are: over each part from
// its first column to its last, then the eight parts of a split, then the splits.
//
// Two kernels differ in who does the parts. `narrow`, for one or two tokens: a thread block does all parts of its rows,
// a warp several that follow each other, with loads under way for the next D loads of quants. `wide`: a thread block
// does the parts of one split; the last block of a set of rows to finish adds the splits' sums, which lie in scratch.
#ifndef M40_KERNELS_MATMUL_DECODE_CUH
#define M40_KERNELS_MATMUL_DECODE_CUH

#include "formats.cuh"

namespace m40::cuda {

constexpr uint32_t decode_split_parts = 8;
constexpr uint32_t decode_max_splits = 8;

// Splits of the columns of a weight.
__host__ __device__ inline uint32_t decode_splits(uint32_t rows, uint32_t columns) {
  const uint32_t groups = (rows + 31) / 32;
  const uint32_t wanted = (448 + groups - 1) / groups;                      // enough warps for any card
  const uint32_t most = packed_blocks(columns) / (decode_split_parts * 2);  // a part has two blocks at least
  const uint32_t splits = wanted < most ? wanted : most;
  // An even number above one: then sixteen warps can share the parts of a thread block evenly.
  return splits < 2 ? 1 : splits > decode_max_splits ? decode_max_splits : splits / 2 * 2;
}

struct DecodeWeight {
  PackedWeight weight;
  const float* bias;  // or nullptr
  uint32_t output_column;
  uint32_t splits;
  uint32_t first_block;    // of the launch's thread blocks
  uint32_t first_counter;  // wide: of its row sets and token blocks, where splits > 1
  uint64_t partials;       // wide: where its partial sums start in scratch, in floats
};

struct DecodeArgs {
  const float* input;
  uint32_t input_stride;
  float* output;
  uint32_t output_stride;
  const float* residual;  // or nullptr
  uint32_t n_tokens;
  uint32_t columns;
  uint32_t n_weights;
  DecodeWeight weights[3];
  float* partials;     // wide: [splits][tokens][rows] of each weight
  uint32_t* counters;  // wide: 0 before and after
};

__device__ __forceinline__ const DecodeWeight& decode_weight_of(const DecodeArgs& args) {
  int which = 0;
  if (args.n_weights > 1 && blockIdx.x >= args.weights[1].first_block) which = 1;
  if (args.n_weights > 2 && blockIdx.x >= args.weights[2].first_block) which = 2;
  return args.weights[which];
}

__device__ __forceinline__ void decode_finish(const DecodeArgs& args, const DecodeWeight& w, uint32_t row, uint32_t token, float value) {
  const size_t at = size_t{token} * args.output_stride + w.output_column + row;
  if (w.bias != nullptr) value += __ldg(w.bias + row);
  if (args.residual != nullptr) value += args.residual[at];
  args.output[at] = value;
}

// The first block of a part.
__device__ __forceinline__ uint32_t part_start(uint32_t n_blocks, uint32_t part, uint32_t n_parts) {
  return static_cast<uint32_t>(uint64_t{n_blocks} * part / n_parts);
}

// Floats of shared memory that a warp needs to walk.
template <uint32_t kType, int T, int R>
__host__ __device__ constexpr int walk_floats() {
  return 2 * T * 32 + Format<kType>::kSuperWords * R * 32;
}

// acc[r][t] += blocks [block, end) of rows row + 32 r times the activations of T tokens from first_token on, with D loads
// of quants under way. done(block) is called after each block with the number of the next; it may take acc and clear it.
template <uint32_t kType, int T, int R, int D, class Done>
__device__ __forceinline__ void decode_walk(const DecodeArgs& args, const PackedWeight& weight, uint32_t row, uint32_t first_token, uint32_t block,
                                            uint32_t end, float* shared, float (&acc)[R][T], const Done& done) {
  using F = Format<kType>;
  constexpr int U = D > F::kLoads ? D / F::kLoads : 1;                // blocks that activations and scales are loaded ahead
  constexpr int kRefill = D == 1 && F::kColumns > 8 ? F::kColumns - 8 : 0;  // column at which the next load starts
  constexpr bool kSuperAhead = F::kHasSuper && D > 1;                 // the next super block is loaded half of one ahead
  const uint32_t lane = threadIdx.x % 32;
  const Bases bases = make_bases<F::kBits>();
  float* const words_at = shared + 2 * T * 32 + lane;
  typename F::Cursor cursor(weight, row, block);
  typename F::Quants quants[D][R];
  typename F::Scale scale[U][R];
  typename F::StoredSuper stored[R];
  typename F::Super super[R];
  float ahead[U][T];
  const float* const input = args.input + size_t{first_token} * args.input_stride + lane;

  const auto load_input = [&](uint32_t b, float (&to)[T]) {
    const bool inside = b * 32 + lane < args.columns;
    const float* at = input + b * 32;
#pragma unroll
    for (int t = 0; t < T; t++) {
      to[t] = inside && (T == 1 || first_token + t < args.n_tokens) ? __ldg(at) : 0.0f;
      at += args.input_stride;
    }
  };
  const auto open_super = [&]() {
#pragma unroll
    for (int r = 0; r < R; r++) {
      super[r] = F::open(stored[r]);
#pragma unroll
      for (int i = 0; i < F::kSuperWords; i++) words_at[(i * R + r) * 32] = bits_to_float(word_of(stored[r], i));
    }
  };
  const auto load_super = [&]() {
#pragma unroll
    for (int r = 0; r < R; r++) stored[r] = cursor.super(r);
  };

#pragma unroll
  for (int u = 0; u < U; u++) {
    if (block + u < end) {
      load_input(block + u, ahead[u]);
#pragma unroll
      for (int r = 0; r < R; r++) scale[u][r] = cursor.scale(u, r);
    }
  }
#pragma unroll
  for (int d = 0; d < D; d++) {
    if (block + d / F::kLoads < end) {
#pragma unroll
      for (int r = 0; r < R; r++) quants[d][r] = cursor.quants(d, r);
    }
  }
  if (F::kHasSuper) {
    load_super();
    open_super();
    if (kSuperAhead && block % 8 > 4 && (block | 7) + 1 < end) {
      cursor.next_super();
      load_super();
    }
  }
  uint32_t odd = 0;  // of the two buffers of activations
  for (;;) {
#pragma unroll
    for (int u = 0; u < U; u++) {
      float* const buffer = shared + (U % 2 == 0 ? u % 2 : odd) * (T * 32);
      odd ^= 1;
#pragma unroll
      for (int t = 0; t < T; t++) buffer[t * 32 + lane] = ahead[u][t];
      __syncwarp();
      typename F::Factors factors[R];
#pragma unroll
      for (int r = 0; r < R; r++) {
        uint32_t word = 0;
        if constexpr (F::kSuperWords != 0) word = float_to_bits(words_at[(block % 8 / (8 / F::kSuperWords) * R + r) * 32]);
        factors[r] = F::factors(super[r], scale[u][r], word, block);
      }
#pragma unroll
      for (int load = 0; load < F::kLoads; load++) {
        const int slot = (u * F::kLoads + load) % D;
        typename F::Quants now[R];
#pragma unroll
        for (int r = 0; r < R; r++) now[r] = quants[slot][r];
#pragma unroll
        for (int i = 0; i < F::kColumns; i += 4) {
          if (i == kRefill) {
            if (D == 1) {
              // Without a condition: at the end, the last block is loaded once more. A value that is either loaded or kept
              // would have to stay in registers beside the one in use.
              if (load == F::kLoads - 1) {
                const bool more = block + 1 < end;
                if (more) cursor.next_block();
                load_input(more ? block + 1 : block, ahead[u]);
#pragma unroll
                for (int r = 0; r < R; r++) scale[u][r] = cursor.scale(0, r);
              }
#pragma unroll
              for (int r = 0; r < R; r++) quants[slot][r] = cursor.quants((load + 1) % F::kLoads, r);
            } else {
              if (block + (load + D) / F::kLoads < end) {
#pragma unroll
                for (int r = 0; r < R; r++) quants[slot][r] = cursor.quants(load + D, r);
              }
              if (load == 0) {
                if (block + U < end) {
                  load_input(block + U, ahead[u]);
#pragma unroll
                  for (int r = 0; r < R; r++) scale[u][r] = cursor.scale(U, r);
                }
                if (kSuperAhead && block % 8 == 4 && (block | 7) + 1 < end) {
                  cursor.next_super();
                  load_super();
                }
              }
            }
          }
          float w[R][4];
#pragma unroll
          for (int r = 0; r < R; r++) {
#pragma unroll
            for (int k = 0; k < 4; k++) w[r][k] = F::weight(now[r], i + k, factors[r], bases);
          }
#pragma unroll
          for (int t = 0; t < T; t++) {
            const float4 x = *reinterpret_cast<const float4*>(buffer + t * 32 + load * F::kColumns + i);
#pragma unroll
            for (int r = 0; r < R; r++) {
              acc[r][t] = fmaf(w[r][0], x.x, acc[r][t]);
              acc[r][t] = fmaf(w[r][1], x.y, acc[r][t]);
              acc[r][t] = fmaf(w[r][2], x.z, acc[r][t]);
              acc[r][t] = fmaf(w[r][3], x.w, acc[r][t]);
            }
          }
        }
      }
      if (D > 1) cursor.next_block();
      block++;
      if (F::kHasSuper && block % 8 == 0 && block < end) {
        if (!kSuperAhead) {
          cursor.next_super();
          load_super();
        }
        open_super();
      }
      done(block);
      if (block == end) return;
    }
  }
}

template <int R, int T>
__device__ __forceinline__ void clear(float (&acc)[R][T]) {
#pragma unroll
  for (int r = 0; r < R; r++) {
#pragma unroll
    for (int t = 0; t < T; t++) acc[r][t] = 0.0f;
  }
}

// ---- narrow ---------------------------------------------------------------------------------------------------

template <uint32_t kType, int T, int R>
inline uint32_t narrow_shared_bytes(uint32_t n_warps, uint32_t splits) {
  return static_cast<uint32_t>(sizeof(float)) * (n_warps * walk_floats<kType, T, R>() + splits * decode_split_parts * R * T * 32);
}

// The rows of one set, of all parts; the number of warps divides that of the parts.
template <uint32_t kType, int T, int R, int D>
__device__ __forceinline__ void narrow_tile(const DecodeArgs& args, const DecodeWeight& w, const PackedWeight& weight, uint32_t row_set,
                                            uint32_t first_token, uint32_t first_input) {
  M40_DYNAMIC_SHARED(float, shared);
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, n_warps = blockDim.x / 32;
  const uint32_t first_row = row_set * (32 * R), n_blocks = packed_blocks(args.columns);
  const uint32_t n_parts = w.splits * decode_split_parts, parts_a_warp = n_parts / n_warps;
  float* const sums = shared + n_warps * walk_floats<kType, T, R>();

  float acc[R][T];
  clear(acc);
  uint32_t part = warp * parts_a_warp, part_end = part_start(n_blocks, part + 1, n_parts);
  const uint32_t begin = part_start(n_blocks, part, n_parts), end = part_start(n_blocks, part + parts_a_warp, n_parts);
  const auto flush = [&](uint32_t block) {
    while (block == part_end && part < (warp + 1) * parts_a_warp) {
#pragma unroll
      for (int r = 0; r < R; r++) {
#pragma unroll
        for (int t = 0; t < T; t++) sums[((part * R + r) * T + t) * 32 + lane] = acc[r][t];
      }
      clear(acc);
      part++;
      part_end = part_start(n_blocks, part + 1, n_parts);
    }
  };
  flush(begin);  // parts of no columns
  if (begin < end) decode_walk<kType, T, R, D>(args, weight, first_row + lane, first_input, begin, end, shared + warp * walk_floats<kType, T, R>(), acc, flush);
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < R * T * 32; i += blockDim.x) {
    float sum = 0;
    for (uint32_t split = 0; split < w.splits; split++) {
      const float* at = sums + split * (decode_split_parts * R * T * 32) + i;
      float split_sum = at[0];
#pragma unroll
      for (int p = 1; p < static_cast<int>(decode_split_parts); p++) split_sum += at[p * (R * T * 32)];
      sum = split == 0 ? split_sum : sum + split_sum;
    }
    const uint32_t row = first_row + i / (32 * T) * 32 + i % 32, token = first_token + i / 32 % T;
    if (row < weight.rows && token < args.n_tokens) decode_finish(args, w, row, token, sum);
  }
}

template <uint32_t kType, int T, int R, int D, int kThreads, int kResidency>
__global__ __launch_bounds__(kThreads, kResidency) void matmul_narrow(DecodeArgs args) {
  const DecodeWeight& w = decode_weight_of(args);
  narrow_tile<kType, T, R, D>(args, w, w.weight, blockIdx.x - w.first_block, blockIdx.y * T, blockIdx.y * T);
}

// Each row of the output with the weights of its own expert.
struct ExpertArgs {
  DecodeArgs decode;  // n_tokens: rows of the output
  const uint32_t* experts;
  uint32_t experts_stride;
  uint32_t n_used;
  bool input_per_slot;
};

template <uint32_t kType, int R, int D, int kThreads, int kResidency>
__global__ __launch_bounds__(kThreads, kResidency) void matmul_experts(ExpertArgs args) {
  const DecodeWeight& w = decode_weight_of(args.decode);
  const uint32_t slot = blockIdx.y, token = slot / args.n_used;
  const uint32_t expert = __ldg(args.experts + size_t{token} * args.experts_stride + slot % args.n_used);
  if (expert >= w.weight.n_experts) return;
  narrow_tile<kType, 1, R, D>(args.decode, w, packed_expert(w.weight, expert), blockIdx.x - w.first_block, slot, args.input_per_slot ? slot : token);
}

// ---- wide -----------------------------------------------------------------------------------------------------

// kWarps warps do the eight parts of a split, in 8 / kWarps passes.
template <uint32_t kType, int T, int R, int D, int kWarps, int kResidency>
__global__ __launch_bounds__(kWarps * 32, kResidency) void matmul_wide(DecodeArgs args) {
  constexpr int kSlots = R * T < 16 ? R * T : 16;  // sums of a lane that are exchanged at a time
  constexpr int kPasses = static_cast<int>(decode_split_parts) / kWarps;
  constexpr int kWalk = walk_floats<kType, T, R>(), kAll = kWarps * (kWalk > kSlots * 32 ? kWalk : kSlots * 32);
  __shared__ __align__(16) float shared[kAll];
  __shared__ float running[kPasses > 1 ? R * T * 32 : 1];  // sums over the passes so far
  __shared__ bool is_last;
  const DecodeWeight& w = decode_weight_of(args);
  const PackedWeight& weight = w.weight;
  const uint32_t token_blocks = (args.n_tokens + T - 1) / T;
  uint32_t rest = blockIdx.x - w.first_block;
  const uint32_t token_block = rest % token_blocks;
  rest /= token_blocks;
  const uint32_t split = rest % w.splits, row_set = rest / w.splits;
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const uint32_t first_row = row_set * (32 * R), first_token = token_block * T, rows = weight.rows;
  const uint32_t n_blocks = packed_blocks(args.columns), n_parts = w.splits * decode_split_parts;
  float* const partials = args.partials + w.partials;

#pragma unroll 1
  for (int pass = 0; pass < kPasses; pass++) {
    const uint32_t part = split * decode_split_parts + pass * kWarps + warp;
    const uint32_t begin = part_start(n_blocks, part, n_parts), end = part_start(n_blocks, part + 1, n_parts);
    float acc[R][T];
    clear(acc);
    if (begin < end) decode_walk<kType, T, R, D>(args, weight, first_row + lane, first_token, begin, end, shared + warp * kWalk, acc, [](uint32_t) {});
#pragma unroll
    for (int from = 0; from < R * T; from += kSlots) {
      __syncthreads();
#pragma unroll
      for (int s = 0; s < kSlots; s++) shared[(warp * kSlots + s) * 32 + lane] = acc[(from + s) / T][(from + s) % T];
      __syncthreads();
      for (int s = warp; s < kSlots; s += kWarps) {
        float sum = shared[s * 32 + lane];
        if (pass > 0) sum = running[(from + s) * 32 + lane] + sum;
#pragma unroll
        for (int p = 1; p < kWarps; p++) sum += shared[(p * kSlots + s) * 32 + lane];
        const uint32_t row = first_row + (from + s) / T * 32 + lane, token = first_token + (from + s) % T;
        if (pass + 1 < kPasses) {
          running[(from + s) * 32 + lane] = sum;
        } else if (row < rows && token < args.n_tokens) {
          if (w.splits == 1) {
            decode_finish(args, w, row, token, sum);
          } else {
            partials[(size_t{split} * args.n_tokens + token) * rows + row] = sum;
          }
        }
      }
    }
    if (kPasses > 1) __syncthreads();
  }
  if (w.splits == 1) return;

  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    uint32_t* const counter = args.counters + w.first_counter + row_set * token_blocks + token_block;
    is_last = atomicAdd(counter, 1u) == w.splits - 1;
    if (is_last) *counter = 0;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  for (int i = threadIdx.x; i < R * 32 * T; i += kWarps * 32) {
    const uint32_t row = first_row + i % (R * 32), token = first_token + i / (R * 32);
    if (row >= rows || token >= args.n_tokens) continue;
    const float* at = partials + size_t{token} * rows + row;
    float sum = __ldcg(at);
    for (uint32_t s = 1; s < w.splits; s++) {
      at += size_t{args.n_tokens} * rows;
      sum += __ldcg(at);
    }
    decode_finish(args, w, row, token, sum);
  }
}

}  // namespace m40::cuda

#endif
