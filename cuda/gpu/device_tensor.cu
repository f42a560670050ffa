// Tensors: weights in the layout that the kernels read, vectors as floats.
#include <string.h>

#include <algorithm>

#include "../ops/ops.h"
#include "../common/checks.h"
#include "device_objects.h"
#include "../common/file.h"
#include "persistent/resident_seat.h"
#include "../common/tensor_slice.h"
#include "uploader.h"

using m40::fail;
using m40::guarded;
using m40::require;
using m40::cuda::check;
using m40::is_vector;
using m40::cuda::placed_bytes;
using m40::cuda::Tensor;

namespace {

uint64_t stored_bytes(const m40_tensor_desc& desc) {
  m40::checked_tensor_bytes(desc);
  return is_vector(desc) ? uint64_t{desc.columns} * sizeof(float)
                         : m40::cuda::packed_bytes(desc.type, desc.n_experts, desc.rows, desc.columns);
}

// Places a tensor; read() delivers its data.
uint32_t place(m40_arena* arena, const m40_tensor_desc& desc, const m40::cuda::ReadData& read) {
  m40_context* context = arena->context;
  const uint64_t n_bytes = stored_bytes(desc);
  uint8_t* memory = arena->next(placed_bytes(n_bytes), "a tensor");
  if (context->tensors.size() >= M40_NONE) fail(M40_INVALID_ARGUMENT, "the context has no tensor index left");
  context->use();
  m40::cuda::permit(memory, n_bytes);
  Tensor tensor = {arena, desc, nullptr, {}};
  try {
    if (is_vector(desc)) {
      tensor.values = reinterpret_cast<float*>(memory);
      context->uploader->upload_vector(desc, tensor.values, read);
    } else {
      tensor.packed = m40::cuda::packed_view(desc.type, desc.n_experts, desc.rows, desc.columns, memory);
      context->uploader->upload(desc, tensor.packed, read);
    }
  } catch (...) {
    // Running copies write to memory that the next tensor gets.
    m40::cuda::LaunchedWork work;
    context->settle(work);
    throw;
  }
  context->tensors.push_back(tensor);
  arena->take(placed_bytes(n_bytes));
  return static_cast<uint32_t>(context->tensors.size() - 1);
}

}  // namespace

extern "C" m40_status m40_tensor_bytes(m40_context* context, const m40_tensor_desc* desc, uint64_t* n_bytes, m40_error* error) {
  return guarded(error, [&] {
    require(context, "context");
    require(desc, "desc");
    require(n_bytes, "n_bytes");
    *n_bytes = placed_bytes(stored_bytes(*desc));
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
    *tensor = place(arena, *desc, [&](uint64_t at, uint8_t* memory, uint64_t n_bytes) {
      m40::read_rows(*desc, at, memory, n_bytes, [&](uint64_t from, uint8_t* to, uint64_t size) {
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
    *tensor = place(arena, *desc, [&](uint64_t at, uint8_t* memory, uint64_t n) {
      m40::read_rows(*desc, at, memory, n, [&](uint64_t from, uint8_t* to, uint64_t size) { memcpy(to, static_cast<const uint8_t*>(data) + from, size); });
    });
  });
}

extern "C" m40_status m40_upload_finish(m40_context* context, m40_error* error) {
  return guarded(error, [&] {
    require(context, "context");
    context->use();
    context->uploader->finish();
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
    m40::cuda::LaunchedWork work;
    context->use(work);
    context->uploader->wait();
    const Tensor& stored = context->tensors[tensor];
    const uint64_t row_bytes = uint64_t{desc->columns} * sizeof(float);
    if (stored.values != nullptr) {
      check(cudaMemcpy(values, stored.values, row_bytes, cudaMemcpyDeviceToHost), "a tensor");
      return;
    }
    // By way of page-locked memory, which kernels can write to: this takes none of the device's.
    const uint64_t chunk = std::clamp<uint64_t>((uint64_t{8} << 20) / row_bytes, 1, n_rows);
    const m40::cuda::HostMemory host(context->watch, chunk * row_bytes);
    for (uint64_t done = 0; done < n_rows; done += chunk) {
      const uint64_t now = std::min(chunk, n_rows - done);
      m40::cuda::launch_read_rows(stored.packed, first_row + done, static_cast<uint32_t>(now), reinterpret_cast<float*>(host.data()),
                                  context->stream);
      m40::cuda::check_launches("a tensor");
      context->watch.wait(context->stream, "a tensor");
      memcpy(values + done * desc->columns, host.data(), now * row_bytes);
    }
  });
}
