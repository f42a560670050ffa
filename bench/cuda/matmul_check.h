// Products of packed weights against float64.
#ifndef M40_BENCH_CUDA_MATMUL_CHECK_H
#define M40_BENCH_CUDA_MATMUL_CHECK_H

#include <atomic>
#include <thread>

#include "../../cuda/ops/rare_types.h"
#include "../../cuda/cpu/kernels.h"
#include "../../cuda/common/tensor_types.h"
#include "matmul_memory.h"

namespace {

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
      case M40_TYPE_TQ1_0: put_half(at + 52, d); break;
      case M40_TYPE_TQ2_0: put_half(at + 64, d); break;
      case M40_TYPE_MXFP4: *at = static_cast<uint8_t>(116 + random_u32() % 4); break;
      case M40_TYPE_NVFP4:
        for (int i = 0; i < 4; i++) at[i] = static_cast<uint8_t>(40 + random_u32() % 16);
        break;
      case M40_TYPE_IQ1_M: {  // in the highest four bits of four words
        const uint16_t half = reference::float_to_half(d);
        for (int i = 0; i < 4; i++) at[49 + 2 * i] = static_cast<uint8_t>((at[49 + 2 * i] & 15) | (half >> 4 * i & 15) << 4);
        break;
      }
      default: put_half(at, d);
    }
  }
  return bytes;
}

struct Matrix {
  PackedWeight packed;
  std::vector<float> values;  // [rows, columns]
  std::vector<uint8_t> raw;   // GGUF's blocks
};

Matrix make_matrix(uint32_t type, uint32_t n_experts, uint32_t rows, uint32_t columns) {
  const uint64_t n = uint64_t{n_experts} * rows * columns;
  Matrix matrix;
  matrix.raw = random_rows(type, n);
  const std::vector<uint8_t>& raw = matrix.raw;
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

// One or two weights of n_experts experts; as many tokens at a time as counts say, each time the last ones of all.
void check_experts(uint32_t type, std::vector<uint32_t> rows, uint32_t n_experts, uint32_t n_used, uint32_t columns, bool per_slot, const std::vector<uint32_t>& counts,
                   bool prefill) {
  const uint32_t most = *std::max_element(counts.begin(), counts.end()), slots_a_row = per_slot ? 1 : n_used;
  std::vector<Matrix> matrices;
  uint32_t total = 0;
  for (uint32_t r : rows) matrices.push_back(make_matrix(type, n_experts, r, columns)), total += r;
  const uint32_t slots = most * n_used, out_stride = total + 3;
  std::vector<float> input(size_t{slots} / slots_a_row * columns);
  std::vector<uint32_t> experts(slots);
  for (float& v : input) v = random_float();
  // More of them go to the first ones, and none to the last but one.
  for (uint32_t& e : experts) e = std::min(random_u32(), random_u32()) % n_experts, e -= n_experts > 2 && e == n_experts - 2;
  float* d_input = static_cast<float*>(device_alloc(input.size() * 4));
  uint32_t* d_experts = static_cast<uint32_t*>(device_alloc(slots * 4));
  float* d_output = static_cast<float*>(device_alloc(size_t{slots} * out_stride * 4));
  must(cudaMemcpy(d_input, input.data(), input.size() * 4, cudaMemcpyHostToDevice), "copy");
  must(cudaMemcpy(d_experts, experts.data(), slots * 4, cudaMemcpyHostToDevice), "copy");
  ExpertGrouping grouping;
  grouping.memory = device_alloc(expert_groups_bytes(n_experts, slots));
  std::vector<Wanted> wanted;
  for (uint32_t s = 0; s < slots; s++) {
    for (const Matrix& m : matrices) {
      for (uint32_t r = 0; r < m.packed.rows; r++) {
        wanted.push_back(product_of(&m.values[(size_t{experts[s]} * m.packed.rows + r) * columns], &input[size_t{s / slots_a_row} * columns], columns));
      }
    }
  }
  std::string name = std::string(find_tensor_type(type)->name) + " of " + std::to_string(n_experts) + " experts" + (prefill ? " prefill" : " decode");
  std::vector<float> first_run(wanted.size());  // of each row: the first that computed it
  std::vector<bool> has_run(slots);
  for (uint32_t n : counts) {
    for (int run = 0; run < 2; run++) {
      const uint32_t first = most - n, first_slot = first * n_used;
      must(cudaMemset(d_output, 0xFF, size_t{slots} * out_stride * 4), "poison");
      ExpertMatmulArgs args = {};
      args.input = d_input + size_t{first_slot} / slots_a_row * columns, args.input_stride = columns, args.input_per_slot = per_slot;
      args.experts = d_experts + first_slot, args.experts_stride = n_used, args.output = d_output, args.output_stride = out_stride;
      args.n_tokens = n, args.n_used = n_used, args.columns = columns, args.n_weights = static_cast<uint32_t>(rows.size());
      uint32_t column = 0;
      for (size_t i = 0; i < rows.size(); i++) args.weights[i] = matrices[i].packed, args.output_column[i] = column, column += rows[i];
      args.grouping = &grouping, args.prefill = prefill;
      launch_expert_matmul(args, nullptr);
      must(cudaGetLastError(), "launch");
      std::vector<float> output(size_t{slots} * out_stride), got;
      must(cudaMemcpy(output.data(), d_output, output.size() * 4, cudaMemcpyDeviceToHost), name.c_str());
      bool same = true;
      for (uint32_t s = 0; s < n * n_used; s++) {
        const float* row = &output[size_t{s} * out_stride];
        float* before = &first_run[size_t{first_slot + s} * total];
        got.insert(got.end(), row, row + total);
        if (has_run[first_slot + s]) same = same && memcmp(before, row, total * 4) == 0;
        memcpy(before, row, total * 4);
        has_run[first_slot + s] = true;
      }
      const double error = relative_error(got, {wanted.begin() + size_t{first_slot} * total, wanted.end()});
      expect(error < 3e-6, name + ": " + std::to_string(n) + " tokens: relative error " + std::to_string(error * 1e6) + "e-6");
      expect(same, name + ": bits of " + std::to_string(n) + " tokens, run " + std::to_string(run));
    }
  }
  for (Matrix& m : matrices) free_matrix(m);
  for (void* p : {(void*)d_input, (void*)d_experts, (void*)d_output, grouping.memory}) cudaFree(p);
}

// A prologue gives the bits of its operation followed by a product.
void check_prologue(uint32_t type, uint32_t rows, uint32_t columns) {
  if (is_rare(type)) return;  // has none
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
          norm.n_rows = n_tokens, norm.columns = columns, norm.n_groups = 1, norm.norm = M40_NORM_RMS, norm.epsilon = 1e-5f;
          launch_norm(norm, nullptr);
        } else {
          launch_activation({d_input, 2 * columns, d_input + columns, 2 * columns, d_between, columns, n_tokens, columns, M40_ACTIVATION_SILU, 0, 0}, nullptr);
        }
        args.input = d_between, args.input_stride = columns, args.prologue = {};
      }
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
    check_experts(t.id, {130, 41}, 3, 1, 256, false, {150, 40, 1}, true);
    check_experts(t.id, {96}, 20, 2, 512, true, {70, 9}, true);
    if (t.block_weights == 1) check_experts(t.id, {33}, 3, 2, 77, false, {100, 5}, true);
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
    check_experts(type, {256, 256}, 32, 8, 2048, false, {200, 32, 1}, true);
    check_experts(type, {512}, 8, 2, 4096, true, {300, 128, 3}, true);
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
    check_experts(t.id, {96}, 4, 2, 512, false, {20, 9, 3, 2, 1}, false);
    check_prologue(t.id, 96, 1280);
    check_prologue(t.id, 200, 256);
    check_experts(t.id, {40, 40}, 4, 2, 256, true, {11, 3, 1}, false);
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

}  // namespace

#endif
