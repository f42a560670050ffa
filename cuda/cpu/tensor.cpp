// Tensors: weights in GGUF's own blocks, vectors as floats.
#include <vector>

#include "objects.h"
#include "../program/tensor_functions.h"

uint64_t m40::placed_tensor_bytes(const m40_tensor_desc& desc) {
  const uint64_t bytes = checked_tensor_bytes(desc);
  return reference::align_up(is_vector(desc) ? uint64_t{desc.columns} * sizeof(float) : bytes);
}

m40::Tensor m40::store_tensor(m40_arena* arena, const m40_tensor_desc& desc, uint8_t* memory, const ReadData& read) {
  const uint64_t data_bytes = checked_tensor_bytes(desc);
  if (!is_vector(desc) || desc.type == M40_TYPE_F32) {
    read(0, memory, data_bytes);
    return {arena, desc, desc.type, checked_row_bytes(desc.type, desc.columns), memory};
  }
  std::vector<uint8_t> blocks(data_bytes);
  read(0, blocks.data(), data_bytes);
  arena->context->kernels.dequantize(desc.type, blocks.data(), reinterpret_cast<float*>(memory), desc.columns);
  return {arena, desc, M40_TYPE_F32, uint64_t{desc.columns} * sizeof(float), memory};
}

void m40::read_tensor(m40_context* context, const Tensor& tensor, uint64_t first_row, uint64_t n_rows, float* values) {
  const uint32_t columns = tensor.desc.columns;
  for (uint64_t i = 0; i < n_rows; i++) context->kernels.dequantize(tensor.type, tensor.row(first_row + i), values + i * columns, columns);
}
