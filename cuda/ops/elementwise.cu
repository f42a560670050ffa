#include "../kernels/elementwise.cuh"

#include "ops.h"

namespace m40::cuda {

namespace {

dim3 grid_of(uint32_t n_rows, uint32_t columns) {
  return dim3((columns + elementwise_threads - 1) / elementwise_threads, n_rows < 65535 ? n_rows : 65535);
}

}  // namespace

void launch_activation(const ActivationArgs& args, cudaStream_t stream) {
  M40_LAUNCH((activation), grid_of(args.n_rows, args.columns), dim3(elementwise_threads), 0, stream, args.input, args.input_stride,
             args.output, args.output_stride, args.n_rows, args.columns, args.activation, args.gated);
}

void launch_add(const AddArgs& args, cudaStream_t stream) {
  M40_LAUNCH((add), grid_of(args.n_rows, args.columns), dim3(elementwise_threads), 0, stream, args.a, args.a_stride, args.b,
             args.b_stride, args.output, args.output_stride, args.n_rows, args.columns);
}

void launch_select(const SelectArgs& args, const StepView& step, cudaStream_t stream) {
  M40_LAUNCH((select_rows), grid_of(step.n_outputs, args.columns), dim3(elementwise_threads), 0, stream, args.input, args.input_stride,
             args.output, args.output_stride, step.n_outputs, args.columns, step.outputs);
}

void launch_softcap(const SoftcapArgs& args, cudaStream_t stream) {
  M40_LAUNCH((softcap), grid_of(args.n_rows, args.columns), dim3(elementwise_threads), 0, stream, args.input, args.input_stride,
             args.output, args.output_stride, args.n_rows, args.columns, args.scale, args.softcap);
}

void launch_check_experts(uint32_t* experts, uint32_t stride, uint32_t n_tokens, uint32_t n_used, uint32_t n_experts, uint32_t* fault,
                          cudaStream_t stream) {
  M40_LAUNCH((check_experts), grid_of(n_tokens, n_used), dim3(elementwise_threads), 0, stream, experts, stride, n_tokens, n_used, n_experts,
             fault);
}

void launch_expert_sum(const ExpertSumArgs& args, cudaStream_t stream) {
  M40_LAUNCH((expert_sum), grid_of(args.n_tokens, args.columns), dim3(elementwise_threads), 0, stream, args.input, args.input_stride,
             args.weights, args.weights_stride, args.residual, args.residual_stride, args.output, args.output_stride, args.n_tokens,
             args.columns, args.n_used);
}

}  // namespace m40::cuda
