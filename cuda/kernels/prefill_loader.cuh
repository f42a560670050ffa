// A thread's share of the weights of prefill's tiles: one row, 16 columns at a time.
#ifndef M40_KERNELS_PREFILL_LOADER_CUH
#define M40_KERNELS_PREFILL_LOADER_CUH

#include "formats.cuh"

namespace m40::cuda {

template <uint32_t kType>
struct PrefillLoader {
  using F = Format<kType>;
  static constexpr int kHeld = F::kColumns == 8 ? 2 : 1;  // loads of quants that 16 columns take
  // Whether both halves of a block are stored by the same instructions: then the second is made to lie as the first.
  static constexpr bool kHalvesAlike = F::kColumns < 32 || F::kAlike <= 16;
  typename F::Cursor cursor;
  typename F::Quants quants[kHeld];
  typename F::Scale scale, next_scale;
  typename F::StoredSuper next_super;
  typename F::Factors factors;
  uint32_t next_word, block;  // where the cursor is; what is called next is of it

  __device__ __forceinline__ PrefillLoader(const PackedWeight& weight, uint32_t row, uint32_t first_block) : cursor(weight, row, first_block), block(first_block) {
    load_scales();
  }

  // Columns 0 to 15 of a block are half 0, the others half 1; called with 0 and 1 in turn. `more`: whether a block
  // follows this one. A block's scales are loaded half a block before its quants, and are floats before those come.
  template <int kHalf>
  __device__ __forceinline__ void load(bool more) {
    if (F::kColumns < 32 || kHalf == 0) {
#pragma unroll
      for (int i = 0; i < kHeld; i++) quants[i] = cursor.quants(F::kColumns == 32 ? 0 : kHalf * kHeld + i, 0);
    } else if constexpr (kHalvesAlike) {
      F::template skip_columns<16>(quants[0]);
      to_second_half(factors);
    }
    if (kHalf == 0) {
      scale = next_scale;
      factors = F::factors(open_at<F>(next_super, block), scale, next_word, block);
    } else {
      if (more) {
        cursor.next_block();
        block++;
        if (F::kHasSuper && block % 8 == 0) cursor.next_super();
      }
      load_scales();
    }
  }

  // The 16 columns that were loaded last, those of a half, one below the other. Calls beside(i) after column i.
  template <class Beside>
  __device__ __forceinline__ void store(uint32_t half, float* to, int stride, const Bases& bases, const Beside& beside) {
    if (kHalvesAlike || half == 0) {
      store_from<0>(to, stride, bases, beside);
    } else {
      store_from<16 % F::kColumns>(to, stride, bases, beside);
    }
  }

 private:
  __device__ __forceinline__ void load_scales() {
    next_word = 0;
    if constexpr (F::kSuperWords != 0) next_word = cursor.super_word(0, block % 8 / (8 / F::kSuperWords));
    next_scale = cursor.scale(0);
    // With every block: a branch would have to wait for what it loads.
    next_super = cursor.super(0);
  }

  template <int kFirst, class Beside>
  __device__ __forceinline__ void store_from(float* to, int stride, const Bases& bases, const Beside& beside) {
    typename F::Expanded expanded[kHeld];
#pragma unroll
    for (int i = 0; i < kHeld; i++) expanded[i] = F::expand(quants[i], scale, bases);
#pragma unroll
    for (int i = 0; i < 16; i++) {
      to[i * stride] = F::weight(expanded[F::kColumns == 8 ? i / 8 : 0], kFirst + i % F::kColumns, factors, bases);
      beside(i);
    }
  }
};

}  // namespace m40::cuda

#endif
