// Where the data of a weight's rows are in that of the whole weight.
#ifndef M40_RUNTIME_TENSOR_SLICE_H
#define M40_RUNTIME_TENSOR_SLICE_H

#include <algorithm>
#include <functional>

#include "sizes.h"

namespace m40 {

// Delivers bytes [offset, offset + n_bytes) of a tensor's data.
using ReadData = std::function<void(uint64_t offset, uint8_t* memory, uint64_t n_bytes)>;

// Reads bytes [at, at + n_bytes) of a tensor, as if its experts' rows were contiguous, out of the whole weight.
// read(from, memory, size) delivers bytes [from, from + size) of that. The description has been checked.
template <class Read>
void read_rows(const m40_tensor_desc& desc, uint64_t at, uint8_t* memory, uint64_t n_bytes, const Read& read) {
  if (desc.whole_rows == 0) return read(at, memory, n_bytes);
  const uint64_t row_bytes = checked_row_bytes(desc.type, desc.columns);
  const uint64_t expert_bytes = desc.rows * row_bytes;
  while (n_bytes != 0) {
    const uint64_t expert = at / expert_bytes, within = at % expert_bytes;
    const uint64_t size = std::min(n_bytes, expert_bytes - within);
    read((expert * desc.whole_rows + desc.first_row) * row_bytes + within, memory, size);
    at += size;
    memory += size;
    n_bytes -= size;
  }
}

// The whole weight's description.
inline m40_tensor_desc whole_tensor(const m40_tensor_desc& desc) {
  m40_tensor_desc whole = desc;
  if (desc.whole_rows != 0) whole.rows = desc.whole_rows;
  whole.first_row = whole.whole_rows = 0;
  return whole;
}

}  // namespace m40

#endif
