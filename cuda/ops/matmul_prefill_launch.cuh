// The kernels that a tensor type's products of prompts are made of. Each type is instantiated in one of
// matmul_prefill_*.cu, so that compilers can share the work.
#ifndef M40_OPS_MATMUL_PREFILL_LAUNCH_CUH
#define M40_OPS_MATMUL_PREFILL_LAUNCH_CUH

#include "../kernels/matmul_prefill_experts.cuh"
#include "multiprocessors.h"
#include "rare_types.h"

namespace m40::cuda {

// Whether a product has tiles of so many tokens.
constexpr bool has_prefill_tile(uint32_t type, uint32_t tokens, bool aligned) { return !is_rare(type) || tokens == 32 || (tokens == 128 && aligned); }

struct MatmulPrefillLaunch {
  uint32_t tile_tokens;  // 128, 64 or 32
  uint32_t share;        // of the device's places for thread blocks: limited_blocks()
  bool aligned;          // columns are a multiple of 32, and four of the input can be loaded at once
};

template <uint32_t kType>
void launch_prefill(const MatmulPrefillArgs& args, const MatmulPrefillLaunch& launch, cudaStream_t stream);
// Tiles are of 64 tokens or of 32; those whose input is not aligned, of 32.
template <uint32_t kType>
void launch_prefill_experts(const MatmulPrefillExpertArgs& args, const MatmulPrefillLaunch& launch, cudaStream_t stream);

#ifdef M40_MATMUL_INSTANTIATE

template <uint32_t kType, int kTokens>
void launch_prefill_tiles(MatmulPrefillArgs args, const MatmulPrefillLaunch& launch, cudaStream_t stream) {
  args.n_blocks = args.n_tiles * ((args.n_tokens + kTokens - 1) / kTokens);
  const dim3 grid(limited_blocks(args.n_blocks, prefill_residency(kTokens), launch.share));
  if (launch.aligned) {
    M40_LAUNCH((matmul_prefill_kernel<kType, kTokens, true>), grid, dim3(prefill_threads), 0, stream, args);
  } else if constexpr (has_prefill_tile(kType, kTokens, false)) {
    M40_LAUNCH((matmul_prefill_kernel<kType, kTokens, false>), grid, dim3(prefill_threads), 0, stream, args);
  }
}

template <uint32_t kType>
void launch_prefill(const MatmulPrefillArgs& args, const MatmulPrefillLaunch& launch, cudaStream_t stream) {
  switch (launch.tile_tokens) {
    case 128: return launch_prefill_tiles<kType, 128>(args, launch, stream);
    case 64:
      if constexpr (has_prefill_tile(kType, 64, true)) launch_prefill_tiles<kType, 64>(args, launch, stream);
      return;
    default: return launch_prefill_tiles<kType, 32>(args, launch, stream);
  }
}

template <uint32_t kType>
void launch_prefill_experts(const MatmulPrefillExpertArgs& given, const MatmulPrefillLaunch& launch, cudaStream_t stream) {
  MatmulPrefillExpertArgs args = given;
  const uint32_t tokens = launch.aligned ? launch.tile_tokens : 32, n_blocks = args.product.n_blocks = args.product.n_tiles * args.groups.n_tiles;
  const dim3 grid(limited_blocks(n_blocks, prefill_residency(static_cast<int>(tokens)), launch.share)), block(prefill_threads);
  if (!launch.aligned) {
    M40_LAUNCH((matmul_prefill_experts_kernel<kType, 32, false>), grid, block, 0, stream, args);
  } else if (launch.tile_tokens == 32) {
    M40_LAUNCH((matmul_prefill_experts_kernel<kType, 32, true>), grid, block, 0, stream, args);
  } else {
    M40_LAUNCH((matmul_prefill_experts_kernel<kType, 64, true>), grid, block, 0, stream, args);
  }
}

#define M40_MATMUL_TYPE(name)                                                                                  \
  template void launch_prefill<M40_TYPE_##name>(const MatmulPrefillArgs&, const MatmulPrefillLaunch&, cudaStream_t); \
  template void launch_prefill_experts<M40_TYPE_##name>(const MatmulPrefillExpertArgs&, const MatmulPrefillLaunch&, cudaStream_t);

#endif

}  // namespace m40::cuda

#endif
