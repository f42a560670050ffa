// The functions of m40.h that make tensors and read them. A library includes this behind its objects, in the one source
// that defines what it does in its own way.
#ifndef M40_PROGRAM_TENSOR_FUNCTIONS_H
#define M40_PROGRAM_TENSOR_FUNCTIONS_H

#include <string.h>

#include "../common/checks.h"
#include "../common/error.h"
#include "../common/file.h"
#include "../common/sizes.h"
#include "../common/tensor_slice.h"
#include "../include/m40.h"

namespace m40 {

using Tensor = decltype(m40_context::tensors)::value_type;

// ---- a library's own --------------------------------------------------------------------------------------------

// Bytes of the arena that a tensor takes. Throws where its description is wrong.
uint64_t placed_tensor_bytes(const m40_tensor_desc& desc);
// Puts a tensor's data into its memory.
Tensor store_tensor(m40_arena* arena, const m40_tensor_desc& desc, uint8_t* memory, const ReadData& read);
// Rows of a tensor as floats. n_rows is not 0.
void read_tensor(m40_context* context, const Tensor& tensor, uint64_t first_row, uint64_t n_rows, float* values);

// ---- every library's --------------------------------------------------------------------------------------------

inline uint32_t place_tensor(m40_arena* arena, const m40_tensor_desc& desc, const ReadData& read) {
  auto& tensors = arena->context->tensors;
  const uint64_t n_bytes = placed_tensor_bytes(desc);
  uint8_t* const memory = arena->next(n_bytes, "a tensor");
  if (tensors.size() >= M40_NONE) fail(M40_INVALID_ARGUMENT, "the context has no tensor index left");
  tensors.push_back(store_tensor(arena, desc, memory, read));
  arena->take(n_bytes);
  return static_cast<uint32_t>(tensors.size() - 1);
}

}  // namespace m40

extern "C" m40_status m40_tensor_bytes(m40_context* context, const m40_tensor_desc* desc, uint64_t* n_bytes, m40_error* error) {
  return m40::guarded(error, [&] {
    m40::require(context, "context");
    m40::require(desc, "desc");
    m40::require(n_bytes, "n_bytes");
    *n_bytes = m40::placed_tensor_bytes(*desc);
  });
}

extern "C" m40_status m40_tensor_from_file(m40_arena* arena, const m40_tensor_desc* desc, const char* path, uint64_t offset, uint32_t* tensor,
                                           m40_error* error) {
  return m40::guarded(error, [&] {
    m40::require(arena, "arena");
    m40::require(desc, "desc");
    m40::require(path, "path");
    m40::require(tensor, "tensor");
    const m40::File file(path);
    *tensor = m40::place_tensor(arena, *desc, [&](uint64_t at, uint8_t* memory, uint64_t n_bytes) {
      m40::read_rows(*desc, at, memory, n_bytes, [&](uint64_t from, uint8_t* to, uint64_t size) {
        if (offset > UINT64_MAX - from) m40::fail(M40_IO, "%s: no file has %llu bytes", path, static_cast<unsigned long long>(offset));
        file.read(offset + from, to, size);
      });
    });
  });
}

extern "C" m40_status m40_tensor_from_memory(m40_arena* arena, const m40_tensor_desc* desc, const void* data, uint64_t n_bytes, uint32_t* tensor,
                                             m40_error* error) {
  return m40::guarded(error, [&] {
    m40::require(arena, "arena");
    m40::require(desc, "desc");
    m40::require(data, "data");
    m40::require(tensor, "tensor");
    m40::check_tensor_data(*desc, n_bytes);
    *tensor = m40::place_tensor(arena, *desc, [&](uint64_t at, uint8_t* memory, uint64_t n) {
      m40::read_rows(*desc, at, memory, n, [&](uint64_t from, uint8_t* to, uint64_t size) { memcpy(to, static_cast<const uint8_t*>(data) + from, size); });
    });
  });
}

extern "C" m40_status m40_tensor_read(m40_context* context, uint32_t tensor, uint64_t first_row, uint64_t n_rows, float* values, uint64_t n_values,
                                      m40_error* error) {
  return m40::guarded(error, [&] {
    m40::require(context, "context");
    m40::check_tensor_rows(tensor, context->find(tensor), first_row, n_rows, n_values);
    if (n_rows == 0) return;
    m40::require(values, "values");
    m40::read_tensor(context, context->tensors[tensor], first_row, n_rows, values);
  });
}

#endif
