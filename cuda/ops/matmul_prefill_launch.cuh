// The kernels that a tensor type's products of prompts are made of. Each type is instantiated in one of
// matmul_prefill_*.cu, so that compilers can share the work.
#ifndef M40_OPS_MATMUL_PREFILL_LAUNCH_CUH
#define M40_OPS_MATMUL_PREFILL_LAUNCH_CUH

#include "../kernels/matmul_prefill.cuh"

namespace m40::cuda {

template <uint32_t kType>
void launch_prefill(const PrefillArgs& args, uint32_t n_tiles, cudaStream_t stream);

#ifdef M40_MATMUL_INSTANTIATE

template <uint32_t kType>
void launch_prefill(const PrefillArgs& args, uint32_t n_tiles, cudaStream_t stream) {
  const dim3 grid(n_tiles, (args.n_tokens + prefill_tokens - 1) / prefill_tokens);
  if (args.aligned) {
    M40_LAUNCH((matmul_prefill<kType, true>), grid, dim3(prefill_threads), 0, stream, args);
  } else {
    M40_LAUNCH((matmul_prefill<kType, false>), grid, dim3(prefill_threads), 0, stream, args);
  }
}

#define M40_MATMUL_TYPE(name) template void launch_prefill<M40_TYPE_##name>(const PrefillArgs&, uint32_t, cudaStream_t);

#endif

}  // namespace m40::cuda

#endif
