// The kernels that a tensor type's products are made of. Each type is instantiated in one of matmul_*.cu, so that
// compilers can share the work.
#ifndef M40_OPS_MATMUL_LAUNCH_CUH
#define M40_OPS_MATMUL_LAUNCH_CUH

#include "../kernels/matmul_decode.cuh"
#include "../kernels/matmul_prefill.cuh"

namespace m40::cuda {

// Tokens that a thread block of the decode kernels takes, of those compiled: for as many as there are.
inline uint32_t decode_tokens(uint32_t n_tokens) { return n_tokens <= 1 ? 1 : n_tokens <= 2 ? 2 : n_tokens <= 4 ? 4 : n_tokens <= 8 ? 8 : 16; }
inline bool decode_is_narrow(uint32_t tokens) { return tokens <= 2; }
// Groups of 32 rows that a warp takes.
inline uint32_t decode_row_groups(uint32_t tokens, uint64_t all_rows) { return !decode_is_narrow(tokens) ? 4 : all_rows >= 8192 ? 2 : 1; }

struct DecodeLaunch {
  uint32_t tokens;      // decode_tokens()
  uint32_t row_groups;  // decode_row_groups()
  uint32_t n_blocks;    // thread blocks, of all row sets
  uint32_t n_warps;     // narrow: of a thread block
  uint32_t most_splits; // narrow
};

template <uint32_t kType>
void launch_decode(const DecodeArgs& args, const DecodeLaunch& launch, cudaStream_t stream);
template <uint32_t kType>
void launch_prefill(const PrefillArgs& args, uint32_t n_tiles, cudaStream_t stream);
template <uint32_t kType>
void launch_experts(const ExpertArgs& args, const DecodeLaunch& launch, cudaStream_t stream);

#ifdef M40_MATMUL_INSTANTIATE

// Loads of quants that a warp has under way: 16 bytes a row each, or 32.
template <uint32_t kType, int R>
constexpr int narrow_depth() {
  using F = Format<kType>;
  return F::kLoads > 1 ? (F::kWords > 4 ? 2 : F::kLoads) : R == 1 ? 4 : 2;
}

template <uint32_t kType, int T, int R>
void launch_narrow(const DecodeArgs& args, const DecodeLaunch& launch, cudaStream_t stream) {
  constexpr int kThreads = R == 1 ? 512 : 256, kResidency = R == 1 ? 2 : 3, D = narrow_depth<kType, R>();
  const uint32_t shared_bytes = narrow_shared_bytes<kType, T, R>(launch.n_warps, launch.most_splits);
  M40_LAUNCH((matmul_narrow<kType, T, R, D, kThreads, kResidency>), dim3(launch.n_blocks, (args.n_tokens + T - 1) / T), dim3(launch.n_warps * 32),
             shared_bytes, stream, args);
}

template <uint32_t kType>
void launch_decode(const DecodeArgs& args, const DecodeLaunch& launch, cudaStream_t stream) {
  switch (launch.tokens) {
    case 1: return launch.row_groups == 1 ? launch_narrow<kType, 1, 1>(args, launch, stream) : launch_narrow<kType, 1, 2>(args, launch, stream);
    case 2: return launch.row_groups == 1 ? launch_narrow<kType, 2, 1>(args, launch, stream) : launch_narrow<kType, 2, 2>(args, launch, stream);
    case 4: M40_LAUNCH((matmul_wide<kType, 4, 4, 1, 8, 2>), dim3(launch.n_blocks), dim3(256), 0, stream, args); return;
    case 8: M40_LAUNCH((matmul_wide<kType, 8, 4, 1, 8, 2>), dim3(launch.n_blocks), dim3(256), 0, stream, args); return;
    default: M40_LAUNCH((matmul_wide<kType, 16, 4, 1, 4, 3>), dim3(launch.n_blocks), dim3(128), 0, stream, args); return;
  }
}

template <uint32_t kType>
void launch_prefill(const PrefillArgs& args, uint32_t n_tiles, cudaStream_t stream) {
  const dim3 grid(n_tiles, (args.n_tokens + prefill_tokens - 1) / prefill_tokens);
  M40_LAUNCH((matmul_prefill<kType>), grid, dim3(prefill_threads), 0, stream, args);
}

template <uint32_t kType>
void launch_experts(const ExpertArgs& args, const DecodeLaunch& launch, cudaStream_t stream) {
  constexpr int R = 1, D = narrow_depth<kType, R>();
  const dim3 grid(launch.n_blocks, args.decode.n_tokens);
  const uint32_t shared_bytes = narrow_shared_bytes<kType, 1, R>(launch.n_warps, launch.most_splits);
  M40_LAUNCH((matmul_experts<kType, R, D, 512, 2>), grid, dim3(launch.n_warps * 32), shared_bytes, stream, args);
}

#define M40_MATMUL_TYPE(name)                                                                              \
  template void launch_decode<M40_TYPE_##name>(const DecodeArgs&, const DecodeLaunch&, cudaStream_t);         \
  template void launch_prefill<M40_TYPE_##name>(const PrefillArgs&, uint32_t, cudaStream_t);                 \
  template void launch_experts<M40_TYPE_##name>(const ExpertArgs&, const DecodeLaunch&, cudaStream_t);

#endif

}  // namespace m40::cuda

#endif
