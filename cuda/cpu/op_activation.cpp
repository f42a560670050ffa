// Activations, by themselves or as a gate.
#include <math.h>

#include "execution.h"

namespace m40::reference {

namespace {

// Hendrycks and Gimpel 2016, the approximation with tanh.
float gelu_tanh(float x) {
  constexpr float root = 0.797884560802865f;  // sqrt(2 / pi)
  return 0.5f * x * (1 + tanhf(root * (x + 0.044715f * x * x * x)));
}

float gelu_erf(float x) { return 0.5f * x * (1 + erff(x * 0.707106781186548f)); }

// Not std::max, which would make 0 of what is not a number.
float relu(float x) { return x < 0 ? 0 : x; }

float relu_squared(float x) { return relu(x) * relu(x); }

template <class Function>
void apply(const Execution& execution, const m40_op_activation& op, Function function) {
  execution.for_each_value(execution.rows(op.input), op.columns, [&](uint64_t r, uint64_t first, uint64_t end) {
    const float* input = execution.row(op.input, r);
    const float* up = op.gated ? execution.row(op.up, r) + op.up_column : nullptr;
    float* output = execution.row(op.output, r);
    for (uint64_t i = first; i < end; i++) output[i] = op.gated ? function(input[i]) * up[i] : function(input[i]);
  });
}

void swiglu_clamped(const Execution& execution, const m40_op_activation& op) {
  execution.for_each_value(execution.rows(op.input), op.columns, [&](uint64_t r, uint64_t first, uint64_t end) {
    const float* gate = execution.row(op.input, r);
    const float* up = execution.row(op.up, r) + op.up_column;
    float* output = execution.row(op.output, r);
    for (uint64_t i = first; i < end; i++) {
      // Comparisons that keep what is not a number.
      const float g = gate[i] > op.limit ? op.limit : gate[i];
      const float u = up[i] > op.limit ? op.limit : up[i] < -op.limit ? -op.limit : up[i];
      output[i] = g * sigmoid(op.alpha * g) * (u + 1);
    }
  });
}

}  // namespace

float sigmoid(float x) { return 1 / (1 + expf(-x)); }

float silu(float x) { return x / (1 + expf(-x)); }

void run_activation(const Execution& execution, const m40_op_activation& op) {
  switch (op.activation) {
    case M40_ACTIVATION_SILU: return apply(execution, op, silu);
    case M40_ACTIVATION_GELU_TANH: return apply(execution, op, gelu_tanh);
    case M40_ACTIVATION_GELU_ERF: return apply(execution, op, gelu_erf);
    case M40_ACTIVATION_RELU: return apply(execution, op, relu);
    case M40_ACTIVATION_RELU_SQUARED: return apply(execution, op, relu_squared);
    case M40_ACTIVATION_SIGMOID: return apply(execution, op, sigmoid);
    case M40_ACTIVATION_SWIGLU_CLAMPED: return swiglu_clamped(execution, op);
  }
}

}  // namespace m40::reference
