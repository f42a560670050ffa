// Checks the products of packed weights against float64 and times them.
//
//   matmul_bench check [prompt]   every tensor type, awkward shapes, 1 to 33 tokens, bit for bit across token counts and
//                                 runs; only the kernels of prompts
//   matmul_bench time [TYPE...]   the matrices of a 7B layer, in graphs over weights larger than any L2
//   matmul_bench prompt [TYPE...] the same with the kernels of prompts, from 16 tokens on
//   matmul_bench mix [TOKENS...]  a whole stack of layers at matmul cost alone, for Q4_K_M, Q8_0 and F16
//
// Needs the reference library's unpacking: link kernels.cpp and the four kernels_*.cpp beside it.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "../../cuda/ops/ops.h"
#include "../../cuda/reference/kernels.h"
#include "../../cuda/runtime/tensor_types.h"

using namespace m40;
using namespace m40::cuda;

namespace {

void must(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  exit(2);
}

void* device_alloc(size_t n_bytes, int fill = 0) {
  void* memory = nullptr;
  must(cudaMalloc(&memory, n_bytes + 256), "cudaMalloc");
  must(cudaMemset(memory, fill, n_bytes + 256), "cudaMemset");
  return memory;
}

uint64_t random_state = 88172645463325252ull;
uint32_t random_u32() {
  random_state ^= random_state << 13, random_state ^= random_state >> 7, random_state ^= random_state << 17;
  return static_cast<uint32_t>(random_state >> 32);
}
float random_float() { return static_cast<float>(random_u32() >> 8) / 8388608.0f - 1.0f; }

// Blocks of random quants, with scales that are numbers.
std::vector<uint8_t> random_rows(uint32_t type, uint64_t n_weights) {
  const TensorType& t = *find_tensor_type(type);
  std::vector<uint8_t> bytes(n_weights / t.block_weights * t.block_bytes);
  for (size_t i = 0; i < bytes.size(); i++) bytes[i] = static_cast<uint8_t>(random_u32());
  const auto put_half = [&](uint8_t* at, float value) {
    const uint16_t half = reference::float_to_half(value);
    memcpy(at, &half, 2);
  };
  for (uint8_t* at = bytes.data(); at < bytes.data() + bytes.size(); at += t.block_bytes) {
    const float d = 0.001f + 0.002f * fabsf(random_float()), m = 0.002f * random_float();
    switch (type) {
      case M40_TYPE_F32: {
        const float value = random_float();
        memcpy(at, &value, 4);
        break;
      }
      case M40_TYPE_F16: put_half(at, random_u32() % 64 == 0 ? random_float() * 1e-6f : random_float()); break;
      case M40_TYPE_BF16: {
        const float value = random_float();
        memcpy(at, reinterpret_cast<const uint8_t*>(&value) + 2, 2);
        break;
      }
      case M40_TYPE_Q4_1: case M40_TYPE_Q5_1: case M40_TYPE_Q4_K: case M40_TYPE_Q5_K: put_half(at, d), put_half(at + 2, m); break;
      case M40_TYPE_Q2_K: put_half(at + 80, d), put_half(at + 82, m); break;
      case M40_TYPE_Q3_K: put_half(at + 108, d); break;
      case M40_TYPE_Q6_K: put_half(at + 208, d); break;
      default: put_half(at, d);
    }
  }
  return bytes;
}

struct Matrix {
  PackedWeight packed;
  std::vector<float> values;  // [rows, columns]
};

Matrix make_matrix(uint32_t type, uint32_t n_experts, uint32_t rows, uint32_t columns) {
  const uint64_t n = uint64_t{n_experts} * rows * columns;
  const std::vector<uint8_t> raw = random_rows(type, n);
  Matrix matrix;
  matrix.values.resize(n);
  reference::kernels_by_name("baseline")->dequantize(type, raw.data(), matrix.values.data(), n / 32 * 32);
  if (type == M40_TYPE_F32) memcpy(matrix.values.data(), raw.data(), raw.size());
  if (type == M40_TYPE_F16 || type == M40_TYPE_BF16) {
    const uint16_t* halves = reinterpret_cast<const uint16_t*>(raw.data());
    for (uint64_t i = 0; i < n; i++) matrix.values[i] = type == M40_TYPE_F16 ? reference::half_to_float(halves[i]) : reference::bfloat16_to_float(halves[i]);
  }
  uint8_t* device_raw = static_cast<uint8_t*>(device_alloc(raw.size()));
  must(cudaMemcpy(device_raw, raw.data(), raw.size(), cudaMemcpyHostToDevice), "copy");
  matrix.packed = packed_view(type, n_experts, rows, columns, device_alloc(packed_bytes(type, n_experts, rows, columns), 0xFF));
  // In two parts, as an upload would.
  const uint64_t row_bytes = raw_row_bytes(type, columns), all = uint64_t{n_experts} * rows, first = all / 2;
  launch_repack(device_raw, matrix.packed, 0, first, nullptr);
  launch_repack(device_raw + first * row_bytes, matrix.packed, first, all - first, nullptr);
  must(cudaDeviceSynchronize(), "repack");
  cudaFree(device_raw);
  return matrix;
}

void free_matrix(Matrix& matrix) { cudaFree(const_cast<void*>(matrix.packed.planes[0])); }

Scratch make_scratch(uint64_t n_bytes) { return {static_cast<uint32_t*>(device_alloc(scratch_counters * 4, 0)), device_alloc(n_bytes, 0xFF)}; }

int failures = 0, checks = 0;

void expect(bool good, const std::string& what) {
  checks++;
  if (good) return;
  failures++;
  if (failures < 40) printf("FAILED: %s\n", what.c_str());
}

// What is wanted, and the size of the terms that it is the sum of: their root of squares. Where terms cancel, the sum's
// own size says nothing about how well it was computed.
struct Wanted {
  double sum, size;
};

Wanted product_of(const float* a, const float* b, uint32_t n) {
  double sum = 0, squares = 0;
  for (uint32_t i = 0; i < n; i++) sum += double{a[i]} * b[i], squares += double{a[i]} * b[i] * a[i] * b[i];
  return {sum, sqrt(squares)};
}

double relative_error(const std::vector<float>& got, const std::vector<Wanted>& wanted) {
  double error = 0, norm = 0;
  for (size_t i = 0; i < got.size(); i++) {
    error += (got[i] - wanted[i].sum) * (got[i] - wanted[i].sum);
    norm += wanted[i].size * wanted[i].size;
  }
  return sqrt(error / norm);
}

// One or more weights sharing an input, with bias and residual where asked.
void check_shape(uint32_t type, std::vector<uint32_t> rows, uint32_t columns, bool bias, bool residual, const std::vector<uint32_t>& counts, bool prefill,
                 uint32_t last_type = ~0u) {
  const TensorType& t = *find_tensor_type(type);
  std::vector<uint32_t> types(rows.size(), type);
  if (last_type != ~0u) types.back() = last_type;
  if (columns % t.block_weights != 0) return;
  const uint32_t most = *std::max_element(counts.begin(), counts.end());
  std::vector<Matrix> matrices;
  std::vector<float> biases;
  uint32_t total = 0;
  for (size_t i = 0; i < rows.size(); i++) matrices.push_back(make_matrix(types[i], 1, rows[i], columns)), total += rows[i];
  const uint32_t in_stride = columns + (residual ? 4 : 3), out_stride = total + 5;
  std::vector<float> input(size_t{most} * in_stride), added(size_t{most} * out_stride);
  for (float& v : input) v = random_float();
  for (float& v : added) v = random_float();
  for (uint32_t i = 0; i < total; i++) biases.push_back(random_float());
  float* d_input = static_cast<float*>(device_alloc(input.size() * 4));
  float* d_added = static_cast<float*>(device_alloc(added.size() * 4));
  float* d_bias = static_cast<float*>(device_alloc(biases.size() * 4));
  float* d_output = static_cast<float*>(device_alloc(added.size() * 4));
  must(cudaMemcpy(d_input, input.data(), input.size() * 4, cudaMemcpyHostToDevice), "copy");
  must(cudaMemcpy(d_added, added.data(), added.size() * 4, cudaMemcpyHostToDevice), "copy");
  must(cudaMemcpy(d_bias, biases.data(), biases.size() * 4, cudaMemcpyHostToDevice), "copy");
  Scratch scratch = make_scratch(matmul_scratch_bytes(types.data(), rows.data(), rows.size(), columns, most));
  std::vector<float> first_run;  // of the largest count
  std::vector<uint32_t> order = counts;
  std::sort(order.rbegin(), order.rend());
  std::string name = std::string(t.name) + (last_type != ~0u ? std::string(" and ") + find_tensor_type(last_type)->name : "") + " rows";
  for (uint32_t r : rows) name += " " + std::to_string(r);
  name += " columns " + std::to_string(columns) + (prefill ? " prefill" : " decode");
  std::vector<Wanted> wanted(size_t{most} * total);
  std::atomic<uint32_t> next{0};
  const auto multiply = [&] {
    for (uint32_t n; (n = next++) < most;) {
      uint32_t column = 0;
      for (const Matrix& m : matrices) {
        for (uint32_t r = 0; r < m.packed.rows; r++, column++) {
          Wanted& w = wanted[size_t{n} * total + column];
          w = product_of(&m.values[size_t{r} * columns], &input[size_t{n} * in_stride], columns);
          if (bias) w.sum += biases[column];
          if (residual) w.sum += added[size_t{n} * out_stride + column];
        }
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < std::thread::hardware_concurrency(); i++) threads.emplace_back(multiply);
  multiply();
  for (std::thread& thread : threads) thread.join();
  double worst = 0;
  for (uint32_t n : order) {
    for (int run = 0; run < 2; run++) {
      must(cudaMemset(d_output, 0xFF, added.size() * 4), "poison");
      MatmulArgs args = {};
      args.input = d_input, args.input_stride = in_stride, args.output = d_output, args.output_stride = out_stride;
      args.residual = residual ? d_added : nullptr;
      args.n_rows = n, args.columns = columns, args.n_weights = static_cast<uint32_t>(rows.size()), args.scratch = scratch, args.prefill = prefill;
      uint32_t column = 0;
      for (size_t i = 0; i < rows.size(); i++) args.weights[i] = {matrices[i].packed, bias ? d_bias + column : nullptr, column}, column += rows[i];
      launch_matmul(args, nullptr);
      must(cudaGetLastError(), "launch");
      std::vector<float> output(added.size());
      must(cudaMemcpy(output.data(), d_output, output.size() * 4, cudaMemcpyDeviceToHost), name.c_str());
      std::vector<float> got;
      for (uint32_t i = 0; i < n; i++) got.insert(got.end(), output.begin() + size_t{i} * out_stride, output.begin() + size_t{i} * out_stride + total);
      const double error = relative_error(got, wanted);
      worst = std::max(worst, error);
      expect(error < 3e-6, name + ": " + std::to_string(n) + " tokens: relative error " + std::to_string(error * 1e6) + "e-6");
      uint32_t padding = 0;
      memcpy(&padding, &output[total], 4);
      expect(padding == 0xFFFFFFFF, name + ": wrote beyond its columns");
      if (first_run.empty()) first_run = got;
      expect(memcmp(first_run.data(), got.data(), got.size() * 4) == 0, name + ": bits of " + std::to_string(n) + " tokens, run " + std::to_string(run));
    }
  }
  printf("%s%s%s: worst %.2e\n", name.c_str(), bias ? " bias" : "", residual ? " residual" : "", worst);
  for (Matrix& m : matrices) free_matrix(m);
  for (void* p : {(void*)d_input, (void*)d_added, (void*)d_bias, (void*)d_output, scratch.memory, (void*)scratch.counters}) cudaFree(p);
}

void check_experts(uint32_t type, uint32_t n_experts, uint32_t rows, uint32_t columns, uint32_t n_tokens, uint32_t n_used, bool per_slot) {
  Matrix m = make_matrix(type, n_experts, rows, columns);
  const uint32_t slots = n_tokens * n_used, n_inputs = per_slot ? slots : n_tokens;
  std::vector<float> input(size_t{n_inputs} * columns);
  std::vector<uint32_t> experts(slots);
  for (float& v : input) v = random_float();
  for (uint32_t& e : experts) e = random_u32() % n_experts;
  float* d_input = static_cast<float*>(device_alloc(input.size() * 4));
  uint32_t* d_experts = static_cast<uint32_t*>(device_alloc(slots * 4));
  float* d_output = static_cast<float*>(device_alloc(size_t{slots} * rows * 4, 0xFF));
  must(cudaMemcpy(d_input, input.data(), input.size() * 4, cudaMemcpyHostToDevice), "copy");
  must(cudaMemcpy(d_experts, experts.data(), slots * 4, cudaMemcpyHostToDevice), "copy");
  ExpertMatmulArgs args = {};
  args.input = d_input, args.input_stride = columns, args.input_per_slot = per_slot, args.experts = d_experts, args.experts_stride = n_used;
  args.output = d_output, args.output_stride = rows, args.n_tokens = n_tokens, args.n_used = n_used, args.columns = columns, args.n_weights = 1;
  args.weights[0] = m.packed;
  launch_expert_matmul(args, nullptr);
  must(cudaGetLastError(), "launch");
  std::vector<float> got(size_t{slots} * rows);
  must(cudaMemcpy(got.data(), d_output, got.size() * 4, cudaMemcpyDeviceToHost), "copy");
  std::vector<Wanted> wanted;
  for (uint32_t s = 0; s < slots; s++) {
    const float* x = input.data() + size_t{per_slot ? s : s / n_used} * columns;
    for (uint32_t r = 0; r < rows; r++) {
      wanted.push_back(product_of(m.values.data() + (size_t{experts[s]} * rows + r) * columns, x, columns));
    }
  }
  const double error = relative_error(got, wanted);
  expect(error < 3e-6, std::string(find_tensor_type(type)->name) + " experts: relative error " + std::to_string(error * 1e6) + "e-6");
  free_matrix(m);
  cudaFree(d_input), cudaFree(d_experts), cudaFree(d_output);
}

// A prologue gives the bits of its operation followed by a product.
void check_prologue(uint32_t type, uint32_t rows, uint32_t columns) {
  constexpr uint32_t n_tokens = 1;
  Matrix m = make_matrix(type, 1, rows, columns);
  std::vector<float> input(size_t{n_tokens} * 2 * columns), norm_weight(columns);
  for (float& v : input) v = 3 * random_float();
  for (float& v : norm_weight) v = 1 + random_float();
  float* d_input = static_cast<float*>(device_alloc(input.size() * 4));
  float* d_between = static_cast<float*>(device_alloc(input.size() * 4));
  float* d_norm = static_cast<float*>(device_alloc(columns * 4));
  float* d_output = static_cast<float*>(device_alloc(size_t{n_tokens} * rows * 4));
  must(cudaMemcpy(d_input, input.data(), input.size() * 4, cudaMemcpyHostToDevice), "copy");
  must(cudaMemcpy(d_norm, norm_weight.data(), columns * 4, cudaMemcpyHostToDevice), "copy");
  const Scratch scratch = make_scratch(matmul_scratch_bytes(&type, &rows, 1, columns, n_tokens));
  for (auto kind : {MatmulPrologue::kNorm, MatmulPrologue::kActivation}) {
    std::vector<float> results[2];
    for (int fused = 0; fused < 2; fused++) {
      must(cudaMemset(d_output, 0xFF, size_t{n_tokens} * rows * 4), "poison");
      MatmulArgs args = {};
      args.input = d_input, args.input_stride = 2 * columns, args.output = d_output, args.output_stride = rows;
      args.n_rows = n_tokens, args.columns = columns, args.n_weights = 1, args.scratch = scratch;
      args.weights[0] = {m.packed, nullptr, 0};
      args.prologue.kind = kind, args.prologue.norm_weight = d_norm, args.prologue.epsilon = 1e-5f, args.prologue.activation = M40_ACTIVATION_SILU;
      if (!fused) {
        if (kind == MatmulPrologue::kNorm) {
          NormArgs norm = {};
          norm.input = d_input, norm.input_stride = 2 * columns, norm.output = d_between, norm.output_stride = columns, norm.weight = d_norm;
          norm.n_rows = n_tokens, norm.columns = columns, norm.norm = M40_NORM_RMS, norm.epsilon = 1e-5f;
          launch_norm(norm, nullptr);
        } else {
          launch_activation({d_input, 2 * columns, d_between, columns, n_tokens, columns, M40_ACTIVATION_SILU, true}, nullptr);
        }
        args.input = d_between, args.input_stride = columns, args.prologue = {};
      }
      expect(matmul_fuses(args), "a prologue for one token");
      launch_matmul(args, nullptr);
      must(cudaGetLastError(), "launch");
      results[fused].resize(size_t{n_tokens} * rows);
      must(cudaMemcpy(results[fused].data(), d_output, results[fused].size() * 4, cudaMemcpyDeviceToHost), "copy");
    }
    expect(memcmp(results[0].data(), results[1].data(), results[0].size() * 4) == 0,
           std::string(find_tensor_type(type)->name) + (kind == MatmulPrologue::kNorm ? " norm" : " activation") + " prologue: other bits than the operation of its own");
  }
  free_matrix(m);
  for (void* p : {(void*)d_input, (void*)d_between, (void*)d_norm, (void*)d_output, scratch.memory, (void*)scratch.counters}) cudaFree(p);
}

// Every tile of tokens (32, 64, 128) alone and behind others, whole and not; one split and two; sums that can be stored
// four at a time and ones that cannot.
void check_prompts() {
  for (const TensorType& t : tensor_types) {
    check_shape(t.id, {96}, 512, true, true, {1, 7, 40}, true);
    check_shape(t.id, {130, 40}, 256, true, false, {1, 129, 150}, true);
    if (t.block_weights == 1) {
      check_shape(t.id, {33}, 77, false, true, {1, 3, 70}, true);
      check_shape(t.id, {5}, 3, false, false, {2}, true);
    }
#ifdef M40_EMULATED
    if (t.id == M40_TYPE_Q4_K || t.id == M40_TYPE_F16) check_shape(t.id, {130, 40}, 2048, true, false, {1, 33, 65, 130}, true);
#else
    check_shape(t.id, {130, 40}, 2048, true, false, {1, 31, 32, 33, 64, 65, 127, 128, 129, 161, 200, 257, 700}, true);
    check_shape(t.id, {256}, 4096, true, true, {1, 16, 32, 64, 96, 128, 160, 300}, true);
#endif
  }
#ifndef M40_EMULATED
  for (uint32_t type : {M40_TYPE_Q4_K, M40_TYPE_Q6_K, M40_TYPE_Q8_0, M40_TYPE_F16}) {
    check_shape(type, {1024}, 4096, false, true, {200}, true);
  }
  // Several passes over the tokens.
  check_shape(M40_TYPE_Q4_K, {4096}, 8192, false, true, {32, 700}, true);
#endif
}

void check_decode() {
  std::vector<uint32_t> all;
  for (uint32_t n = 1; n <= 33; n++) all.push_back(n);
#ifdef M40_EMULATED
  const std::vector<uint32_t> few = {1, 2, 3, 8, 17};
#else
  const std::vector<uint32_t> few = all;
#endif
  for (const TensorType& t : tensor_types) {
    check_shape(t.id, {96}, 512, true, true, few, false);
    check_shape(t.id, {1}, 256, false, false, {1, 5}, false);
    check_shape(t.id, {130, 40, 7}, 1024 + 256, true, false, {1, 4, 9}, false);
    if (t.block_weights <= 32) check_shape(t.id, {33}, 96 + 32, false, true, {1, 3, 32}, false);
    if (t.block_weights == 1) {
      check_shape(t.id, {33}, 77, false, true, {1, 3, 32}, false);
      check_shape(t.id, {5}, 3, false, false, {2}, false);
    }
    check_experts(t.id, 4, 96, 512, 3, 2, false);
    check_prologue(t.id, 96, 1280);
    check_prologue(t.id, 200, 256);
    check_experts(t.id, 4, 40, 256, 3, 2, true);
  }
  for (uint32_t type : {M40_TYPE_Q4_K, M40_TYPE_Q5_K, M40_TYPE_Q8_0}) {  // a launch for both, and one for each
    check_shape(type, {130, 40, 7}, 1024 + 256, true, true, few, false, M40_TYPE_Q6_K);
    check_shape(type, {64, 33}, 512, false, false, few, false, M40_TYPE_Q6_K);
  }
#ifndef M40_EMULATED
  for (uint32_t type : {M40_TYPE_Q4_K, M40_TYPE_Q6_K, M40_TYPE_Q8_0, M40_TYPE_F16}) {
    check_shape(type, {4096}, 4096, true, true, {1, 2, 4, 8, 16, 32}, false);
    check_shape(type, {1024, 512, 512}, 14336, false, false, {1, 2, 4, 8, 16, 32}, false);
  }
#endif
#ifndef M40_EMULATED
  check_prologue(M40_TYPE_Q4_K, 8192, 4096);
#endif
}

#ifndef M40_EMULATED

// Random blocks: what is timed need not mean anything, but must be numbers that are not zero. An entry of entry_words
// words is quants up to quant_words, and scales after.
__global__ void fill(uint32_t* words, size_t n, uint32_t seed, uint32_t entry_words, uint32_t quant_words, uint32_t quant_keep, uint32_t quant_set, uint32_t keep,
                     uint32_t set) {
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < n; i += size_t{gridDim.x} * blockDim.x) {
    uint32_t h = static_cast<uint32_t>(i) * 2654435761u + seed;
    h ^= h >> 15, h *= 2246822519u, h ^= h >> 13;
    words[i] = i % entry_words < quant_words ? (h & quant_keep) | quant_set : (h & keep) | set;
  }
}

PackedWeight random_weight(uint32_t type, uint32_t rows, uint32_t columns, void* memory) {
  const PackedWeight w = packed_view(type, 1, rows, columns, memory);
  const PackedLayout layout = packed_layout(type);
  const bool floats = type == M40_TYPE_F16 || type == M40_TYPE_BF16 || type == M40_TYPE_F32;
  // Halves near 2^-10 of either sign for values; scales of 8 bits below 64, or positive halves.
  const uint32_t quants = (layout.bytes[0] + layout.bytes[1]) * packed_tile_rows / 4, scales = layout.bytes[2] * packed_tile_rows / 4;
  const bool bytes = type == M40_TYPE_Q6_K || type == M40_TYPE_Q2_K;
  fill<<<1024, 256>>>(static_cast<uint32_t*>(const_cast<void*>(w.planes[0])), packed_plane_bytes(type, 1, rows, columns, 0) / 4, rows * 7 + columns, quants + scales, quants,
                      floats ? 0x83FF83FF : 0xFFFFFFFF, floats ? 0x14001400 : 0, bytes ? 0x3F3F3F3F : 0x03FF03FF, bytes ? 0 : 0x14001400);
  if (w.planes[1] != nullptr) {
    // The bytes that make d and dmin are the highest of each word; 0x14 makes halves near 2^-10.
    fill<<<1024, 256>>>(static_cast<uint32_t*>(const_cast<void*>(w.planes[1])), packed_plane_bytes(type, 1, rows, columns, 1) / 4, rows * 5 + columns, 1, 0, 0, 0, 0x00FFFFFF,
                        0x14000000);
  }
  return w;
}

struct Shape {
  const char* name;
  std::vector<uint32_t> rows;
  uint32_t columns;
  bool residual;
};

// Median microseconds of one product, over `copies` different weights in one graph.
double time_graph(const std::function<void(cudaStream_t)>& record, int n_products) {
  static cudaStream_t stream = nullptr;
  if (stream == nullptr) must(cudaStreamCreate(&stream), "stream");
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
  record(stream);
  must(cudaStreamEndCapture(stream, &graph), "capture");
  must(cudaGraphInstantiate(&executable, graph, nullptr, nullptr, 0), "instantiate");
  cudaEvent_t a, b;
  cudaEventCreate(&a), cudaEventCreate(&b);
  std::vector<float> times;
  double spent = 0;
  for (int i = 0; i < 12 && (i < 5 || spent < 60); i++) {
    cudaEventRecord(a, stream);
    must(cudaGraphLaunch(executable, stream), "launch");
    cudaEventRecord(b, stream);
    must(cudaEventSynchronize(b), "run");
    float ms;
    cudaEventElapsedTime(&ms, a, b);
    spent += ms;
    if (i >= 2) times.push_back(ms);
  }
  cudaGraphExecDestroy(executable), cudaGraphDestroy(graph), cudaEventDestroy(a), cudaEventDestroy(b);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2] * 1000 / n_products;
}

struct Buffers {
  float *input, *output, *residual;
  Scratch scratch;
};

Buffers make_buffers() {
  Buffers b;
  const size_t n = size_t{2048} * 32768;
  b.input = static_cast<float*>(device_alloc(n * 4)), b.output = static_cast<float*>(device_alloc(n * 4)), b.residual = static_cast<float*>(device_alloc(n * 4));
  std::vector<float> host(n);
  for (float& v : host) v = random_float();
  must(cudaMemcpy(b.input, host.data(), n * 4, cudaMemcpyHostToDevice), "copy");
  must(cudaMemcpy(b.residual, host.data(), n * 4, cudaMemcpyHostToDevice), "copy");
  b.scratch = make_scratch(128 << 20);
  return b;
}

void product(const Buffers& b, const Shape& shape, const std::vector<PackedWeight>& weights, uint32_t n, bool prefill, cudaStream_t stream, bool prologues = false) {
  MatmulArgs args = {};
  args.input = b.input, args.input_stride = shape.columns, args.output = b.output, args.residual = shape.residual ? b.residual : nullptr;
  args.n_rows = n, args.columns = shape.columns, args.n_weights = static_cast<uint32_t>(weights.size()), args.scratch = b.scratch, args.prefill = prefill;
  uint32_t column = 0;
  for (size_t i = 0; i < weights.size(); i++) args.weights[i] = {weights[i], nullptr, column}, column += weights[i].rows;
  args.output_stride = column;
  if (prologues && shape.columns == 14336) {
    args.prologue.kind = MatmulPrologue::kActivation, args.prologue.activation = M40_ACTIVATION_SILU, args.input_stride = 2 * shape.columns;
  } else if (prologues && !shape.residual) {
    args.prologue.kind = MatmulPrologue::kNorm, args.prologue.norm_weight = b.residual, args.prologue.epsilon = 1e-5f;
  }
  launch_matmul(args, stream);
}

const std::vector<Shape> layer = {{"qkv", {4096, 1024, 1024}, 4096, false}, {"o", {4096}, 4096, true}, {"gate_up", {14336, 14336}, 4096, false}, {"down", {4096}, 14336, true}};
const Shape logits = {"logits", {32000}, 4096, false};

std::vector<std::vector<PackedWeight>> make_copies(const std::vector<uint32_t>& types, const Shape& shape, uint64_t wanted_bytes, std::vector<void*>& memory) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < shape.rows.size(); i++) bytes += packed_bytes(types[i], 1, shape.rows[i], shape.columns);
  std::vector<std::vector<PackedWeight>> copies;
  for (uint64_t have = 0; have < wanted_bytes || copies.size() < 2; have += bytes) {
    std::vector<PackedWeight> weights;
    for (size_t i = 0; i < shape.rows.size(); i++) {
      memory.push_back(device_alloc(packed_bytes(types[i], 1, shape.rows[i], shape.columns)));
      weights.push_back(random_weight(types[i], shape.rows[i], shape.columns, memory.back()));
    }
    copies.push_back(weights);
  }
  must(cudaDeviceSynchronize(), "fill");
  return copies;
}

void time_type(const Buffers& b, uint32_t type, const std::vector<uint32_t>& counts, bool prompt) {
  std::vector<Shape> shapes = layer;
  shapes.push_back(logits);
  for (const Shape& shape : shapes) {
    std::vector<void*> memory;
    uint64_t rows = 0;
    for (uint32_t r : shape.rows) rows += r;
    const auto copies = make_copies(std::vector<uint32_t>(shape.rows.size(), type), shape, 400 << 20, memory);
    double bytes = 0;
    for (uint32_t r : shape.rows) bytes += packed_bytes(type, 1, r, shape.columns);
    printf("%-5s %-8s", find_tensor_type(type)->name, shape.name);
    for (uint32_t n : counts) {
      const size_t used = n > 32 ? 2 : copies.size();
      const bool prefill = prompt || n > 32;
      const double us = time_graph([&](cudaStream_t s) { for (size_t i = 0; i < used; i++) product(b, shape, copies[i], n, prefill, s); }, static_cast<int>(used));
      printf(" | n=%u %.1f us %.2f TB/s %.1f TF", n, us, bytes / us / 1e6, 2.0 * rows * shape.columns * n / us / 1e6);
    }
    printf("\n");
    fflush(stdout);
    for (void* m : memory) cudaFree(m);
  }
}

// A stack of 32 layers and the logits, as a step would launch them.
void time_mix(const Buffers& b, const char* name, const std::function<uint32_t(int layer, const std::string& tensor)>& type_of, const std::vector<uint32_t>& counts) {
  struct Use {
    Shape shape;
    std::vector<PackedWeight> weights;
  };
  std::vector<void*> memory;
  std::vector<Use> uses;
  const char* parts[4][3] = {{"q", "k", "v"}, {"o"}, {"gate", "up"}, {"down"}};
  double bytes = 0, weights = 0;
  const auto add = [&](const Shape& shape, const std::vector<uint32_t>& types) {
    uses.push_back({shape, make_copies(types, shape, 0, memory)[0]});
    for (size_t i = 0; i < types.size(); i++) bytes += packed_bytes(types[i], 1, shape.rows[i], shape.columns), weights += double(shape.rows[i]) * shape.columns;
  };
  for (int l = 0; l < 32; l++) {
    for (size_t s = 0; s < layer.size(); s++) {
      std::vector<uint32_t> types;
      for (size_t i = 0; i < layer[s].rows.size(); i++) types.push_back(type_of(l, parts[s][i]));
      add(layer[s], types);
    }
  }
  add(logits, {type_of(0, "logits")});
  printf("%-7s %.2f GB", name, bytes / 1e9);
  const double fused = time_graph([&](cudaStream_t s) { for (const Use& u : uses) product(b, u.shape, u.weights, 1, false, s, true); }, 1);
  printf(" | n=1 with norms and activations as prologues %.0f us", fused);
  for (uint32_t n : counts) {
    const double us = time_graph([&](cudaStream_t s) { for (const Use& u : uses) product(b, u.shape, u.weights, u.shape.rows[0] == 32000 && n > 32 ? 1 : n, n > 32, s); }, 1);
    printf(" | n=%u %.0f us, %.0f tok/s, %.2f TB/s, %.1f TF", n, us, n / us * 1e6, bytes / us / 1e6, 2 * weights * n / us / 1e6);
    fflush(stdout);
  }
  printf("\n");
  for (void* m : memory) cudaFree(m);
}

#endif

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "check";
  if (what == "check") {
    check_prompts();
    if (argc <= 2) check_decode();
    printf("%d checks, %d failed\n", checks, failures);
    return failures != 0;
  }
#ifndef M40_EMULATED
  const Buffers b = make_buffers();
  if (what == "time" || what == "prompt") {
    const bool prompt = what == "prompt";
    const std::vector<uint32_t> counts = prompt ? std::vector<uint32_t>{16, 32, 64, 128, 256, 512, 1024} : std::vector<uint32_t>{1, 2, 4, 8, 16, 32, 512, 2048};
    std::vector<uint32_t> types = {M40_TYPE_Q4_K, M40_TYPE_Q6_K, M40_TYPE_Q8_0, M40_TYPE_Q4_0, M40_TYPE_F16};
    if (argc > 2) types.clear();
    for (int i = 2; i < argc; i++) {
      for (const TensorType& t : tensor_types) {
        if (t.name == std::string(argv[i])) types.push_back(t.id);
      }
    }
    for (uint32_t type : types) time_type(b, type, counts, prompt);
  }
  if (what == "mix") {
    std::vector<uint32_t> counts = {1, 2, 4, 8, 16, 32, 512};
    if (argc > 2) counts.clear();
    for (int i = 2; i < argc; i++) counts.push_back(static_cast<uint32_t>(atoi(argv[i])));
    // Q4_K_M keeps attn_v and ffn_down of half the layers, and the logits, in Q6_K.
    time_mix(b, "Q4_K_M", [](int l, const std::string& t) {
      const bool more = l < 4 || l >= 28 || (l - 4) % 3 == 2;
      return t == "logits" || ((t == "v" || t == "down") && more) ? uint32_t{M40_TYPE_Q6_K} : uint32_t{M40_TYPE_Q4_K};
    }, counts);
    time_mix(b, "Q8_0", [](int, const std::string&) { return uint32_t{M40_TYPE_Q8_0}; }, counts);
    time_mix(b, "F16", [](int, const std::string&) { return uint32_t{M40_TYPE_F16}; }, counts);
  }
#endif
  return 0;
}
