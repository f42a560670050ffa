// Activations, by themselves or as a gate.
#include <math.h>

#include "execution.h"

namespace m40::reference {

namespace {

float silu(float x) { return x / (1 + expf(-x)); }

// Hendrycks and Gimpel 2016, the approximation with tanh.
float gelu_tanh(float x) {
  constexpr float root = 0.797884560802865f;  // sqrt(2 / pi)
  return 0.5f * x * (1 + tanhf(root * (x + 0.044715f * x * x * x)));
}

float gelu_erf(float x) { return 0.5f * x * (1 + erff(x * 0.707106781186548f)); }

// Not std::max, which would make 0 of what is not a number.
float relu(float x) { return x < 0 ? 0 : x; }

template <class Function>
void apply(const Execution& execution, const m40_op_activation& op, Function function) {
  execution.for_each_value(execution.rows(op.input), op.columns, [&](uint64_t r, uint64_t first, uint64_t end) {
    const float* input = execution.row(op.input, r);
    const float* up = op.gated ? execution.row(op.up, r) + op.up_column : nullptr;
    float* output = execution.row(op.output, r);
    for (uint64_t i = first; i < end; i++) output[i] = op.gated ? function(input[i]) * up[i] : function(input[i]);
  });
}

}  // namespace

void run_activation(const Execution& execution, const m40_op_activation& op) {
  switch (op.activation) {
    case M40_ACTIVATION_SILU: return apply(execution, op, silu);
    case M40_ACTIVATION_GELU_TANH: return apply(execution, op, gelu_tanh);
    case M40_ACTIVATION_GELU_ERF: return apply(execution, op, gelu_erf);
    default: return apply(execution, op, relu);
  }
}

}  // namespace m40::reference
