#include "../kernels/delta_rule.cuh"

#include "recurrence_launch.h"

namespace m40::cuda {

uint32_t most_recurrence_keys() { return RecurrenceShape<8, 8>::keys; }

void launch_delta_rule(const DeltaRuleArgs& args, uint32_t n_heads, const StepView& step, cudaStream_t stream) {
  launch_recurrence(
      args, args.key_dim, args.value_dim, n_heads, delta_rule_residency, step,
      [stream](auto shape, const DeltaRuleArgs& kernel, dim3 grid) {
        using Shape = decltype(shape);
        M40_LAUNCH((delta_rule_kernel<Shape::fours, Shape::lanes, Shape::ragged>), grid, dim3(recurrence_threads), 0, stream, kernel);
      },
      [stream](auto shape, const DeltaRuleArgs& kernel, uint32_t n_blocks, GridSize grid) {
        using Shape = decltype(shape);
        M40_LAUNCH((delta_rule_part_kernel<Shape::fours, Shape::lanes, Shape::ragged>), dim3(n_blocks), dim3(recurrence_threads), 0, stream, kernel, grid);
      });
}

}  // namespace m40::cuda
