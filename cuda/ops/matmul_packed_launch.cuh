// The kernels of packed pairs that a tensor type has. Each type is instantiated in one of matmul_packed_*.cu, so that
// compilers can share the work.
#ifndef M40_OPS_MATMUL_PACKED_LAUNCH_CUH
#define M40_OPS_MATMUL_PACKED_LAUNCH_CUH

#include "../kernels/matmul_decode_packed.cuh"
#include "../kernels/matmul_experts_packed.cuh"
#include "../kernels/matmul_prefill_packed.cuh"
#include "../kernels/packed_inputs.cuh"
#include "matmul_packed.h"
#include "multiprocessors.h"

namespace m40::cuda {

// share: of the device's places for thread blocks, limited_blocks().
template <uint32_t kType>
void launch_packed_inputs(const PackedInputsArgs& args, uint32_t tokens, uint32_t share, cudaStream_t stream);
template <uint32_t kType>
void launch_decode_packed(const MatmulDecodeArgs& args, uint32_t tokens, uint32_t n_blocks, cudaStream_t stream);
template <uint32_t kType>
void launch_prefill_packed(const MatmulPrefillPackedArgs& args, uint32_t tokens, uint32_t share, cudaStream_t stream);

// Makes the pairs of args.n_tiles tiles, then multiplies. row_groups: as launch_experts() has it.
template <uint32_t kType>
void launch_experts_packed(const MatmulExpertsPackedArgs& args, uint32_t row_groups, uint32_t share, cudaStream_t stream);

// Thread blocks a multiprocessor that the compiler is to leave registers for.
constexpr uint32_t packed_inputs_residency = 8;
constexpr int packed_residency(int tokens) { return tokens == 16 ? 1 : 2; }

#ifdef M40_PACKED_INSTANTIATE

// Calls f with the tokens of a group as a template argument.
template <class Function>
void for_packed_tokens(uint32_t tokens, const Function& f) {
  switch (tokens) {
    case 1: return f(std::integral_constant<int, 1>());
    case 2: return f(std::integral_constant<int, 2>());
    case 4: return f(std::integral_constant<int, 4>());
    case 8: return f(std::integral_constant<int, 8>());
    default: return f(std::integral_constant<int, 16>());
  }
}

template <uint32_t kType>
void launch_packed_inputs(const PackedInputsArgs& given, uint32_t tokens, uint32_t share, cudaStream_t stream) {
  for_packed_tokens(tokens, [&](auto t) {
    constexpr int T = decltype(t)::value;
    PackedInputsArgs args = given;
    args.n_blocks = static_cast<uint32_t>(packed_inputs_blocks<T>(args.n_tokens, args.columns));
    M40_LAUNCH((packed_inputs_kernel<kType, T>), dim3(limited_blocks(args.n_blocks, packed_inputs_residency, share)), dim3(packed_inputs_threads), 0, stream, args);
  });
}

template <uint32_t kType>
void launch_decode_packed(const MatmulDecodeArgs& args, uint32_t tokens, uint32_t n_blocks, cudaStream_t stream) {
  for_packed_tokens(tokens, [&](auto t) {
    constexpr int T = decltype(t)::value;
    M40_LAUNCH((matmul_decode_packed_kernel<kType, T, 4, packed_residency(T)>), dim3(n_blocks), dim3(decode_split_parts * 32), 0, stream, args);
  });
}

// tokens: 8 or 16.
template <uint32_t kType>
void launch_prefill_packed(const MatmulPrefillPackedArgs& args, uint32_t tokens, uint32_t share, cudaStream_t stream) {
  const dim3 grid(limited_blocks(args.product.n_blocks, static_cast<uint32_t>(packed_residency(static_cast<int>(tokens))), share)), block(packed_prefill_warps * 32);
  if (tokens == 8) {
    M40_LAUNCH((matmul_prefill_packed_kernel<kType, 8, packed_residency(8)>), grid, block, 0, stream, args);
  } else {
    M40_LAUNCH((matmul_prefill_packed_kernel<kType, 16, packed_residency(16)>), grid, block, 0, stream, args);
  }
}

template <uint32_t kType, int R, int kMost, int kResidency>
void launch_experts_packed_as(const MatmulExpertsPackedArgs& args, uint32_t share, cudaStream_t stream) {
  const dim3 grid(limited_blocks(args.n_blocks, kResidency, share));
  M40_LAUNCH((matmul_experts_packed_kernel<kType, R, kMost, kResidency>), grid, dim3(expert_threads), 0, stream, args);
}

template <uint32_t kType>
void launch_experts_packed(const MatmulExpertsPackedArgs& given, uint32_t row_groups, uint32_t share, cudaStream_t stream) {
  MatmulExpertsPackedArgs args = given;
  args.n_blocks = static_cast<uint32_t>(packed_expert_inputs_blocks(args.n_tiles, args.tile_slots, args.experts.decode.columns));
  M40_LAUNCH((packed_expert_inputs_kernel<kType>), dim3(limited_blocks(args.n_blocks, packed_inputs_residency, share)), dim3(packed_inputs_threads), 0, stream, args);
  args.n_blocks = args.n_tiles * args.experts.row_blocks;
  if (args.tile_slots > 1) {
    launch_experts_packed_as<kType, 4, static_cast<int>(expert_tile_rows), 2>(args, share, stream);
  } else if (row_groups == 2) {
    launch_experts_packed_as<kType, 2, 1, 3>(args, share, stream);
  } else {
    launch_experts_packed_as<kType, 4, 1, 2>(args, share, stream);
  }
}

#define M40_PACKED_TYPE(name)                                                                       \
  template void launch_experts_packed<M40_TYPE_##name>(const MatmulExpertsPackedArgs&, uint32_t, uint32_t, cudaStream_t); \
  template void launch_prefill_packed<M40_TYPE_##name>(const MatmulPrefillPackedArgs&, uint32_t, uint32_t, cudaStream_t); \
  template void launch_packed_inputs<M40_TYPE_##name>(const PackedInputsArgs&, uint32_t, uint32_t, cudaStream_t); \
  template void launch_decode_packed<M40_TYPE_##name>(const MatmulDecodeArgs&, uint32_t, uint32_t, cudaStream_t);

#endif

}  // namespace m40::cuda

#endif
