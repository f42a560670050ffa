// A thread's share of the weights of prefill's tiles: one row, 16 columns at a time.
#ifndef M40_KERNELS_PREFILL_LOADER_CUH
#define M40_KERNELS_PREFILL_LOADER_CUH

#include "formats.cuh"

namespace m40::cuda {

template <uint32_t kType>
struct PrefillLoader {
  using F = Format<kType>;
  static constexpr int kHeld = F::kColumns == 8 ? 2 : 1;  // loads of quants that 16 columns take
  typename F::Cursor cursor;
  typename F::Quants quants[kHeld];
  typename F::Scale scale;
  typename F::StoredSuper super;
  typename F::Factors factors;
  uint32_t word, block;

  __device__ __forceinline__ PrefillLoader(const PackedWeight& weight, uint32_t row, uint32_t first_block)
      : cursor(weight, row, first_block), word(0), block(first_block) {}

  // Columns 0 to 15 of a block are half 0, the others half 1; called with 0 and 1 in turn. `more`: whether a block
  // follows this one.
  template <int kHalf>
  __device__ __forceinline__ void load(bool more) {
    if (F::kColumns < 32 || kHalf == 0) {
#pragma unroll
      for (int i = 0; i < kHeld; i++) quants[i] = cursor.quants(F::kColumns == 32 ? 0 : kHalf * kHeld + i, 0);
    }
    if (kHalf == 0) {
      if constexpr (F::kSuperWords != 0) word = cursor.super_word(0, block % 8 / (8 / F::kSuperWords));
      scale = cursor.scale(0);
      // With every block: a branch would have to wait for what it loads.
      super = cursor.super(0);
    } else if (more) {
      cursor.next_block();
      block++;
      if (F::kHasSuper && block % 8 == 0) cursor.next_super();
    }
  }

  // The 16 columns that were loaded last, one below the other.
  template <int kHalf>
  __device__ __forceinline__ void store(float* to, int stride, const Bases& bases) {
    if (kHalf == 0) factors = F::factors(open_at<F>(super, block), scale, word, block);
    typename F::Expanded expanded[kHeld];
#pragma unroll
    for (int i = 0; i < kHeld; i++) expanded[i] = F::expand(quants[i], scale, bases);
#pragma unroll
    for (int i = 0; i < 16; i++) {
      const int column = F::kColumns == 32 ? 16 * kHalf + i : i % F::kColumns;
      to[i * stride] = F::weight(expanded[F::kColumns == 8 ? i / 8 : 0], column, factors, bases);
    }
  }
};

}  // namespace m40::cuda

#endif
