// Causal convolutions of each column by itself, over the last few tokens of a sequence.
#include <math.h>

#include "states.h"

namespace m40::reference {

namespace {

constexpr uint32_t block_columns = 256;
constexpr uint32_t most_taps = 8;

// `n` columns from `first` on, of one sequence's rows.
class ConvBlock {
 public:
  ConvBlock(const Execution& execution, const m40_op_conv& op, const SequenceRows& rows, uint32_t first)
      : execution_(execution), op_(op), rows_(rows), first_(first), n_(std::min(block_columns, op.columns - first)), before_(op.kernel - 1),
        state_(state_of(execution, op.state, rows.sequence)) {
    const float* weight = execution.vector(op.weight) + uint64_t{first} * op.kernel;
    for (uint32_t c = 0; c < n_; c++) {
      for (uint32_t j = 0; j < op.kernel; j++) weights_[j][c] = weight[uint64_t{c} * op.kernel + j];
    }
    // The state is updated in place, so x of the tokens before the first is read first.
    for (uint32_t i = 0; i < before_; i++) {
      if (state_.from == nullptr) {
        memset(last_[i], 0, n_ * sizeof(float));
      } else {
        memcpy(last_[i], state_.from + uint64_t{i} * op.columns + first, n_ * sizeof(float));
      }
    }
  }

  void run() {
    for (uint32_t t = 0; t < rows_.n; t++) compute(t);
    for (uint32_t i = 0; i < before_; i++) {
      memcpy(state_.to + uint64_t{i} * op_.columns + first_, x(rows_.n + i), n_ * sizeof(float));
    }
  }

 private:
  // x of token t - (kernel - 1) of the rows: a ring of those that the kernel covers.
  float* x(uint32_t t) { return last_[t % op_.kernel]; }

  void compute(uint32_t t) {
    const float* input = execution_.row(op_.input, rows_.first + t) + first_;
    float* output = execution_.row(op_.output, rows_.first + t) + op_.output_column + first_;
    float* now = x(t + before_);
    for (uint32_t c = 0; c < n_; c++) {
      now[c] = input[op_.input_column + c];
      if (op_.factor_column != M40_NONE) now[c] *= input[op_.factor_column + c];
    }
    float sums[block_columns] = {};
    for (uint32_t j = 0; j < op_.kernel; j++) {
      const float* values = x(t + j);
      for (uint32_t c = 0; c < n_; c++) sums[c] += weights_[j][c] * values[c];
    }
    const float* bias = execution_.vector(op_.bias);
    for (uint32_t c = 0; c < n_; c++) {
      float value = bias == nullptr ? sums[c] : sums[c] + bias[first_ + c];
      if (op_.activation == M40_ACTIVATION_SILU) value = silu(value);
      output[c] = op_.gate_column == M40_NONE ? value : value * input[op_.gate_column + c];
    }
  }

  const Execution& execution_;
  const m40_op_conv& op_;
  const SequenceRows& rows_;
  uint32_t first_, n_, before_;
  SequenceState state_;
  float weights_[most_taps][block_columns];
  float last_[most_taps][block_columns];
};

}  // namespace

void run_conv(const Execution& execution, const m40_op_conv& op) {
  const uint32_t blocks = op.columns / block_columns + (op.columns % block_columns != 0);
  for_each_sequence_part(execution, blocks, [&](const SequenceRows& rows, uint32_t block, uint32_t) {
    ConvBlock(execution, op, rows, block * block_columns).run();
  });
}

}  // namespace m40::reference
