// Which shape a recurrence has, by the keys of its state.
#ifndef M40_OPS_RECURRENCE_SHAPES_H
#define M40_OPS_RECURRENCE_SHAPES_H

#include "../kernels/recurrence.cuh"

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

}  // namespace m40::cuda

#endif
