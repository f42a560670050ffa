#include "../kernels/selective_scan.cuh"

#include "recurrence_launch.h"

namespace m40::cuda {

void launch_selective_scan(const SelectiveScanArgs& args, uint32_t n_heads, const StepView& step, cudaStream_t stream) {
  launch_recurrence(
      args, args.state_dim, args.head_dim, n_heads, selective_scan_residency, step,
      [stream](auto shape, const SelectiveScanArgs& kernel, dim3 grid) {
        using Shape = decltype(shape);
        M40_LAUNCH((selective_scan_kernel<Shape::fours, Shape::lanes, Shape::ragged>), grid, dim3(recurrence_threads), 0, stream, kernel);
      },
      [stream](auto shape, const SelectiveScanArgs& kernel, uint32_t n_blocks, GridSize grid) {
        using Shape = decltype(shape);
        M40_LAUNCH((selective_scan_part_kernel<Shape::fours, Shape::lanes, Shape::ragged>), dim3(n_blocks), dim3(recurrence_threads), 0, stream, kernel, grid);
      });
}

}  // namespace m40::cuda
