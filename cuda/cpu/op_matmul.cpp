// Products of rows with up to three weights, their factors and biases, scaled, and a residual.
#include "execution.h"
#include "packed_chains.h"

namespace m40::reference {

namespace {

constexpr uint64_t max_chunk = 64;  // weight rows that a thread takes at a time

// In all weights together; small enough that every thread gets several. A multiple of so many rows.
uint64_t chunk_rows(uint64_t n_rows, uint32_t n_threads, uint64_t multiple) {
  const uint64_t chunk = n_rows / (uint64_t{n_threads} * 8) / multiple * multiple;
  return std::clamp<uint64_t>(chunk, multiple, max_chunk);
}

uint64_t product_floats(const m40_op_matmul& op) { return align_up(scratch_floats(op.columns) * sizeof(float)) / sizeof(float); }

// Rows [begin, end) of weight w, for all rows of the input.
void multiply(const Execution& execution, const m40_op_matmul& op, uint32_t w, uint64_t begin, uint64_t end, uint32_t thread) {
  const Tensor& weight = execution.tensor(op.weight[w]);
  const uint64_t n_rows = execution.rows(op.input);
  const uint64_t n = end - begin;
  const uint64_t column = op.output_column[w] + begin;
  const uint64_t stride = execution.desc(op.output).columns;
  float* scratch = execution.scratch(thread);
  float* output = execution.row(op.output, 0) + column;
  // The product may overwrite the output only where the residual is not to be read from it afterwards.
  const bool apart = op.residual == op.output;
  float* product = apart ? scratch + product_floats(op) : output;
  const uint64_t product_stride = apart ? n : stride;
  execution.kernels.matmul(weight.type, weight.row(begin), weight.row_bytes, op.columns, n, execution.row(op.input, 0),
                           execution.desc(op.input).columns, n_rows, product, product_stride, scratch);
  const float* bias = execution.vector(op.bias[w]);
  const float* factor = execution.vector(op.factor[w]);
  if (factor == nullptr && bias == nullptr && op.scale == 1 && op.residual == M40_NONE) return;
  for (uint64_t r = 0; r < n_rows; r++) {
    const float* residual = op.residual == M40_NONE ? nullptr : execution.row(op.residual, r) + column;
    for (uint64_t i = 0; i < n; i++) {
      float value = product[r * product_stride + i];
      if (factor != nullptr) value *= *factor;
      if (bias != nullptr) value += bias[begin + i];
      value *= op.scale;
      if (residual != nullptr) value += residual[i];
      output[r * stride + i] = value;
    }
  }
}

// The first rows of the output, which are computed as decode.
uint64_t decoded_rows(const Execution& execution, uint32_t output) {
  const m40_buffer_desc& desc = execution.desc(output);
  if (desc.rows == M40_ROWS_OUTPUTS) return execution.rows(output);
  return uint64_t{execution.step.n_decode} * (desc.rows == M40_ROWS_EXPERTS ? desc.rows_factor : 1);
}

// As multiply, in packed arithmetic: the input's integers are there.
void multiply_packed(const Execution& execution, const m40_op_matmul& op, uint32_t w, uint64_t begin, uint64_t end, uint32_t thread) {
  const Tensor& weight = execution.tensor(op.weight[w]);
  const uint64_t n_rows = execution.rows(op.input), n_decoded = decoded_rows(execution, op.output), n = end - begin;
  const uint64_t column = op.output_column[w] + begin, stride = execution.desc(op.output).columns, row_bytes = packed_row_bytes(op.columns);
  const uint32_t whole_rows = weight.desc.whole_rows == 0 ? op.rows[w] : weight.desc.whole_rows;
  float* scratch = execution.scratch(thread);
  float* output = execution.row(op.output, 0) + column;
  const bool apart = op.residual == op.output;
  float* product = apart ? scratch + product_floats(op) : output;
  const uint64_t product_stride = apart ? n : stride;
  const auto multiply_rows = [&](uint64_t first, uint64_t count, PackedChains chains) {
    if (count == 0) return;
    execution.kernels.packed_matmul(weight.type, weight.row(begin), weight.row_bytes, op.columns, n, execution.packed_row(first, row_bytes), count,
                                    chains, product + first * product_stride, product_stride, scratch);
  };
  multiply_rows(0, n_decoded, decode_chains(whole_rows, op.columns));
  multiply_rows(n_decoded, n_rows - n_decoded, prompt_chains(whole_rows, op.columns));
  const float* bias = execution.vector(op.bias[w]);
  const float* factor = execution.vector(op.factor[w]);
  // A GPU adds a residual whose rows are wider or narrower than the output's in a step of its own.
  const bool added = op.residual != M40_NONE && execution.desc(op.residual).columns != stride;
  for (uint64_t r = 0; r < n_rows; r++) {
    const float* residual = op.residual == M40_NONE ? nullptr : execution.row(op.residual, r) + column;
    for (uint64_t i = 0; i < n; i++) {
      const float value = finished_sum(product[r * product_stride + i], factor, bias == nullptr ? 0 : bias[begin + i], op.scale,
                                       residual == nullptr || added ? 0 : residual[i]);
      output[r * stride + i] = added ? value + residual[i] : value;
    }
  }
}

// Calls multiply for pieces of the weights of which takes(type) is true.
template <class Takes, class Multiply>
void multiply_all(const Execution& execution, const m40_op_matmul& op, uint64_t multiple, const Takes& takes, const Multiply& multiply) {
  uint64_t rows[M40_MAX_MATMUL_WEIGHTS], total = 0;
  for (uint32_t w = 0; w < op.n_weights; w++) total += rows[w] = takes(execution.tensor(op.weight[w]).type) ? op.rows[w] : 0;
  if (total == 0) return;
  execution.pool.parallel(total, chunk_rows(total, execution.pool.n_threads(), multiple), [&](uint64_t begin, uint64_t end, uint32_t thread) {
    uint64_t first = 0;  // of weight w among all weights' rows
    for (uint32_t w = 0; w < op.n_weights; first += rows[w++]) {
      const uint64_t from = std::max(begin, first);
      const uint64_t to = std::min(end, first + rows[w]);
      if (from < to) multiply(execution, op, w, from - first, to - first, thread);
    }
  });
}

}  // namespace

uint64_t matmul_scratch_bytes(const m40_op_matmul& op, uint64_t n_rows) {
  const uint64_t product = op.residual == op.output ? n_rows * max_chunk : 0;
  return (product_floats(op) + product) * sizeof(float);
}

void run_matmul(const Execution& execution, const m40_op_matmul& op) {
  if (execution.rows(op.input) == 0) return;
  const bool packed = op.arithmetic == M40_ARITHMETIC_PACKED;
  multiply_all(execution, op, 8, [&](uint32_t type) { return !packed || packed_room(type) == 0; }, multiply);
  if (!packed) return;
  // One set of integers for each room that the weights have.
  for (uint32_t w = 0; w < op.n_weights; w++) {
    const auto room_of = [&](uint32_t i) { return packed_room(execution.tensor(op.weight[i]).type); };
    const float room = room_of(w);
    bool done = room == 0;
    for (uint32_t i = 0; i < w; i++) done = done || room_of(i) == room;
    if (done) continue;
    pack_rows(execution, op.input, op.columns, room);
    multiply_all(execution, op, 16, [&](uint32_t type) { return packed_room(type) == room; }, multiply_packed);
  }
}

}  // namespace m40::reference
