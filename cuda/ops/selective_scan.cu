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
      M40_LAUNCH((selective_scan_kernel<Shape::fours, Shape::lanes, Shape::ragged>), grid, dim3(recurrence_threads), 0, stream, kernel);
    }
  });
}

}  // namespace m40::cuda
