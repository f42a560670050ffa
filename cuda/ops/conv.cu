#include "../kernels/conv.cuh"

#include "ops.h"

namespace m40::cuda {

namespace {

template <int kKernel>
void launch(const ConvArgs& args, const StepView& step, cudaStream_t stream) {
  const dim3 grid(step.n_sequence_tiles, (args.columns + conv_threads - 1) / conv_threads);
  const uint32_t n_blocks = limited_blocks(uint64_t{grid.x} * grid.y, conv_residency, sequences_share(step));
  if (n_blocks < uint64_t{grid.x} * grid.y) {
    const GridSize whole = {grid.x, grid.y, 1};
    M40_LAUNCH((conv_part_kernel<kKernel>), dim3(n_blocks), dim3(conv_threads), 0, stream, args, whole);
  } else {
    M40_LAUNCH((conv_kernel<kKernel>), grid, dim3(conv_threads), 0, stream, args);
  }
}

}  // namespace

void launch_conv(const ConvArgs& args, uint32_t kernel, const StepView& step, cudaStream_t stream) {
  ConvArgs placed = args;
  placed.state.sequences = step.sequence_rows;
  placed.tiles = step.sequence_tiles;
  switch (kernel) {
    case 2: return launch<2>(placed, step, stream);
    case 3: return launch<3>(placed, step, stream);
    case 4: return launch<4>(placed, step, stream);
    case 5: return launch<5>(placed, step, stream);
    case 6: return launch<6>(placed, step, stream);
    case 7: return launch<7>(placed, step, stream);
    default: return launch<8>(placed, step, stream);
  }
}

}  // namespace m40::cuda
