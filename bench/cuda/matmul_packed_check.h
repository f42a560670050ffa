// Products with packed pairs, bit for bit against sums of 64-bit integers in the order that is written down for them.
#ifndef M40_BENCH_CUDA_MATMUL_PACKED_CHECK_H
#define M40_BENCH_CUDA_MATMUL_PACKED_CHECK_H

#include "../../cuda/kernels/matmul_decode_args.cuh"
#include "../../cuda/kernels/matmul_prefill.cuh"
#include "../../cuda/ops/packed_types.h"
#include "matmul_check.h"

namespace {

// A row's weights as integers, a scale for each run of 16 and a minimum for each run (that of the block where there is
// one of 32 columns).
struct IntegerRow {
  std::vector<int> w;
  std::vector<float> scales, minimums;
};

float half_at(const uint8_t* at) {
  uint16_t half;
  memcpy(&half, at, 2);
  return reference::half_to_float(half);
}

// Minimums of a block of 32 columns.
int minimums_of(uint32_t type) { return type == M40_TYPE_Q4_1 || type == M40_TYPE_Q4_K ? 1 : type == M40_TYPE_Q2_K ? 2 : 0; }

IntegerRow integer_row(uint32_t type, const uint8_t* raw, uint32_t columns) {
  const TensorType& t = *find_tensor_type(type);
  IntegerRow row;
  const auto run = [&](float scale, float minimum) { row.scales.push_back(scale), row.minimums.push_back(minimum); };
  for (uint32_t from = 0; from < columns; from += t.block_weights, raw += t.block_bytes) {
    switch (type) {
      case M40_TYPE_Q4_0:
      case M40_TYPE_Q4_1: {
        const uint8_t* const q = raw + (type == M40_TYPE_Q4_0 ? 2 : 4);
        for (int i = 0; i < 32; i++) row.w.push_back((i < 16 ? q[i] & 15 : q[i - 16] >> 4) - 8);
        for (int i = 0; i < 2; i++) run(half_at(raw), type == M40_TYPE_Q4_0 ? 0.0f : fmaf(half_at(raw), 8.0f, half_at(raw + 2)));
        break;
      }
      case M40_TYPE_Q4_K: {
        const uint8_t *const six = raw + 4, *const q = raw + 16;
        for (int b = 0; b < 8; b++) {
          const int scale = b < 4 ? six[b] & 63 : (six[b + 4] & 15) | six[b - 4] >> 6 << 4, minimum = b < 4 ? six[b + 4] & 63 : six[b + 4] >> 4 | six[b] >> 6 << 4;
          for (int i = 0; i < 32; i++) row.w.push_back((q[b / 2 * 32 + i] >> b % 2 * 4 & 15) - 8);
          volatile const float sc = half_at(raw) * static_cast<float>(scale), less = half_at(raw + 2) * static_cast<float>(minimum);
          for (int i = 0; i < 2; i++) run(sc, fmaf(sc, 8.0f, -less));
        }
        break;
      }
      case M40_TYPE_Q3_K: {
        const uint8_t *const high = raw, *const q = raw + 32, *const six = raw + 96;
        for (int c = 0; c < 256; c++) row.w.push_back(((q[c / 128 * 32 + c % 32] >> c % 128 / 32 * 2 & 3) | (high[c % 32] >> c / 32 & 1) << 2) - 4);
        for (int k = 0; k < 16; k++) {
          const int scale = (k < 8 ? six[k] & 15 : six[k - 8] >> 4) | (six[8 + k % 4] >> 2 * (k / 4) & 3) << 4;
          run(half_at(raw + 108) * static_cast<float>(scale - 32), 0.0f);
        }
        break;
      }
      case M40_TYPE_Q2_K: {
        const uint8_t* const q = raw + 16;
        for (int c = 0; c < 256; c++) row.w.push_back((q[c / 128 * 32 + c % 32] >> c % 128 / 32 * 2 & 3) - 2);
        for (int k = 0; k < 16; k++) {
          volatile const float scale = half_at(raw + 80) * static_cast<float>(raw[k] & 15), less = half_at(raw + 82) * static_cast<float>(raw[k] >> 4);
          run(scale, fmaf(scale, 2.0f, -less));
        }
        break;
      }
      case M40_TYPE_TQ1_0:
      case M40_TYPE_TQ2_0: {
        const auto trit = [&](int byte, int power) {
          uint8_t q = raw[byte];
          for (int i = 0; i < power; i++) q = static_cast<uint8_t>(q * 3);
          return (q * 3 >> 8) - 1;
        };
        for (int c = 0; c < 256; c++) {
          if (type == M40_TYPE_TQ2_0) {
            row.w.push_back((raw[c / 128 * 32 + c % 32] >> c % 128 / 32 * 2 & 3) - 1);
          } else {
            row.w.push_back(c < 160 ? trit(c % 32, c / 32) : c < 240 ? trit(32 + c % 16, (c - 160) / 16) : trit(48 + c % 4, (c - 240) / 4));
          }
        }
        for (int k = 0; k < 16; k++) run(half_at(raw + (type == M40_TYPE_TQ2_0 ? 64 : 52)), 0.0f);
        break;
      }
      case M40_TYPE_MXFP4: {
        constexpr int twice[8] = {0, 1, 2, 3, 4, 6, 8, 12};
        for (int i = 0; i < 32; i++) {
          const int q = i < 16 ? raw[1 + i] & 15 : raw[1 + i - 16] >> 4;
          row.w.push_back(q < 8 ? twice[q] : -twice[q - 8]);
        }
        for (int i = 0; i < 2; i++) run(ldexpf(1.0f, raw[0] - 128), 0.0f);
        break;
      }
      default: break;
    }
  }
  return row;
}

// A token's run of 16 columns.
struct IntegerRun {
  int a[16];
  float scale, sum;
};

std::vector<IntegerRun> integer_runs(uint32_t type, const float* x, uint32_t columns) {
  const float room = type == M40_TYPE_MXFP4 ? 232.875f : 352.875f;
  std::vector<IntegerRun> runs(columns / 16);
  for (IntegerRun& run : runs) {
    float tree[16];
    for (int i = 0; i < 16; i++) tree[i] = fabsf(x[i]);
    for (int n = 8; n > 0; n /= 2) {
      for (int i = 0; i < n; i++) tree[i] = tree[2 * i] + tree[2 * i + 1];
    }
    const float l1 = tree[0];
    const bool lost = !(l1 <= 1e20f), zero = lost || l1 <= 1e-24f;
    volatile const float by = room / l1;
    int64_t sum = 0;
    for (int i = 0; i < 16; i++) {
      volatile const float scaled = x[i] * by;
      run.a[i] = zero ? 0 : static_cast<int>(rintf(scaled)), sum += run.a[i];
    }
    run.scale = lost ? NAN : zero ? 0.0f : l1 / room;
    run.sum = run.scale * static_cast<float>(sum);
    x += 16;
  }
  return runs;
}

// The sum over blocks [block, end) of 32 columns.
float packed_chain(const IntegerRow& row, const std::vector<IntegerRun>& runs, int n_minimums, uint32_t block, uint32_t end) {
  float u = 0;
  for (; block < end; block++) {
    for (uint32_t run = 2 * block; run < 2 * block + 2; run++) {
      int64_t sum = 0;
      for (int i = 0; i < 16; i++) sum += int64_t{row.w[run * 16 + i]} * runs[run].a[i];
      volatile const float scale = row.scales[run] * runs[run].scale;
      u = fmaf(scale, static_cast<float>(sum), u);
      if (n_minimums == 2) u = fmaf(row.minimums[run], runs[run].sum, u);
    }
    volatile const float sum = runs[2 * block].sum + runs[2 * block + 1].sum;
    if (n_minimums == 1) u = fmaf(row.minimums[2 * block], sum, u);
  }
  return u;
}

// As decode adds: the eight parts of each split, then the splits.
float packed_decoded(const IntegerRow& row, const std::vector<IntegerRun>& runs, int n_minimums, uint32_t n_blocks, uint32_t splits) {
  float all = 0;
  for (uint32_t split = 0; split < splits; split++) {
    float sum = 0;
    for (uint32_t i = 0; i < decode_split_parts; i++) {
      const uint32_t part = split * decode_split_parts + i, parts = splits * decode_split_parts;
      const float u = packed_chain(row, runs, n_minimums, n_blocks * part / parts, n_blocks * (part + 1) / parts);
      sum = i == 0 ? u : sum + u;
    }
    all = split == 0 ? sum : all + sum;
  }
  return all;
}

// As a prompt's rows are added: a chain for each split.
float packed_prefilled(const IntegerRow& row, const std::vector<IntegerRun>& runs, int n_minimums, uint32_t n_blocks, uint32_t splits) {
  float all = 0;
  for (uint32_t split = 0; split < splits; split++) {
    const float u = packed_chain(row, runs, n_minimums, n_blocks * split / splits, n_blocks * (split + 1) / splits);
    all = split == 0 ? u : all + u;
  }
  return all;
}

bool same_bits(float a, float b) { return memcmp(&a, &b, 4) == 0 || (a != a && b != b); }

// One or more weights of a type that share an input. Some runs of it are zeros, tiny or not numbers.
void check_packed(uint32_t type, const std::vector<uint32_t>& rows, uint32_t columns, bool bias, bool residual, const std::vector<uint32_t>& counts, bool prefill = false) {
  if (columns % find_tensor_type(type)->block_weights != 0) return;
  const uint32_t most = *std::max_element(counts.begin(), counts.end()), n_blocks = columns / 32;
  std::vector<Matrix> matrices;
  std::vector<float> biases;
  uint32_t total = 0;
  for (uint32_t r : rows) matrices.push_back(make_matrix(type, 1, r, columns)), total += r;
  const uint32_t in_stride = columns + (residual ? 4 : 3), out_stride = total + 5;
  std::vector<float> input(size_t{most} * in_stride), added(size_t{most} * out_stride), wanted(added.size());
  for (float& v : input) v = random_u32() % 100 == 0 ? 20 * random_float() : random_float();
  for (float& v : added) v = random_float();
  for (uint32_t i = 0; i < total; i++) biases.push_back(random_float());
  for (uint32_t n = 0; n < most; n++) {
    float* const x = &input[size_t{n} * in_stride];
    for (int i = 0; i < 16; i++) x[i] *= n % 5 == 1 ? 0.0f : n % 5 == 2 ? 1e-26f : n % 5 == 3 ? 1e-18f : 1.0f;
    if (n % 7 == 6) x[columns / 2] = n % 2 == 0 ? INFINITY : NAN;
  }
  struct Row {
    IntegerRow row;
    uint32_t splits;
  };
  std::vector<Row> all_rows;
  for (const Matrix& m : matrices) {
    const uint32_t splits = prefill ? prefill_splits(m.packed.rows, columns) : decode_splits(m.packed.rows, columns);
    for (uint32_t r = 0; r < m.packed.rows; r++) all_rows.push_back({integer_row(type, m.raw.data() + r * raw_row_bytes(type, columns), columns), splits});
  }
  std::atomic<uint32_t> next{0};
  const auto multiply = [&] {
    for (uint32_t n; (n = next++) < most;) {
      const std::vector<IntegerRun> runs = integer_runs(type, &input[size_t{n} * in_stride], columns);
      for (uint32_t column = 0; column < total; column++) {
        const float sum = (prefill ? packed_prefilled : packed_decoded)(all_rows[column].row, runs, minimums_of(type), n_blocks, all_rows[column].splits);
        const size_t at = size_t{n} * out_stride + column;
        wanted[at] = sum + (bias ? biases[column] : 0.0f) + (residual ? added[at] : 0.0f);
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < std::thread::hardware_concurrency(); i++) threads.emplace_back(multiply);
  multiply();
  for (std::thread& thread : threads) thread.join();
  const auto copied = [](const std::vector<float>& values) {
    float* const memory = static_cast<float*>(device_alloc(values.size() * 4));
    must(cudaMemcpy(memory, values.data(), values.size() * 4, cudaMemcpyHostToDevice), "copy");
    return memory;
  };
  float *const d_input = copied(input), *const d_added = copied(added), *const d_bias = copied(biases), *const d_output = copied(added);
  const Scratch scratch = make_scratch(matmul_scratch_bytes(nullptr, rows.data(), static_cast<uint32_t>(rows.size()), columns, most, true));
  std::string name = std::string(find_tensor_type(type)->name) + " packed, rows";
  for (uint32_t r : rows) name += " " + std::to_string(r);
  name += ", columns " + std::to_string(columns) + (prefill ? " prefill" : "");
  uint32_t unequal = 0, compared = 0;
  for (uint32_t n : counts) {
    // The last of all tokens: one meets partners and none.
    const uint32_t first = most - n;
    must(cudaMemset(d_output, 0xFF, added.size() * 4), "poison");
    MatmulArgs args = {};
    args.input = d_input + size_t{first} * in_stride, args.input_stride = in_stride, args.output = d_output + size_t{first} * out_stride, args.output_stride = out_stride;
    args.residual = residual ? d_added + size_t{first} * out_stride : nullptr;
    args.n_rows = n, args.columns = columns, args.n_weights = static_cast<uint32_t>(rows.size()), args.scratch = scratch, args.prefill = prefill, args.packed = true;
    if (n % 2 == 0) args.prefill_share = 20;  // fewer thread blocks than there is work for
    uint32_t column = 0;
    for (size_t i = 0; i < rows.size(); i++) args.weights[i] = {matrices[i].packed, bias ? d_bias + column : nullptr, column}, column += rows[i];
    launch_matmul(args, nullptr);
    must(cudaGetLastError(), "launch");
    std::vector<float> output(added.size());
    must(cudaMemcpy(output.data(), d_output, output.size() * 4, cudaMemcpyDeviceToHost), name.c_str());
    uint32_t off = 0;
    for (uint32_t t = first; t < most; t++) {
      for (uint32_t c = 0; c < total; c++) {
        const size_t at = size_t{t} * out_stride + c;
        const bool same = same_bits(output[at], wanted[at]);
        if (!same && off++ < 3) printf("token %u of %u, row %u: %.9g, not %.9g\n", t - first, n, c, output[at], wanted[at]);
        compared++;
      }
    }
    unequal += off;
    expect(off == 0, name + ": " + std::to_string(n) + " tokens: " + std::to_string(off) + " values have other bits than integer sums");
  }
  printf("%s%s%s: %u of %u values have the bits of integer sums\n", name.c_str(), bias ? " bias" : "", residual ? " residual" : "", compared - unequal, compared);
  for (Matrix& m : matrices) free_matrix(m);
  for (void* p : {(void*)d_input, (void*)d_added, (void*)d_bias, (void*)d_output, scratch.memory, (void*)scratch.counters}) cudaFree(p);
}

// One or two weights of n_experts experts; as many tokens at a time as counts say, each time the last ones of all.
void check_packed_experts(uint32_t type, const std::vector<uint32_t>& rows, uint32_t n_experts, uint32_t n_used, uint32_t columns, bool per_slot,
                          const std::vector<uint32_t>& counts, bool prefill) {
  if (columns % find_tensor_type(type)->block_weights != 0) return;
  const uint32_t most = *std::max_element(counts.begin(), counts.end()), slots_a_row = per_slot ? 1 : n_used, slots = most * n_used, n_blocks = columns / 32;
  std::vector<Matrix> matrices;
  uint32_t total = 0;
  for (uint32_t r : rows) matrices.push_back(make_matrix(type, n_experts, r, columns)), total += r;
  const uint32_t out_stride = total + 3;
  std::vector<float> input(size_t{slots} / slots_a_row * columns), wanted(size_t{slots} * total);
  std::vector<uint32_t> experts(slots);
  for (float& v : input) v = random_float();
  for (uint32_t& e : experts) e = std::min(random_u32(), random_u32()) % n_experts;
  for (uint32_t s = 0; s < slots; s++) {
    const std::vector<IntegerRun> runs = integer_runs(type, &input[size_t{s / slots_a_row} * columns], columns);
    uint32_t column = 0;
    for (const Matrix& m : matrices) {
      for (uint32_t r = 0; r < m.packed.rows; r++, column++) {
        const IntegerRow row = integer_row(type, m.raw.data() + (size_t{experts[s]} * m.packed.rows + r) * raw_row_bytes(type, columns), columns);
        const uint32_t parts = prefill ? 1 : 4;
        float sum = 0;
        for (uint32_t part = 0; part < parts; part++) {
          const float u = packed_chain(row, runs, minimums_of(type), n_blocks * part / parts, n_blocks * (part + 1) / parts);
          sum = part == 0 ? u : sum + u;
        }
        wanted[size_t{s} * total + column] = sum;
      }
    }
  }
  float* const d_input = static_cast<float*>(device_alloc(input.size() * 4));
  uint32_t* const d_experts = static_cast<uint32_t*>(device_alloc(slots * 4));
  float* const d_output = static_cast<float*>(device_alloc(size_t{slots} * out_stride * 4));
  must(cudaMemcpy(d_input, input.data(), input.size() * 4, cudaMemcpyHostToDevice), "copy");
  must(cudaMemcpy(d_experts, experts.data(), slots * 4, cudaMemcpyHostToDevice), "copy");
  ExpertGrouping grouping;
  grouping.memory = device_alloc(expert_groups_bytes(n_experts, slots));
  void* const scratch = device_alloc(expert_matmul_scratch_bytes(n_experts, n_used, columns, most, true), 0xFF);
  const std::string name = std::string(find_tensor_type(type)->name) + " packed, " + std::to_string(n_experts) + " experts, columns " + std::to_string(columns) +
                           (prefill ? " prefill" : " decode");
  uint32_t unequal = 0, compared = 0;
  for (uint32_t n : counts) {
    const uint32_t first_slot = (most - n) * n_used;
    must(cudaMemset(d_output, 0xFF, size_t{slots} * out_stride * 4), "poison");
    grouping.forget();
    ExpertMatmulArgs args = {};
    args.input = d_input + size_t{first_slot} / slots_a_row * columns, args.input_stride = columns, args.input_per_slot = per_slot;
    args.experts = d_experts + first_slot, args.experts_stride = n_used, args.output = d_output, args.output_stride = out_stride;
    args.n_tokens = n, args.n_used = n_used, args.columns = columns, args.n_weights = static_cast<uint32_t>(rows.size());
    uint32_t column = 0;
    for (size_t i = 0; i < rows.size(); i++) args.weights[i] = matrices[i].packed, args.output_column[i] = column, column += rows[i];
    args.grouping = &grouping, args.prefill = prefill, args.packed = true, args.scratch = scratch;
    if (n % 2 == 0) args.prefill_share = 20;
    launch_expert_matmul(args, nullptr);
    must(cudaGetLastError(), "launch");
    std::vector<float> output(size_t{slots} * out_stride);
    must(cudaMemcpy(output.data(), d_output, output.size() * 4, cudaMemcpyDeviceToHost), name.c_str());
    uint32_t off = 0;
    for (uint32_t s = 0; s < n * n_used; s++) {
      for (uint32_t c = 0; c < total; c++, compared++) {
        const float got = output[size_t{s} * out_stride + c], want = wanted[size_t{first_slot + s} * total + c];
        if (!same_bits(got, want) && off++ < 3) printf("slot %u of %u, row %u: %.9g, not %.9g\n", s, n * n_used, c, got, want);
      }
    }
    unequal += off;
    expect(off == 0, name + ": " + std::to_string(n) + " tokens: " + std::to_string(off) + " values have other bits than integer sums");
  }
  printf("%s: %u of %u values have the bits of integer sums\n", name.c_str(), compared - unequal, compared);
  for (Matrix& m : matrices) free_matrix(m);
  for (void* p : {(void*)d_input, (void*)d_experts, (void*)d_output, grouping.memory, scratch}) cudaFree(p);
}

void check_all_packed() {
  for (const TensorType& t : tensor_types) {
    if (!has_packed_pairs(t.id)) continue;
    check_packed(t.id, {96}, 512, true, true, {1, 2, 3, 4, 5, 8, 9, 16, 7});
    check_packed(t.id, {130, 40}, 256, true, false, {1, 6, 12, 16, 33});
    check_packed(t.id, {33}, 2048, false, true, {2, 7, 10, 17});
    check_packed(t.id, {130, 40}, 512, true, true, {1, 12, 20, 40, 70, 150}, true);
    check_packed(t.id, {700}, 2048, false, false, {3, 9, 129}, true);
    check_packed_experts(t.id, {96}, 4, 2, 512, false, {20, 9, 3, 2, 1}, false);
    check_packed_experts(t.id, {140, 40}, 3, 2, 256, true, {11, 3, 1}, false);
    check_packed_experts(t.id, {150}, 3, 2, 512, false, {40, 5, 1}, true);
    check_packed_experts(t.id, {40, 130}, 7, 2, 256, true, {30, 1}, true);
#ifndef M40_EMULATED
    check_packed(t.id, {1024, 256, 256}, 4096, false, true, {1, 16, 64, 200}, true);
    check_packed(t.id, {256}, 8192, true, true, {1, 40, 128, 300}, true);
    check_packed(t.id, {1024, 256, 256}, 4096, false, false, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 32});
    check_packed(t.id, {4096}, 4096, false, true, {1, 8, 16});
    check_packed(t.id, {512}, 14336, false, true, {2, 8, 16});
#endif
  }
}

}  // namespace

#endif
