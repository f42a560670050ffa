#include "../kernels/norm.cuh"

#include "launch_list.h"
#include "ops.h"

namespace m40::cuda {

namespace {

template <bool kLayer, int kValues, NormGate kGate>
void launch(const NormArgs& args, cudaStream_t stream) {
  M40_LAUNCH((norm_kernel<kLayer, kValues, kGate>), dim3(args.n_rows * args.n_groups), dim3(norm_threads), 0, stream, args);
}

template <bool kLayer, int kFours, NormGate kGate>
void launch_fours(const NormArgs& args, cudaStream_t stream) {
  M40_LAUNCH((norm_fours_kernel<kLayer, kFours, kGate>), dim3(args.n_rows * args.n_groups), dim3(norm_fours_threads), 0, stream, args);
}

bool by_fours(const void* pointer, uint32_t stride) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0 && stride % 4 == 0; }

// Which kernel it is follows from the operation alone: rows have the same bits in any number.
template <bool kLayer, NormGate kGate>
void launch_for(const NormArgs& args, cudaStream_t stream) {
  const uint32_t columns = args.columns;
  const bool fours = by_fours(args.input, args.input_stride) && by_fours(args.residual, args.residual_stride) &&
                     by_fours(args.output, args.output_stride) && by_fours(args.weight, columns) && by_fours(args.bias, columns) && by_fours(args.gate, args.gate_stride);
  if (fours && columns <= 2 * norm_threads) return launch_fours<kLayer, 2, kGate>(args, stream);
  if (fours && columns <= 8 * norm_threads) return launch_fours<kLayer, 8, kGate>(args, stream);
  if (fours && columns <= 16 * norm_threads) return launch_fours<kLayer, 16, kGate>(args, stream);
  if (columns <= 8 * norm_threads) return launch<kLayer, 8, kGate>(args, stream);
  launch<kLayer, 0, kGate>(args, stream);
}

}  // namespace

// A grid's first dimension has room for 2^31 - 1 blocks: a buffer of more groups would have 8 GB at least.
void launch_norm(const NormArgs& args, cudaStream_t stream) {
  if (LaunchList* list = LaunchList::current()) return list->add(body_key(Body::kNorm), dim3(args.n_rows * args.n_groups), args);
  if (args.norm == M40_NORM_LAYER) return launch_for<true, NormGate::kNone>(args, stream);
  switch (args.gates) {
    case NormGate::kNone: return launch_for<false, NormGate::kNone>(args, stream);
    case NormGate::kInput: return launch_for<false, NormGate::kInput>(args, stream);
    case NormGate::kOutput: return launch_for<false, NormGate::kOutput>(args, stream);
  }
}

}  // namespace m40::cuda
