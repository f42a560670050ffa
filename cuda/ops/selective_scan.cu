#include <algorithm>

#include "../kernels/selective_scan.cuh"

#include "ops.h"
#include "recurrence_shapes.h"

namespace m40::cuda {

void launch_selective_scan(const SelectiveScanArgs& args, uint32_t n_heads, const StepView& step, cudaStream_t stream) {
  for_recurrence_shape(args.state_dim, [&](auto shape) {
    using Shape = decltype(shape);
    SelectiveScanArgs kernel = args;
    kernel.head_tiles = (args.head_dim + Shape::columns - 1) / Shape::columns;
    for (uint32_t first = 0; first < step.n_sequences; first += most_grid_y) {
      kernel.state.sequences = step.sequence_rows + first;
      const dim3 grid(n_heads * kernel.head_tiles, std::min(step.n_sequences - first, most_grid_y));
      const uint32_t n_blocks = limited_blocks(uint64_t{grid.x} * grid.y, selective_scan_residency, sequences_share(step));
      if (n_blocks < uint64_t{grid.x} * grid.y) {
        const GridSize whole = {grid.x, grid.y, 1};
        M40_LAUNCH((selective_scan_part_kernel<Shape::fours, Shape::lanes, Shape::ragged>), dim3(n_blocks), dim3(recurrence_threads), 0, stream, kernel, whole);
      } else {
        M40_LAUNCH((selective_scan_kernel<Shape::fours, Shape::lanes, Shape::ragged>), grid, dim3(recurrence_threads), 0, stream, kernel);
      }
    }
  });
}

}  // namespace m40::cuda
