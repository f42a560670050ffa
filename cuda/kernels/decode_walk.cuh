// How a warp of a decode product walks a part of the columns, alone: lanes are rows, and it turns 32 quants a row into
// floats and multiplies each with every token's activation, read from shared memory by broadcast. A sum takes its columns
// from the first to the last: quants in place first over the columns that share a scale, then these sums, each times its
// scale.
#ifndef M40_KERNELS_DECODE_WALK_CUH
#define M40_KERNELS_DECODE_WALK_CUH

#include "decode_order.cuh"
#include "formats.cuh"
#include "matmul_prologue.cuh"
#include "part_sums.cuh"

namespace m40::cuda {

// A type as a walk takes it. kInPlace: the bits of decode; else those of the weights that prefill multiplies.
template <uint32_t kType, bool kInPlace>
struct WalkedFormat : Format<kType> {
  static constexpr bool kSumsParts = Format<kType>::kSumsParts && kInPlace;
};

// Whether the words of a super block's entry wait in shared memory. With 16 tokens there is no room for them.
template <int T>
constexpr bool keeps_super_words = T < 16;

// Floats of shared memory that a warp needs to walk.
template <uint32_t kType, int T, int R>
__host__ __device__ constexpr int walk_floats() {
  return 2 * input_floats<Format<kType>, T>() + (keeps_super_words<T> ? Format<kType>::kSuperWords * R * 32 : 0);
}

template <bool kFirst, class A>
__device__ __forceinline__ A& either(A& first, A& second) {
  if constexpr (kFirst) {
    return first;
  } else {
    return second;
  }
}

// What a walk multiplies a block with: its sums of parts, or each weight.
template <class F, class Super, class Scale>
__device__ __forceinline__ auto walked_factors(const Super& super, const Scale& scale, uint32_t word, uint32_t block) {
  if constexpr (F::kSumsParts) {
    return part_factors<F>(super, scale, word, block);
  } else {
    return F::factors(super, scale, word, block);
  }
}

// How a launch has its input: nothing writes to it meanwhile, and where it is are the launch's constants.
struct LaunchInputs {
  template <uint32_t kType, int T, bool kOneType>
  __host__ __device__ static constexpr DecodeOrder order() {
    return decode_order<kType, T, kOneType>();
  }
  __device__ __forceinline__ const float* from(const MatmulDecodeArgs& args) const { return args.input; }
  template <class V>
  __device__ __forceinline__ V load(const V* at) const {
    return __ldg(at);
  }
};

// Where the activations of the tokens from first_token on start; those that are beyond the last are the last's.
template <int T>
struct DecodeInputs : LaunchInputs {
  static constexpr bool kHeld = true;
  const MatmulDecodeArgs& args;
  uint32_t first_token;
  __device__ __forceinline__ DecodeInputs(const MatmulDecodeArgs& args_, uint32_t first) : args(args_), first_token(first) {}
  __device__ __forceinline__ uint32_t operator()(uint32_t t) const {
    const uint32_t token = first_token + t;
    return (T == 1 || token < args.n_tokens ? token : args.n_tokens - 1) * args.input_stride;
  }
};

// acc[r][t] += blocks [block, end) of rows row + 32 r times the activations of T tokens; input_of(t) is where those of
// token t start, from input_of.from(). InputOf::kHeld: in registers; else it is called again for every block.
// prepare(scales) is called once, when the first loads are issued: the norm prologue's scales take a while. With a
// prologue, all warps of the thread block come here, also those with an empty part. kOneType: the kernel walks no other
// type, nor other numbers of tokens. kInPlace: as WalkedFormat has it.
template <uint32_t kType, int T, int R, int kPrologue, bool kOneType, bool kInPlace = true, class InputOf, class Prepare>
__device__ __forceinline__ void decode_walk(const MatmulDecodeArgs& args, const PackedWeight& weight, uint32_t row, const InputOf& input_of, uint32_t block,
                                            uint32_t end, const void* table, float* shared, const Prepare& prepare, float (&acc)[R][T]) {
  using F = WalkedFormat<kType, kInPlace>;
  constexpr int kInput = input_floats<F, T>();
  constexpr DecodeOrder kOrder = kInPlace ? InputOf::template order<kType, T, kOneType>() : rests_order<kType, T>();
  static_assert(by_column<F, T> ? takes_each_product<R, T>(kOrder, F::kColumns) : takes_columns_in_order<R>(kOrder, F::kColumns / 4, T),
                "the bits of a sum hang on the order of its columns");
  // One token, and the types with the most instructions a weight: loads are issued ahead of the barrier. The compiler
  // alone puts them so late that the warp waits for them.
  constexpr bool kEarly = T == 1 && F::kHasSuper && F::kLoads == 1;
  // The next super block is loaded half of one ahead; with two tokens, IQ4_XS has no registers for it.
  constexpr bool kSuperAhead = F::kHasSuper && (T == 1 || (T == 2 && kType != M40_TYPE_IQ4_XS));
  constexpr bool kKeepsWords = F::kSuperWords != 0 && keeps_super_words<T>, kLoadsWords = F::kSuperWords != 0 && !keeps_super_words<T>;
  const uint32_t lane = threadIdx.x % 32;
  const Bases bases = make_bases<F::kBits, F::kBasesTimes>(table);
  float* const words_at = shared + 2 * kInput + lane;  // of the super block, this lane's own
  const uint32_t from = kPrologue == no_prologue ? block : min(block, packed_blocks(weight.columns) - 1);
  typename F::Cursor cursor(weight, row, from);
  typename F::Quants quants[R];
  typename F::Scale scale[R];
  typename F::StoredSuper stored[R];
  typename F::Super super[R];
  uint32_t super_words[R] = {};  // of the block, where they do not wait in shared memory
  // Activations of the block to come. One or two tokens: this lane's column of each. From four on: four columns of
  // every fourth token, or every 128 / T columns four of one token; both want columns that can be loaded four at a time.
  constexpr bool kFours = T >= 4;
  static_assert(T == 1 || kPrologue == no_prologue, "prologues are for one token");
  constexpr int kAhead = kFours ? T / 4 : T;
  float ahead[kAhead][kFours ? 4 : 1];
  constexpr bool kByColumn = by_column<F, T>;
  const uint32_t my_token = kByColumn ? lane % T : kFours ? lane / 8 : 0, my_column = kByColumn ? lane / T * 4 : kFours ? lane % 8 * 4 : lane;
  float scales[T] = {}, norm_ahead = 0, up_ahead[kAhead];  // of the prologues
  uint32_t inputs[kAhead];  // where they start, from args.input
  // What this lane's activations are multiplied by. Where columns of a bit are not four apart, a token's fours differ.
  constexpr bool kAlike = F::kSumsParts && F::repeats_by_four();
  constexpr int kPowers = kByColumn && !kAlike ? kAhead : 1;
  float powers[kPowers][kFours ? 4 : 1] = {};
  if constexpr (F::kSumsParts) {
#pragma unroll
    for (int i = 0; i < kPowers; i++) {
#pragma unroll
      for (int k = 0; k < (kFours ? 4 : 1); k++) powers[i][k] = F::input_scale(kFours && kAlike ? k : static_cast<int>(my_column) + 128 / T * i + k);
    }
  }
  const auto input_start = [&](int i) { return kByColumn ? input_of(my_token) + my_column + 128 / T * i : input_of(my_token + (kFours ? 4 : 1) * i) + my_column; };
#pragma unroll
  for (int i = 0; i < kAhead; i++) inputs[i] = InputOf::kHeld ? input_start(i) : 0;

  const auto load_input = [&](uint32_t b) {
#pragma unroll
    for (int i = 0; i < kAhead; i++) {
      const float* const at = input_of.from(args) + ((InputOf::kHeld ? inputs[i] : input_start(i)) + b * 32);
      if constexpr (kFours) {
        const float4 x = input_of.load(reinterpret_cast<const float4*>(at));
        ahead[i][0] = x.x, ahead[i][1] = x.y, ahead[i][2] = x.z, ahead[i][3] = x.w;
      } else {
        // Only floating-point rows may end in the middle of a block.
        const bool inside = F::kColumns > 8 || b * 32 + lane < args.columns;
        ahead[i][0] = inside ? input_of.load(at) : 0.0f;
        if (kPrologue == activation_prologue) up_ahead[i] = inside ? __ldg(at + args.columns) : 0.0f;
        if (kPrologue == norm_prologue) norm_ahead = inside ? __ldg(args.norm_weight + b * 32 + lane) : 0.0f;
      }
    }
  };
  const auto store_input = [&](float* buffer) {
#pragma unroll
    for (int i = 0; i < kAhead; i++) {
      float(&x)[kFours ? 4 : 1] = ahead[i];
      if (kPrologue == norm_prologue) x[0] = x[0] * scales[i] * norm_ahead;
      if (kPrologue == activation_prologue) x[0] = prologue_activated(args.activation, x[0]) * up_ahead[i];
      float stored[kFours ? 4 : 1];
#pragma unroll
      for (int k = 0; k < (kFours ? 4 : 1); k++) stored[k] = F::kSumsParts ? x[k] * powers[kPowers == 1 ? 0 : i][k] : x[k];
      if constexpr (kByColumn) {
#pragma unroll
        for (int k = 0; k < 4; k++) buffer[(my_column + 128 / T * i + k) * input_pitch<T> + my_token] = stored[k];
      } else if constexpr (kFours) {
        *reinterpret_cast<float4*>(buffer + (my_token + 4 * i) * 32 + my_column) = make_float4(stored[0], stored[1], stored[2], stored[3]);
      } else {
        buffer[i * 32 + lane] = stored[0];
      }
      if constexpr (F::kSumsParts && !kByColumn) store_sums<F, T>(x, buffer + block_floats<F, T>(), my_token + (kFours ? 4 : 1) * i, my_column);
    }
    if constexpr (F::kSumsParts && kByColumn) store_sums_by_column<F, T>(ahead, buffer + block_floats<F, T>());
  };
  const auto load_quants = [&](int load) {
#pragma unroll
    for (int r = 0; r < R; r++) quants[r] = cursor.template quants<kEarly>(load, r);
  };
  const auto load_scale = [&]() {
#pragma unroll
    for (int r = 0; r < R; r++) scale[r] = cursor.scale(r);
  };
  const auto load_words = [&](uint32_t of_block) {
    if constexpr (kLoadsWords) {
#pragma unroll
      for (int r = 0; r < R; r++) super_words[r] = cursor.super_word(r, of_block % 8 / (8 / F::kSuperWords));
    }
  };
  const auto load_super = [&]() {
#pragma unroll
    for (int r = 0; r < R; r++) stored[r] = cursor.super(r);
  };
  const auto open_super = [&](uint32_t at_block) {
#pragma unroll
    for (int r = 0; r < R; r++) {
      super[r] = open_at<F>(stored[r], at_block);
#pragma unroll
      for (int i = 0; kKeepsWords && i < F::kSuperWords; i++) words_at[(i * R + r) * 32] = bits_to_float(word_of(stored[r], i));
    }
  };

  load_quants(0);
  load_input(from);
  load_scale();
  if (F::kHasSuper) load_super();
  load_words(block);
  prepare(scales);
  if (F::kHasSuper) {
    open_super(block);
    if (kSuperAhead && block % 8 > 4 && (block | 7) + 1 < end) {
      cursor.next_super();
      load_super();
    }
  }
#pragma unroll 1
  for (; block < end; block++) {
    // No lane reads this buffer any more: all have been through the barrier since.
    float* const buffer = shared + block % 2 * kInput;
    store_input(buffer);
    if (!kEarly) __syncwarp();
    decltype(walked_factors<F>(super[0], scale[0], 0, 0)) factors[R];
#pragma unroll
    for (int r = 0; r < R; r++) {
      uint32_t word = super_words[r];
      if constexpr (kKeepsWords) word = float_to_bits(words_at[(block % 8 / (8 / F::kSuperWords) * R + r) * 32]);
      factors[r] = walked_factors<F>(super[r], scale[r], word, block);
      F::skip_blocks(super[r], 1);
    }
    const auto load_block = [&]() {
      // Unconditional: at the end, the last block is loaded again. A value that is either loaded or kept would need
      // registers in addition to the one in use.
      const bool more = block + 1 < end;
      if (more) cursor.next_block();
      load_input(more ? block + 1 : block);
      load_scale();
      if (kLoadsWords && more) {
        if ((block + 1) % 8 == 0) cursor.next_super();
        load_words(block + 1);
      }
    };
    const auto load_super_ahead = [&]() {
      if (!kSuperAhead || block % 8 != 4 || (block | 7) + 1 >= end) return;
      cursor.next_super();
      load_super();
    };
    typename F::Expanded early[R];
    if (kEarly) {
#pragma unroll
      for (int r = 0; r < R; r++) early[r] = F::expand(quants[r], scale[r], bases);
      load_block();
      load_quants(0);
      load_super_ahead();
      __syncwarp();
    }
    float parts[R][T];  // of a type that sums them
#pragma unroll
    for (int load = 0; load < F::kLoads; load++) {
      typename F::Expanded now[R];
#pragma unroll
      for (int r = 0; r < R; r++) now[r] = kEarly ? early[r] : F::expand(quants[r], scale[r], bases);
#pragma unroll
      for (int i = 0; i < F::kColumns; i += 4) {
        if (!kEarly && i == kOrder.refill) {
          if (load == F::kLoads - 1) load_block();
          load_quants((load + 1) % F::kLoads);
          if (load == 0) load_super_ahead();
        }
        float w[R][4];
#pragma unroll
        for (int r = 0; r < R; r++) {
#pragma unroll
          for (int k = 0; k < 4; k++) {
            if constexpr (F::kSumsParts) {
              w[r][k] = F::field(now[r], i + k);
            } else {
              w[r][k] = F::weight(now[r], i + k, factors[r], bases);
            }
          }
        }
        constexpr int kPartColumns = 32 / F::kParts;
        const int column = load * F::kColumns + i, part = column / kPartColumns;  // of the block
        if constexpr (F::kSumsParts && !F::kMinimum) {
          if (column % kPartColumns == 0) {
            float taken[T];
            read_sums<T>(buffer + block_floats<F, T>() + part * T, taken);
#pragma unroll
            for (int t = 0; t < T; t++) {
#pragma unroll
              for (int r = 0; r < R; r++) parts[r][t] = taken[t];
            }
            constexpr int kGroups = F::kDeltas / F::kParts;
#pragma unroll
            for (int g = part * kGroups; g < (part + 1) * kGroups; g++) {
              float group[T];
              read_sums<T>(buffer + block_floats<F, T>() + (F::kParts + g) * T, group);
#pragma unroll
              for (int t = 0; t < T; t++) {
#pragma unroll
                for (int r = 0; r < R; r++) {
                  if constexpr (F::kDeltas != 0) parts[r][t] = fmaf(F::delta(now[r], g), group[t], parts[r][t]);
                }
              }
            }
          }
        }
        float(&sums)[R][T] = either<F::kSumsParts>(parts, acc);
        // sum += w * x, of a column of the four and a row; a sum with a minimum starts with its first product.
        const auto multiply = [&](float& sum, float weight, float x, int k) {
          const bool first = F::kSumsParts && F::kMinimum && (column + k) % kPartColumns == 0;
          sum = first ? __fmul_rn(weight, x) : fmaf(weight, x, sum);
        };
        if constexpr (kByColumn) {
#pragma unroll
          for (int k = 0; k < 4; k++) {
            float x[T];
            read_sums<T>(buffer + (column + k) * input_pitch<T>, x);
#pragma unroll
            for (int n = 0; n < R * T; n++) {
              const DecodeColumnProduct at = decode_column_product<R, T>(kOrder, i + k, n);
              multiply(sums[at.row][at.token], w[at.row][k], x[at.token], k);
            }
          }
        }
#pragma unroll
        for (int turn = 0; turn < (kByColumn ? 0 : T); turn++) {
          const int t = decode_token<T>(kOrder, i / 4, turn);
          const float4 four = *reinterpret_cast<const float4*>(buffer + t * 32 + load * F::kColumns + i);
          const float x[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
          for (int p = 0; p < 4 * R; p++) {
            const DecodeProduct at = decode_product<R>(kOrder, i / 4, t, p);
            multiply(sums[at.row][t], w[at.row][at.column], x[at.column], at.column);
          }
        }
        if constexpr (F::kSumsParts) {
          if ((column + 4) % kPartColumns == 0) {
            float inputs_sum[T];
            if constexpr (F::kMinimum) read_sums<T>(buffer + block_floats<F, T>() + part * T, inputs_sum);
#pragma unroll
            for (int t = 0; t < T; t++) {
#pragma unroll
              for (int r = 0; r < R; r++) {
                acc[r][t] = fmaf(parts[r][t], factors[r].scale[part], acc[r][t]);
                if constexpr (F::kMinimum) acc[r][t] = fmaf(factors[r].minimum[part], inputs_sum[t], acc[r][t]);
              }
            }
          }
        }
      }
    }
    if (F::kHasSuper && (block + 1) % 8 == 0 && block + 1 < end) {
      if (!kSuperAhead) {
        if (!kLoadsWords) cursor.next_super();
        load_super();
      }
      open_super(0);
    }
  }
}

}  // namespace m40::cuda

#endif
