// Tensors: weights in GGUF's own blocks, vectors as floats.
#include <string.h>

#include <vector>

#include "../common/checks.h"
#include "../common/file.h"
#include "../common/tensor_slice.h"
#include "objects.h"

using m40::fail;
using m40::guarded;
using m40::is_vector;
using m40::require;
using m40::reference::align_up;
using m40::reference::Tensor;

namespace {

uint64_t stored_bytes(const m40_tensor_desc& desc) {
  const uint64_t bytes = m40::checked_tensor_bytes(desc);
  return align_up(is_vector(desc) ? uint64_t{desc.columns} * sizeof(float) : bytes);
}

// Places a tensor; fill(memory, n_bytes) delivers its data.
template <class Fill>
uint32_t place(m40_arena* arena, const m40_tensor_desc& desc, const Fill& fill) {
  m40_context* context = arena->context;
  const uint64_t data_bytes = m40::checked_tensor_bytes(desc);
  const uint64_t placed_bytes = stored_bytes(desc);
  Tensor tensor = {arena, desc, desc.type, m40::checked_row_bytes(desc.type, desc.columns), arena->next(placed_bytes, "a tensor")};
  if (context->tensors.size() >= M40_NONE) fail(M40_INVALID_ARGUMENT, "the context has no tensor index left");
  if (is_vector(desc) && desc.type != M40_TYPE_F32) {
    std::vector<uint8_t> blocks(data_bytes);
    fill(blocks.data(), data_bytes);
    context->kernels.dequantize(desc.type, blocks.data(), reinterpret_cast<float*>(tensor.data), desc.columns);
    tensor.type = M40_TYPE_F32;
    tensor.row_bytes = uint64_t{desc.columns} * sizeof(float);
  } else {
    fill(tensor.data, data_bytes);
  }
  context->tensors.push_back(tensor);
  arena->take(placed_bytes);
  return static_cast<uint32_t>(context->tensors.size() - 1);
}

}  // namespace

extern "C" m40_status m40_tensor_bytes(m40_context* context, const m40_tensor_desc* desc, uint64_t* n_bytes, m40_error* error) {
  return guarded(error, [&] {
    require(context, "context");
    require(desc, "desc");
    require(n_bytes, "n_bytes");
    *n_bytes = stored_bytes(*desc);
  });
}

extern "C" m40_status m40_tensor_from_file(m40_arena* arena, const m40_tensor_desc* desc, const char* path, uint64_t offset,
                                           uint32_t* tensor, m40_error* error) {
  return guarded(error, [&] {
    require(arena, "arena");
    require(desc, "desc");
    require(path, "path");
    require(tensor, "tensor");
    const m40::File file(path);
    *tensor = place(arena, *desc, [&](uint8_t* memory, uint64_t n_bytes) {
      m40::read_rows(*desc, 0, memory, n_bytes, [&](uint64_t from, uint8_t* to, uint64_t size) {
        if (offset > UINT64_MAX - from) fail(M40_IO, "%s: no file has %llu bytes", path, static_cast<unsigned long long>(offset));
        file.read(offset + from, to, size);
      });
    });
  });
}

extern "C" m40_status m40_tensor_from_memory(m40_arena* arena, const m40_tensor_desc* desc, const void* data, uint64_t n_bytes,
                                             uint32_t* tensor, m40_error* error) {
  return guarded(error, [&] {
    require(arena, "arena");
    require(desc, "desc");
    require(data, "data");
    require(tensor, "tensor");
    m40::check_tensor_data(*desc, n_bytes);
    *tensor = place(arena, *desc, [&](uint8_t* memory, uint64_t n) {
      m40::read_rows(*desc, 0, memory, n, [&](uint64_t from, uint8_t* to, uint64_t size) { memcpy(to, static_cast<const uint8_t*>(data) + from, size); });
    });
  });
}

extern "C" m40_status m40_tensor_read(m40_context* context, uint32_t tensor, uint64_t first_row, uint64_t n_rows, float* values,
                                      uint64_t n_values, m40_error* error) {
  return guarded(error, [&] {
    require(context, "context");
    const m40_tensor_desc* desc = context->find(tensor);
    m40::check_tensor_rows(tensor, desc, first_row, n_rows, n_values);
    if (n_rows == 0) return;
    require(values, "values");
    const Tensor& stored = context->tensors[tensor];
    for (uint64_t i = 0; i < n_rows; i++) {
      context->kernels.dequantize(stored.type, stored.row(first_row + i), values + i * desc->columns, desc->columns);
    }
  });
}
