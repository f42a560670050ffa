// Tensors: weights in the layout that the kernels read, vectors as floats.
#include <string.h>

#include <algorithm>

#include "../ops/ops.h"
#include "device_objects.h"
#include "device_seat.h"
#include "../program/tensor_functions.h"
#include "uploader.h"

using m40::cuda::check;

namespace {

uint64_t stored_bytes(const m40_tensor_desc& desc) {
  m40::checked_tensor_bytes(desc);
  return m40::is_vector(desc) ? uint64_t{desc.columns} * sizeof(float)
                              : m40::cuda::packed_bytes(desc.type, desc.n_experts, desc.rows, desc.columns);
}

}  // namespace

uint64_t m40::placed_tensor_bytes(const m40_tensor_desc& desc) { return cuda::placed_bytes(stored_bytes(desc)); }

m40::Tensor m40::store_tensor(m40_arena* arena, const m40_tensor_desc& desc, uint8_t* memory, const ReadData& read) {
  m40_context* context = arena->context;
  context->use();
  cuda::permit(memory, stored_bytes(desc));
  Tensor tensor = {arena, desc, nullptr, {}};
  try {
    if (is_vector(desc)) {
      tensor.values = reinterpret_cast<float*>(memory);
      context->uploader->upload_vector(desc, tensor.values, read);
    } else {
      tensor.packed = cuda::packed_view(desc.type, desc.n_experts, desc.rows, desc.columns, memory);
      context->uploader->upload(desc, tensor.packed, read);
    }
  } catch (...) {
    // Running copies write to memory that the next tensor gets.
    cuda::LaunchedWork work;
    context->settle(work);
    throw;
  }
  return tensor;
}

void m40::read_tensor(m40_context* context, const Tensor& tensor, uint64_t first_row, uint64_t n_rows, float* values) {
  cuda::LaunchedWork work;
  context->use(work);
  context->uploader->wait();
  const uint32_t columns = tensor.desc.columns;
  const uint64_t row_bytes = uint64_t{columns} * sizeof(float);
  if (tensor.values != nullptr) {
    check(cudaMemcpy(values, tensor.values, row_bytes, cudaMemcpyDeviceToHost), "a tensor");
    return;
  }
  // By way of page-locked memory, which kernels can write to: this takes none of the device's.
  const uint64_t chunk = std::clamp<uint64_t>((uint64_t{8} << 20) / row_bytes, 1, n_rows);
  const cuda::HostMemory host(context->watch, chunk * row_bytes);
  for (uint64_t done = 0; done < n_rows; done += chunk) {
    const uint64_t now = std::min(chunk, n_rows - done);
    cuda::launch_read_rows(tensor.packed, first_row + done, static_cast<uint32_t>(now), reinterpret_cast<float*>(host.data()), context->stream);
    cuda::check_launches("a tensor");
    context->watch.wait(context->stream, "a tensor");
    memcpy(values + done * columns, host.data(), now * row_bytes);
  }
}

extern "C" m40_status m40_upload_finish(m40_context* context, m40_error* error) {
  return m40::guarded(error, [&] {
    m40::require(context, "context");
    context->use();
    context->uploader->finish();
  });
}
