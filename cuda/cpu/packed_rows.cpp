// Rows of activations as the integers of packed arithmetic, and what becomes of its sums.
#include <math.h>

#include "execution.h"

namespace m40::reference {

namespace {

constexpr uint64_t chunk_columns = 1024;  // that a thread takes at a time; whole runs

}  // namespace

void pack_rows(const Execution& execution, uint32_t buffer, uint64_t columns, float room) {
  const uint64_t chunks = (columns + chunk_columns - 1) / chunk_columns, row_bytes = packed_row_bytes(columns);
  execution.pool.parallel(execution.rows(buffer) * chunks, 1, [&](uint64_t begin, uint64_t end, uint32_t) {
    for (uint64_t item = begin; item < end; item++) {
      const uint64_t row = item / chunks, first = item % chunks * chunk_columns;
      uint8_t* const at = execution.packed_row(row, row_bytes);
      execution.kernels.pack(execution.row(buffer, row) + first, std::min(chunk_columns, columns - first), room,
                             reinterpret_cast<int16_t*>(at) + first,
                             reinterpret_cast<PackedRun*>(at + columns * sizeof(int16_t)) + first / kPackedRun);
    }
  });
}

float finished_sum(float sum, const float* factor, float bias, float scale, float residual) {
  // A factor of one makes each step a plain sum, which takes less time.
  const float value = factor == nullptr ? sum + bias : fmaf(sum, *factor, bias);
  return scale == 1 ? value + residual : fmaf(value, scale, residual);
}

}  // namespace m40::reference
