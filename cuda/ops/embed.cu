// Rows of weights as floats: embeddings, and what m40_tensor_read gives.
#include "../kernels/embed.cuh"

#include "launch_list.h"
#include "ops.h"

namespace m40::cuda {

namespace {

constexpr uint32_t most_rows = 65535;  // of a grid's second dimension

uint32_t column_blocks(uint32_t columns) { return (packed_blocks(columns) + embed_threads - 1) / embed_threads; }

// Calls f with the type as a template argument.
template <class Function>
void for_type(uint32_t type, const Function& f) {
  switch (type) {
#define M40_TYPE(name) case M40_TYPE_##name: return f(std::integral_constant<uint32_t, M40_TYPE_##name>());
    M40_TYPE(F32) M40_TYPE(F16) M40_TYPE(BF16) M40_TYPE(Q4_0) M40_TYPE(Q4_1) M40_TYPE(Q5_0) M40_TYPE(Q5_1) M40_TYPE(Q8_0)
    M40_TYPE(Q2_K) M40_TYPE(Q3_K) M40_TYPE(Q4_K) M40_TYPE(Q5_K) M40_TYPE(Q6_K) M40_TYPE(IQ4_NL) M40_TYPE(IQ4_XS)
    M40_TYPE(IQ1_S) M40_TYPE(IQ1_M) M40_TYPE(IQ2_XXS) M40_TYPE(IQ2_XS) M40_TYPE(IQ2_S) M40_TYPE(IQ3_XXS) M40_TYPE(IQ3_S)
    M40_TYPE(TQ1_0) M40_TYPE(TQ2_0) M40_TYPE(MXFP4) M40_TYPE(NVFP4)
#undef M40_TYPE
    default: return;
  }
}

void embed_from(const EmbedArgs& args, const PackedWeight& table, const uint32_t* rows, bool adds, uint32_t n_tokens, cudaStream_t stream) {
  for_type(table.type, [&](auto type) {
    for (uint32_t first = 0; first < n_tokens; first += most_rows) {
      const uint32_t n = n_tokens - first < most_rows ? n_tokens - first : most_rows;
      const EmbedKernelArgs kernel = {args.output + size_t{first} * args.output_stride, args.output_stride, table, rows + first, args.columns, args.scale, adds};
      M40_LAUNCH_BODY(body_key(Body::kEmbed, table.type, table.type), (embed_kernel<decltype(type)::value>), dim3(column_blocks(args.columns), n), dim3(embed_threads), 0, stream, kernel);
    }
  });
}

}  // namespace

void launch_embed(const EmbedArgs& args, const StepView& step, cudaStream_t stream) {
  embed_from(args, args.table, reinterpret_cast<const uint32_t*>(step.tokens), false, step.n_tokens, stream);
  if (args.has_positions) embed_from(args, args.position_table, step.positions, true, step.n_tokens, stream);
}

void launch_read_rows(const PackedWeight& weight, uint64_t first_row, uint32_t n_rows, float* values, cudaStream_t stream) {
  for_type(weight.type, [&](auto type) {
    for (uint32_t first = 0; first < n_rows; first += most_rows) {
      const uint32_t n = n_rows - first < most_rows ? n_rows - first : most_rows;
      const ReadRowsArgs kernel = {weight, first_row + first, values + uint64_t{first} * weight.columns};
      M40_LAUNCH((read_rows_kernel<decltype(type)::value>), dim3(column_blocks(weight.columns), n), dim3(embed_threads), 0, stream, kernel);
    }
  });
}

}  // namespace m40::cuda
