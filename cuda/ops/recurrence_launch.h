// Launches of recurrences: the shape, by the keys of the state, and the grid.
#ifndef M40_OPS_RECURRENCE_LAUNCH_H
#define M40_OPS_RECURRENCE_LAUNCH_H

#include <algorithm>

#include "../kernels/recurrence.cuh"
#include "ops.h"

namespace m40::cuda {

constexpr uint32_t most_grid_y = 65535;

// Calls f with a shape that has room for the keys, which are most_recurrence_keys() at most. It follows from the
// operation alone, as the order of additions does from the shape.
template <class Function>
void for_recurrence_shape(uint32_t keys, const Function& f) {
  if (keys % 4 != 0) return f(RecurrenceShape<8, 8, true>());
  if (keys <= 16) return f(RecurrenceShape<1, 4>());
  if (keys <= 32) return f(RecurrenceShape<2, 4>());
  if (keys <= 64) return f(RecurrenceShape<4, 4>());
  if (keys <= 128) return f(RecurrenceShape<8, 4>());
  f(RecurrenceShape<8, 8>());
}

// Launches a recurrence over a state [keys, columns] of each head. whole(shape, kernel, grid) launches all of its thread
// blocks; part(shape, kernel, n_blocks, grid) launches fewer, where concurrent launches need room. residency: thread
// blocks of a multiprocessor.
template <class Args, class Whole, class Part>
void launch_recurrence(const Args& args, uint32_t keys, uint32_t columns, uint32_t n_heads, uint32_t residency, const StepView& step, const Whole& whole,
                       const Part& part) {
  for_recurrence_shape(keys, [&](auto shape) {
    Args kernel = args;
    kernel.head_tiles = (columns + shape.columns - 1) / shape.columns;
    for (uint32_t first = 0; first < step.n_sequences; first += most_grid_y) {
      kernel.state.sequences = step.sequence_rows + first;
      const GridSize grid = {n_heads * kernel.head_tiles, std::min(step.n_sequences - first, most_grid_y), 1};
      const uint32_t n_blocks = limited_blocks(uint64_t{grid.x} * grid.y, residency, sequences_share(step));
      if (n_blocks < uint64_t{grid.x} * grid.y) {
        part(shape, kernel, n_blocks, grid);
      } else {
        whole(shape, kernel, dim3(grid.x, grid.y));
      }
    }
  });
}

}  // namespace m40::cuda

#endif
