#include "../kernels/elementwise.cuh"

#include "launch_list.h"
#include "ops.h"

namespace m40::cuda {

__global__ void activation_kernel(ActivationArgs args) { activation(args, launched_block(), launched_grid()); }
__global__ void add_kernel(AddArgs args) { add(args, launched_block(), launched_grid()); }
__global__ void copy_heads_kernel(CopyHeadsArgs args) { copy_heads(args, launched_block(), launched_grid()); }
__global__ void softcap_kernel(SoftcapArgs args) { softcap(args, launched_block(), launched_grid()); }
__global__ void select_rows_kernel(SelectRowsArgs args) { select_rows(args, launched_block(), launched_grid()); }
__global__ void expert_sum_kernel(ExpertSumArgs args) { expert_sum(args, launched_block(), launched_grid()); }
__global__ void check_experts_kernel(CheckExpertsArgs args) { check_experts(args, launched_block(), launched_grid()); }

namespace {

dim3 grid_of(uint32_t n_rows, uint32_t columns) {
  return dim3((columns + elementwise_threads - 1) / elementwise_threads, n_rows < 65535 ? n_rows : 65535);
}

}  // namespace

void launch_activation(const ActivationArgs& args, cudaStream_t stream) {
  M40_LAUNCH_BODY(body_key(Body::kActivation), (activation_kernel), grid_of(args.n_rows, args.columns), dim3(elementwise_threads), 0, stream, args);
}

void launch_add(const AddArgs& args, cudaStream_t stream) {
  M40_LAUNCH_BODY(body_key(Body::kAdd), (add_kernel), grid_of(args.n_rows, args.columns), dim3(elementwise_threads), 0, stream, args);
}

void launch_copy_heads(const CopyHeadsArgs& args, cudaStream_t stream) {
  M40_LAUNCH((copy_heads_kernel), grid_of(args.n_rows, args.n_heads * args.copied), dim3(elementwise_threads), 0, stream, args);
}

void launch_select(const SelectArgs& args, const StepView& step, cudaStream_t stream) {
  const SelectRowsArgs kernel = {args.input, args.input_stride, args.output, args.output_stride, step.n_outputs, args.columns, step.outputs};
  M40_LAUNCH_BODY(body_key(Body::kSelect), (select_rows_kernel), grid_of(kernel.n_rows, kernel.columns), dim3(elementwise_threads), 0, stream, kernel);
}

void launch_softcap(const SoftcapArgs& args, cudaStream_t stream) {
  M40_LAUNCH_BODY(body_key(Body::kSoftcap), (softcap_kernel), grid_of(args.n_rows, args.columns), dim3(elementwise_threads), 0, stream, args);
}

void launch_check_experts(uint32_t* experts, uint32_t stride, uint32_t n_tokens, uint32_t n_used, uint32_t n_experts, uint32_t* fault,
                          cudaStream_t stream) {
  const CheckExpertsArgs kernel = {experts, stride, n_tokens, n_used, n_experts, fault};
  M40_LAUNCH((check_experts_kernel), grid_of(n_tokens, n_used), dim3(elementwise_threads), 0, stream, kernel);
}

void launch_expert_sum(const ExpertSumArgs& args, cudaStream_t stream) {
  M40_LAUNCH((expert_sum_kernel), grid_of(args.n_tokens, args.columns), dim3(elementwise_threads), 0, stream, args);
}

}  // namespace m40::cuda
