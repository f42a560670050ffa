// The kernels that a tensor type's products are made of. Each type is instantiated in one of matmul_*.cu, so that
// compilers can share the work.
#ifndef M40_OPS_MATMUL_LAUNCH_CUH
#define M40_OPS_MATMUL_LAUNCH_CUH

#include "../kernels/matmul_decode.cuh"
#include "../kernels/matmul_prefill.cuh"

namespace m40::cuda {

// Tokens that a thread block of the decode kernel takes, of those compiled: for as many as there are.
inline uint32_t decode_tokens(uint32_t n_tokens) { return n_tokens <= 1 ? 1 : n_tokens <= 2 ? 2 : n_tokens <= 4 ? 4 : n_tokens <= 8 ? 8 : 16; }
// Groups of 32 rows of a thread block's warps.
constexpr uint32_t decode_row_groups(uint32_t tokens) { return tokens <= 2 ? 2 : 4; }
constexpr int decode_residency(uint32_t tokens) { return tokens <= 2 ? 4 : tokens <= 4 ? 2 : 1; }

template <uint32_t kType>
void launch_decode(const DecodeArgs& args, uint32_t tokens, uint32_t n_blocks, cudaStream_t stream);
template <uint32_t kType>
void launch_prefill(const PrefillArgs& args, uint32_t n_tiles, cudaStream_t stream);
template <uint32_t kType>
void launch_experts(const ExpertArgs& args, uint32_t n_blocks, cudaStream_t stream);

constexpr uint32_t expert_row_groups = 2;

#ifdef M40_MATMUL_INSTANTIATE

template <uint32_t kType, int T>
void launch_decode_of(const DecodeArgs& args, uint32_t n_blocks, cudaStream_t stream) {
  M40_LAUNCH((matmul_decode<kType, T, decode_row_groups(T), decode_residency(T)>), dim3(n_blocks), dim3(decode_warps * 32), 0, stream, args);
}

template <uint32_t kType>
void launch_decode(const DecodeArgs& args, uint32_t tokens, uint32_t n_blocks, cudaStream_t stream) {
  switch (tokens) {
    case 1: return launch_decode_of<kType, 1>(args, n_blocks, stream);
    case 2: return launch_decode_of<kType, 2>(args, n_blocks, stream);
    case 4: return launch_decode_of<kType, 4>(args, n_blocks, stream);
    case 8: return launch_decode_of<kType, 8>(args, n_blocks, stream);
    default: return launch_decode_of<kType, 16>(args, n_blocks, stream);
  }
}

template <uint32_t kType>
void launch_prefill(const PrefillArgs& args, uint32_t n_tiles, cudaStream_t stream) {
  const dim3 grid(n_tiles, (args.n_tokens + prefill_tokens - 1) / prefill_tokens);
  M40_LAUNCH((matmul_prefill<kType>), grid, dim3(prefill_threads), 0, stream, args);
}

template <uint32_t kType>
void launch_experts(const ExpertArgs& args, uint32_t n_blocks, cudaStream_t stream) {
  const dim3 grid(n_blocks, args.decode.n_tokens);
  M40_LAUNCH((matmul_experts<kType, expert_row_groups, 4>), grid, dim3(decode_warps * 32), 0, stream, args);
}

#define M40_MATMUL_TYPE(name)                                                                              \
  template void launch_decode<M40_TYPE_##name>(const DecodeArgs&, uint32_t, uint32_t, cudaStream_t);         \
  template void launch_prefill<M40_TYPE_##name>(const PrefillArgs&, uint32_t, cudaStream_t);                 \
  template void launch_experts<M40_TYPE_##name>(const ExpertArgs&, uint32_t, cudaStream_t);

#endif

}  // namespace m40::cuda

#endif
