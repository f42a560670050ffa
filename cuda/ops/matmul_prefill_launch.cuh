// The kernels that a tensor type's products of prompts are made of. Each type is instantiated in one of
// matmul_prefill_*.cu, so that compilers can share the work.
#ifndef M40_OPS_MATMUL_PREFILL_LAUNCH_CUH
#define M40_OPS_MATMUL_PREFILL_LAUNCH_CUH

#include "../kernels/matmul_prefill_experts.cuh"
#include "rare_types.h"

namespace m40::cuda {

// Whether a product has tiles of so many tokens.
constexpr bool has_prefill_tile(uint32_t type, uint32_t tokens, bool aligned) { return !is_rare(type) || tokens == 32 || (tokens == 128 && aligned); }

struct MatmulPrefillLaunch {
  uint32_t tile_tokens;  // 128, 64 or 32
  bool aligned;          // columns are a multiple of 32, and four of the input can be loaded at once
};

template <uint32_t kType>
void launch_prefill(const MatmulPrefillArgs& args, const MatmulPrefillLaunch& launch, cudaStream_t stream);
// Tiles are of 64 tokens or of 32; those whose input is not aligned, of 32.
template <uint32_t kType>
void launch_prefill_experts(const MatmulPrefillExpertArgs& args, const MatmulPrefillLaunch& launch, cudaStream_t stream);

#ifdef M40_MATMUL_INSTANTIATE

template <uint32_t kType, int kTokens>
void launch_prefill_tiles(const MatmulPrefillArgs& args, bool aligned, cudaStream_t stream) {
  const dim3 grid(args.n_tiles * ((args.n_tokens + kTokens - 1) / kTokens));
  if (aligned) {
    M40_LAUNCH((matmul_prefill_kernel<kType, kTokens, true>), grid, dim3(prefill_threads), 0, stream, args);
  } else if constexpr (has_prefill_tile(kType, kTokens, false)) {
    M40_LAUNCH((matmul_prefill_kernel<kType, kTokens, false>), grid, dim3(prefill_threads), 0, stream, args);
  }
}

template <uint32_t kType>
void launch_prefill(const MatmulPrefillArgs& args, const MatmulPrefillLaunch& launch, cudaStream_t stream) {
  switch (launch.tile_tokens) {
    case 128: return launch_prefill_tiles<kType, 128>(args, launch.aligned, stream);
    case 64:
      if constexpr (has_prefill_tile(kType, 64, true)) launch_prefill_tiles<kType, 64>(args, launch.aligned, stream);
      return;
    default: return launch_prefill_tiles<kType, 32>(args, launch.aligned, stream);
  }
}

template <uint32_t kType>
void launch_prefill_experts(const MatmulPrefillExpertArgs& args, const MatmulPrefillLaunch& launch, cudaStream_t stream) {
  const dim3 grid(args.product.n_tiles * args.groups.n_tiles), block(prefill_threads);
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
