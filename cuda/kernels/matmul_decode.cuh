// Products of few tokens with packed weights: decode.
//
// Lanes are rows. A warp owns 32 * R rows and T tokens over a part of the columns, and walks them alone: it turns 32
// quants a row into floats and multiplies each with every token's activation, read from shared memory by broadcast.
// So an output is summed in one order, whatever T, R and the number of tokens are: over its part from first column to
// last, then over the eight parts of a thread block (its warps), then over the splits (thread blocks). How many
// splits there are follows from the weight's shape alone. Thread blocks that are not last leave their sums in scratch;
// the last one of a set of rows to finish adds them in the order of the splits.
#ifndef M40_KERNELS_MATMUL_DECODE_CUH
#define M40_KERNELS_MATMUL_DECODE_CUH

#include "formats.cuh"

namespace m40::cuda {

constexpr int decode_warps = 8;
constexpr uint32_t decode_max_splits = 8;

// Thread blocks that share the columns of a weight.
__host__ __device__ inline uint32_t decode_splits(uint32_t rows, uint32_t columns) {
  const uint32_t groups = (rows + 31) / 32;
  const uint32_t wanted = (448 + groups - 1) / groups;           // enough warps for any card
  const uint32_t most = packed_blocks(columns) / (decode_warps * 2);  // a warp has two blocks at least
  const uint32_t splits = wanted < most ? wanted : most;
  return splits < 1 ? 1 : splits > decode_max_splits ? decode_max_splits : splits;
}

struct DecodeWeight {
  PackedWeight weight;
  const float* bias;  // or nullptr
  uint32_t output_column;
  uint32_t splits;
  uint32_t row_sets;       // of 32 * R rows
  uint32_t first_block;    // of the launch's thread blocks
  uint32_t first_counter;  // of its row sets and token blocks, where splits > 1
  uint64_t partials;       // where its partial sums start in scratch, in floats
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
  float* partials;     // [splits][tokens][rows] of each weight
  uint32_t* counters;  // 0 before and after
};

__device__ __forceinline__ float4 load_float4(const float* shared) { return *reinterpret_cast<const float4*>(shared); }

template <int T, int R>
struct DecodeShared {
  static constexpr int kSlots = R * T < 16 ? R * T : 16;  // sums of a lane that are exchanged at a time
  static constexpr int kInput = decode_warps * 2 * T * 32, kSums = decode_warps * kSlots * 32;
  static constexpr int kFloats = kInput > kSums ? kInput : kSums;
};

// acc[r][t] += the blocks [block, end) of rows row + 32 r times the tokens' activations.
template <uint32_t kType, int T, int R>
__device__ __forceinline__ void decode_part(const DecodeArgs& args, const PackedWeight& weight, uint32_t row, uint32_t first_token, uint32_t block,
                                            uint32_t end, float* input, float (&acc)[R][T]) {
  using F = Format<kType>;
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t one = in_register(one_bits);
  typename F::Cursor cursor(weight, row, block);
  typename F::Quants quants[R];
  typename F::Scale scale[R];
  typename F::Super super[R];
  float ahead[T];  // this lane's column of the block to come

  const auto load_input = [&](uint32_t b) {
    const uint32_t column = b * 32 + lane;
    const bool inside = column < args.columns;
    const float* at = args.input + size_t{first_token} * args.input_stride + column;
#pragma unroll
    for (int t = 0; t < T; t++) {
      ahead[t] = inside && (T == 1 || first_token + t < args.n_tokens) ? __ldg(at) : 0.0f;
      at += args.input_stride;
    }
  };

  load_input(block);
#pragma unroll
  for (int r = 0; r < R; r++) {
    quants[r] = cursor.quants(0, r);
    scale[r] = cursor.scale(r);
    super[r] = F::open(cursor.super(r), block % 8);
  }
  float* buffer = input;
#pragma unroll 1
  for (; block < end; block++) {
#pragma unroll
    for (int t = 0; t < T; t++) buffer[t * 32 + lane] = ahead[t];
    __syncwarp();
    const bool more = block + 1 < end;
    typename F::Factors factors[R];
#pragma unroll
    for (int r = 0; r < R; r++) factors[r] = F::factors(super[r], scale[r]);
#pragma unroll
    for (int load = 0; load < F::kLoads; load++) {
      typename F::Quants now[R];
#pragma unroll
      for (int r = 0; r < R; r++) now[r] = quants[r];
#pragma unroll
      for (int i = 0; i < F::kColumns; i += 4) {
        // The next load is on its way while the rest of this one is multiplied: with many tokens, that need not be much of it.
        if (i == (T >= 8 && F::kColumns > 8 ? F::kColumns - 8 : 0)) {
          if (load + 1 < F::kLoads) {
#pragma unroll
            for (int r = 0; r < R; r++) quants[r] = cursor.quants(load + 1, r);
          } else if (more) {
            load_input(block + 1);
            cursor.next_block();
#pragma unroll
            for (int r = 0; r < R; r++) {
              quants[r] = cursor.quants(0, r);
              scale[r] = cursor.scale(r);
            }
          }
        }
        float w[R][4];
#pragma unroll
        for (int r = 0; r < R; r++) {
#pragma unroll
          for (int k = 0; k < 4; k++) w[r][k] = F::weight(now[r], load, i + k, factors[r], one);
        }
#pragma unroll
        for (int t = 0; t < T; t++) {
          const float4 x = load_float4(buffer + t * 32 + load * F::kColumns + i);
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
    if (F::kHasSuper) {
      if ((block + 1) % 8 != 0) {
#pragma unroll
        for (int r = 0; r < R; r++) F::next(super[r]);
      } else if (more) {
        cursor.next_super();
#pragma unroll
        for (int r = 0; r < R; r++) super[r] = F::open(cursor.super(r), 0);
      }
    }
    // The other buffer is free: every lane has been through the barrier since it was read.
    buffer = buffer == input ? input + T * 32 : input;
  }
}

__device__ __forceinline__ void decode_finish(const DecodeArgs& args, const DecodeWeight& w, uint32_t row, uint32_t token, float value) {
  const size_t at = size_t{token} * args.output_stride + w.output_column + row;
  if (w.bias != nullptr) value += __ldg(w.bias + row);
  if (args.residual != nullptr) value += args.residual[at];
  args.output[at] = value;
}

// Rows row_set * 32 R and on of a weight times T tokens from first_token on (of the output; from first_input on of the
// input), over the columns of one split.
template <uint32_t kType, int T, int R>
__device__ __forceinline__ void decode_tile(const DecodeArgs& args, const DecodeWeight& w, const PackedWeight& weight, uint32_t row_set, uint32_t split,
                                            uint32_t first_token, uint32_t first_input, uint32_t counter_index) {
  constexpr int kSlots = DecodeShared<T, R>::kSlots;
  __shared__ __align__(16) float shared[DecodeShared<T, R>::kFloats];
  __shared__ bool is_last;
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const uint32_t first_row = row_set * (32 * R);

  const uint32_t n_blocks = packed_blocks(args.columns), n_parts = w.splits * decode_warps, part = split * decode_warps + warp;
  const uint32_t begin = static_cast<uint32_t>(uint64_t{n_blocks} * part / n_parts);
  const uint32_t end = static_cast<uint32_t>(uint64_t{n_blocks} * (part + 1) / n_parts);
  float acc[R][T];
#pragma unroll
  for (int r = 0; r < R; r++) {
#pragma unroll
    for (int t = 0; t < T; t++) acc[r][t] = 0.0f;
  }
  if (begin < end) decode_part<kType, T, R>(args, weight, first_row + lane, first_input, begin, end, shared + warp * (2 * T * 32), acc);

  // The eight parts' sums, kSlots of each lane at a time.
  float* const partials = args.partials + w.partials;
  const uint32_t rows = weight.rows;
#pragma unroll
  for (int from = 0; from < R * T; from += kSlots) {
    __syncthreads();
#pragma unroll
    for (int s = 0; s < kSlots; s++) shared[(warp * kSlots + s) * 32 + lane] = acc[(from + s) / T][(from + s) % T];
    __syncthreads();
    for (int s = warp; s < kSlots; s += decode_warps) {
      float sum = shared[s * 32 + lane];
#pragma unroll
      for (int p = 1; p < decode_warps; p++) sum += shared[(p * kSlots + s) * 32 + lane];
      const uint32_t row = first_row + (from + s) / T * 32 + lane, token = first_token + (from + s) % T;
      if (row < rows && token < args.n_tokens) {
        if (w.splits == 1) {
          decode_finish(args, w, row, token, sum);
        } else {
          partials[(size_t{split} * args.n_tokens + token) * rows + row] = sum;
        }
      }
    }
  }
  if (w.splits == 1) return;

  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    uint32_t* const counter = args.counters + counter_index;
    is_last = atomicAdd(counter, 1u) == w.splits - 1;
    if (is_last) *counter = 0;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  for (int i = threadIdx.x; i < R * 32 * T; i += decode_warps * 32) {
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

__device__ __forceinline__ const DecodeWeight& decode_weight_of(const DecodeArgs& args) {
  int which = 0;
  if (args.n_weights > 1 && blockIdx.x >= args.weights[1].first_block) which = 1;
  if (args.n_weights > 2 && blockIdx.x >= args.weights[2].first_block) which = 2;
  return args.weights[which];
}

template <uint32_t kType, int T, int R, int kBlocksPerProcessor>
__global__ __launch_bounds__(decode_warps * 32, kBlocksPerProcessor) void matmul_decode(DecodeArgs args) {
  const DecodeWeight& w = decode_weight_of(args);
  const uint32_t token_blocks = (args.n_tokens + T - 1) / T;
  uint32_t rest = blockIdx.x - w.first_block;
  const uint32_t token_block = rest % token_blocks;
  rest /= token_blocks;
  const uint32_t split = rest % w.splits, row_set = rest / w.splits;
  decode_tile<kType, T, R>(args, w, w.weight, row_set, split, token_block * T, token_block * T, w.first_counter + row_set * token_blocks + token_block);
}

// Each row of the output with the weights of its own expert. Weights are not split: there are enough rows.
struct ExpertArgs {
  DecodeArgs decode;  // n_tokens: rows of the output
  const uint32_t* experts;
  uint32_t experts_stride;
  uint32_t n_used;
  bool input_per_slot;
};

template <uint32_t kType, int R, int kBlocksPerProcessor>
__global__ __launch_bounds__(decode_warps * 32, kBlocksPerProcessor) void matmul_experts(ExpertArgs args) {
  const DecodeWeight& w = decode_weight_of(args.decode);
  const uint32_t slot = blockIdx.y, token = slot / args.n_used;
  const uint32_t expert = __ldg(args.experts + size_t{token} * args.experts_stride + slot % args.n_used);
  if (expert >= w.weight.n_experts) return;
  decode_tile<kType, 1, R>(args.decode, w, packed_expert(w.weight, expert), blockIdx.x - w.first_block, 0, slot, args.input_per_slot ? slot : token, 0);
}

}  // namespace m40::cuda

#endif
