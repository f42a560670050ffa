#include "../kernels/sample.cuh"
#include "../kernels/sample_shaped.cuh"

#include "../common/error.h"
#include "launch_list.h"
#include "ops.h"

namespace m40::cuda {

__global__ void __launch_bounds__(sample_threads, 1) sample_kernel(SampleKernelArgs args) {
  __shared__ SampleShared shared;
  sample(args, launched_block(), shared);
}

__global__ void __launch_bounds__(sample_threads, 1) sample_shaped_kernel(SampleKernelArgs args) {
  __shared__ SampleShared shared;
  sample_shaped(args, launched_block(), shared);
}

namespace {

uint32_t slices_of(uint32_t columns) { return (columns + sample_slice - 1) / sample_slice; }

uint64_t slice_bytes(uint32_t columns, uint32_t n_outputs) {
  return (uint64_t{slices_of(columns)} * n_outputs * sizeof(SampleSlice) + 255) / 256 * 256;
}

}  // namespace

uint64_t sample_scratch_bytes(uint32_t columns, uint32_t max_outputs) {
  return slice_bytes(columns, max_outputs) + uint64_t{columns} * max_outputs * sizeof(float);
}

void launch_sample(const SampleArgs& args, const StepView& step, cudaStream_t stream) {
  SampleKernelArgs kernel = {};
  kernel.logits = args.logits;
  kernel.logits_stride = args.logits_stride;
  kernel.columns = args.columns;
  kernel.n_slices = slices_of(args.columns);
  kernel.token_counts = step.token_counts;
  kernel.token_biases = step.token_biases;
  kernel.masks = step.masks;
  kernel.mask_words = step.mask_words;
  kernel.counters = args.scratch.counters;
  uint8_t* memory = static_cast<uint8_t*>(args.scratch.memory);
  kernel.slices = reinterpret_cast<SampleSlice*>(memory);
  kernel.adjusted = reinterpret_cast<float*>(memory + slice_bytes(args.columns, step.n_outputs));
  // A counter an output.
  for (uint32_t first = 0; first < step.n_outputs; first += scratch_counters) {
    const uint32_t n = step.n_outputs - first < scratch_counters ? step.n_outputs - first : scratch_counters;
    kernel.logits = args.logits + uint64_t{first} * args.logits_stride;
    kernel.sampling = step.sampling + first;
    kernel.samples = args.samples + first;
    kernel.statuses = args.statuses + first;
    M40_LAUNCH_BODY(body_key(Body::kSample), (sample_kernel), dim3(kernel.n_slices, n), sample_threads, 0, stream, kernel);
    if (step.shaped) M40_LAUNCH((sample_shaped_kernel), n, sample_threads, 0, stream, kernel);
  }
}

}  // namespace m40::cuda
