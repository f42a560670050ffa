// Repacking by type.
#include "../kernels/repack.cuh"

#include "../common/tensor_types.h"

namespace m40::cuda {

uint64_t raw_row_bytes(uint32_t type, uint32_t columns) {
  const TensorType* t = find_tensor_type(type);
  return t == nullptr ? 0 : uint64_t{columns} / t->block_weights * t->block_bytes;
}

namespace {

template <uint32_t kType>
void launch(const void* raw, const PackedWeight& weight, uint64_t first_row, uint64_t n_rows, cudaStream_t stream) {
  const dim3 grid(static_cast<uint32_t>((n_rows + repack_threads - 1) / repack_threads), packed_blocks(weight.columns));
  const RepackArgs args = {raw_row_bytes(kType, weight.columns), weight, first_row, n_rows};
  M40_LAUNCH((repack_kernel<kType>), grid, dim3(repack_threads), 0, stream, static_cast<const uint8_t*>(raw), args);
}

}  // namespace

void launch_repack(const void* raw, const PackedWeight& weight, uint64_t first_row, uint64_t n_rows, cudaStream_t stream) {
  if (n_rows == 0) return;
  switch (weight.type) {
#define M40_TYPE(name) case M40_TYPE_##name: return launch<M40_TYPE_##name>(raw, weight, first_row, n_rows, stream);
    M40_TYPE(F32) M40_TYPE(F16) M40_TYPE(BF16) M40_TYPE(Q4_0) M40_TYPE(Q4_1) M40_TYPE(Q5_0) M40_TYPE(Q5_1) M40_TYPE(Q8_0)
    M40_TYPE(Q2_K) M40_TYPE(Q3_K) M40_TYPE(Q4_K) M40_TYPE(Q5_K) M40_TYPE(Q6_K) M40_TYPE(IQ4_NL) M40_TYPE(IQ4_XS)
    M40_TYPE(IQ1_S) M40_TYPE(IQ1_M) M40_TYPE(IQ2_XXS) M40_TYPE(IQ2_XS) M40_TYPE(IQ2_S) M40_TYPE(IQ3_XXS) M40_TYPE(IQ3_S)
    M40_TYPE(TQ1_0) M40_TYPE(TQ2_0) M40_TYPE(MXFP4) M40_TYPE(NVFP4)
#undef M40_TYPE
    default: return;
  }
}

}  // namespace m40::cuda
