// How a warp walks rows of packed weights and packed pairs of activations (packed_inputs_args.cuh).
//
// Lanes are rows, R a lane. A quant that stands in its word is a float (fields.cuh); one multiply-add of it with a pair
// adds both tokens' products, exactly. After a run of 16 columns the pair's sum is taken apart: the higher token's is
// the sum by 5793, rounded by adding and subtracting 1.5 * 2^23 units, the lower one's what is left.
#ifndef M40_KERNELS_PACKED_WALK_CUH
#define M40_KERNELS_PACKED_WALK_CUH

#include "packed_formats.cuh"
#include "packed_inputs_args.cuh"
#include "prefetch.cuh"

namespace m40::cuda {

// N floats, as few loads as their number allows; aligned to that.
template <int N>
__device__ __forceinline__ void read_floats(const float* from, float (&to)[N]) {
  if constexpr (N % 4 == 0) {
#pragma unroll
    for (int i = 0; i < N; i += 4) {
      const float4 v = *reinterpret_cast<const float4*>(from + i);
      to[i] = v.x, to[i + 1] = v.y, to[i + 2] = v.z, to[i + 3] = v.w;
    }
  } else if constexpr (N % 2 == 0) {
#pragma unroll
    for (int i = 0; i < N; i += 2) {
      const float2 v = *reinterpret_cast<const float2*>(from + i);
      to[i] = v.x, to[i + 1] = v.y;
    }
  } else {
#pragma unroll
    for (int i = 0; i < N; i++) to[i] = from[i];
  }
}
// The same from memory that nothing writes to.
template <int N>
__device__ __forceinline__ void load_floats(const float* from, float (&to)[N]) {
  if constexpr (N % 4 == 0) {
#pragma unroll
    for (int i = 0; i < N; i += 4) {
      const float4 v = __ldg(reinterpret_cast<const float4*>(from + i));
      to[i] = v.x, to[i + 1] = v.y, to[i + 2] = v.z, to[i + 3] = v.w;
    }
  } else if constexpr (N == 2) {
    const float2 v = __ldg(reinterpret_cast<const float2*>(from));
    to[0] = v.x, to[1] = v.y;
  } else {
#pragma unroll
    for (int i = 0; i < N; i++) to[i] = __ldg(from + i);
  }
}
template <int N>
__device__ __forceinline__ void write_floats(float* to, const float (&from)[N]) {
  if constexpr (N % 4 == 0) {
#pragma unroll
    for (int i = 0; i < N; i += 4) *reinterpret_cast<float4*>(to + i) = make_float4(from[i], from[i + 1], from[i + 2], from[i + 3]);
  } else if constexpr (N == 2) {
    *reinterpret_cast<float2*>(to) = make_float2(from[0], from[1]);
  } else {
#pragma unroll
    for (int i = 0; i < N; i++) to[i] = from[i];
  }
}

// Floats of shared memory that a warp needs to walk.
template <uint32_t kType, int T, int R>
__host__ __device__ constexpr int packed_walk_floats() {
  return 2 * PackedBlock<T, PackedFormat<kType>::kMinimums>::kFloats + Format<kType>::kSuperWords * R * 32;
}

// sums[r][t] += blocks [block, end) of rows row + 32 r times the activations of T tokens; pairs: where those of block 0
// are.
template <uint32_t kType, int T, int R>
__device__ __forceinline__ void packed_walk(const PackedWeight& weight, uint32_t row, const float* pairs, uint32_t block, uint32_t end, float* shared,
                                            float (&sums)[R][T]) {
  using F = Format<kType>;
  using P = PackedFormat<kType>;
  using L = PackedBlock<T, P::kMinimums>;
  constexpr int kPairs = L::kPairs, kHalves = T == 1 ? 1 : 2;
  constexpr int kRest = L::kFloats - L::kStarts, kRestLoads = (kRest + 31) / 32;  // a float a lane at a time
  static_assert(F::kColumns == 32, "a block is one load of quants");
  constexpr bool kTwo = T <= 4;          // quants of two blocks in registers
  constexpr int kRefill = kTwo ? 0 : 24;  // the column at which the next block is loaded
  if (block >= end) return;
  const uint32_t lane = threadIdx.x % 32;
  float* const words_at = shared + 2 * L::kFloats + lane;  // of the super block, this lane's own
  typename F::Cursor cursor(weight, row, block);
  typename F::Quants first[R], second[R];
  typename F::Scale scale[R];
  typename F::Super super[R];
  float ahead[kPairs], rest_ahead[kRestLoads];
  const float* pairs_at = pairs + size_t{block} * L::kFloats;

  const auto load_pairs = [&]() {
    load_floats<kPairs>(pairs_at + lane * kPairs, ahead);
#pragma unroll
    for (int i = 0; i < kRestLoads; i++) {
      if ((i + 1) * 32 <= kRest || i * 32 + lane < kRest) rest_ahead[i] = __ldg(pairs_at + L::kStarts + i * 32 + lane);
    }
  };
  const auto store_pairs = [&](float* buffer) {
    write_floats<kPairs>(buffer + lane * kPairs, ahead);
#pragma unroll
    for (int i = 0; i < kRestLoads; i++) {
      if ((i + 1) * 32 <= kRest || i * 32 + lane < kRest) buffer[L::kStarts + i * 32 + lane] = rest_ahead[i];
    }
  };
  const auto load_quants = [&](typename F::Quants(&to)[R]) {
#pragma unroll
    for (int r = 0; r < R; r++) to[r] = cursor.quants(0, r);
  };
  const auto load_scale = [&]() {
#pragma unroll
    for (int r = 0; r < R; r++) scale[r] = cursor.scale(r);
  };
  const auto open_super = [&](uint32_t at_block) {
#pragma unroll
    for (int r = 0; r < R; r++) {
      const typename F::StoredSuper stored = cursor.super(r);
      super[r] = open_at<F>(stored, at_block);
#pragma unroll
      for (int i = 0; i < F::kSuperWords; i++) words_at[(i * R + r) * 32] = bits_to_float(word_of(stored, i));
    }
  };

  const auto walk_block = [&](typename F::Quants(&quants)[R], typename F::Quants(&refilled)[R]) {
    // No lane reads this buffer any more: all have been through the barrier since.
    float* const buffer = shared + block % 2 * L::kFloats;
    store_pairs(buffer);
    __syncwarp();
    typename P::Factors factors[R];
#pragma unroll
    for (int r = 0; r < R; r++) {
      uint32_t word = 0;
      if constexpr (F::kSuperWords != 0) word = float_to_bits(words_at[(block % 8 / (8 / F::kSuperWords) * R + r) * 32]);
      factors[r] = P::factors(super[r], scale[r], word, block);
    }
    const auto refill = [&]() {
      // Unconditional: at the end, the last block is loaded again. A value that is either loaded or kept would need
      // registers in addition to the one in use.
      if (block + 1 < end) cursor.next_block(), pairs_at += L::kFloats;
      load_quants(refilled);
      load_scale();
      load_pairs();
      if constexpr (F::kHasSuper) {
        if (block % 8 == 4 && (block | 7) + 1 < end) {
#pragma unroll
          for (int r = 0; r < R; r++) prefetch_to_l2(reinterpret_cast<const uint8_t*>(cursor.super_at + packed_tile_rows + r * 32));
        }
      }
    };
    typename F::Quants now[R];
#pragma unroll
    for (int r = 0; r < R; r++) now[r] = quants[r];
    float runs[R][kPairs];
#pragma unroll
    for (int i = 0; i < 32; i++) {
      if (i == kRefill) refill();
      if (i % packed_run == 0) {
        float starts[kPairs];
        read_floats<kPairs>(buffer + L::kStarts + i / packed_run * kPairs, starts);
#pragma unroll
        for (int r = 0; r < R; r++) {
#pragma unroll
          for (int p = 0; p < kPairs; p++) runs[r][p] = starts[p];
        }
      }
      float w[R], x[kPairs];
#pragma unroll
      for (int r = 0; r < R; r++) w[r] = P::field(now[r], i);
      read_floats<kPairs>(buffer + i * kPairs, x);
#pragma unroll
      for (int r = 0; r < R; r++) {
#pragma unroll
        for (int p = 0; p < kPairs; p++) runs[r][p] = fmaf(w[r], x[p], runs[r][p]);
      }
      if ((i + 1) % packed_run != 0) continue;
      const int run = i / packed_run;
      float scales[T];
      read_floats<T>(buffer + L::kScales + run * T, scales);
#pragma unroll
      for (int p = 0; p < kPairs; p++) {
#pragma unroll
        for (int r = 0; r < R; r++) {
          constexpr float magic = 12582912.0f * packed_unit;
          const float by = factors[r].scale[P::kScales == 1 ? 0 : run];
          float low = runs[r][p];
          if constexpr (kHalves == 2) {
            const float high = __fsub_rn(fmaf(runs[r][p], 1.0f / packed_base, magic), magic);
            low = fmaf(-packed_base, high, runs[r][p]);
            sums[r][2 * p + 1] = fmaf(__fmul_rn(by, scales[2 * p + 1]), high, sums[r][2 * p + 1]);
          }
          sums[r][kHalves * p] = fmaf(__fmul_rn(by, scales[kHalves * p]), low, sums[r][kHalves * p]);
        }
      }
      if (P::kMinimums == 2 || (P::kMinimums == 1 && i == 31)) {
        float of[T];
        read_floats<T>(buffer + L::kSumsAt + (P::kMinimums == 2 ? run * T : 0), of);
#pragma unroll
        for (int t = 0; t < T; t++) {
#pragma unroll
          for (int r = 0; r < R; r++) sums[r][t] = fmaf(factors[r].minimum[P::kMinimums == 2 ? run : 0], of[t], sums[r][t]);
        }
      }
    }
    block++;
    if (F::kHasSuper && block % 8 == 0 && block < end) {
      cursor.next_super();
      open_super(0);
    }
  };

  load_quants(first);
  load_pairs();
  load_scale();
  if (F::kHasSuper) open_super(block);
#pragma unroll 1
  while (block < end) {
    if constexpr (kTwo) {
      walk_block(first, second);
      if (block >= end) break;
      walk_block(second, first);
    } else {
      walk_block(first, first);
    }
  }
}

}  // namespace m40::cuda

#endif
