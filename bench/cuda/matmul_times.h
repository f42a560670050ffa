// Times of products of packed weights: by themselves, and in stacks of layers.
#ifndef M40_BENCH_CUDA_MATMUL_TIMES_H
#define M40_BENCH_CUDA_MATMUL_TIMES_H

#include <set>

#include "../../cuda/common/tensor_types.h"
#include "matmul_memory.h"

namespace {

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

void product(const Buffers& b, const Shape& shape, const std::vector<PackedWeight>& weights, uint32_t n, bool prefill, cudaStream_t stream, bool prologues = false, bool packed = false) {
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
  args.packed = packed;
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

// Experts of a layer: gate and up, and down.
struct ExpertLayer {
  const char* name;
  uint32_t n_experts, n_used, hidden, inner;
};

const ExpertLayer expert_layers[] = {{"Mixtral-8x7B", 8, 2, 4096, 14336},
                                     {"Qwen3-30B-A3B", 128, 8, 2048, 768},
                                     {"gpt-oss-20b", 32, 4, 2880, 2880},
                                     {"GLM-4.7-Flash", 64, 4, 2048, 1536}};

PackedWeight random_experts(uint32_t type, uint32_t n_experts, uint32_t rows, uint32_t columns, std::vector<void*>& memory) {
  memory.push_back(device_alloc(packed_bytes(type, n_experts, rows, columns)));
  // Experts lie like the rows of one weight, each padded to whole tiles of rows.
  PackedWeight weight = random_weight(type, n_experts * packed_tiles(rows) * packed_tile_rows, columns, memory.back());
  weight.n_experts = n_experts, weight.rows = rows;
  return weight;
}

// Different experts for each token.
std::vector<uint32_t> random_choices(uint32_t n_tokens, const ExpertLayer& l) {
  std::vector<uint32_t> chosen, all(l.n_experts);
  for (uint32_t e = 0; e < l.n_experts; e++) all[e] = e;
  for (uint32_t t = 0; t < n_tokens; t++) {
    for (uint32_t s = 0; s < l.n_used; s++) {
      std::swap(all[s], all[s + random_u32() % (l.n_experts - s)]);
      chosen.push_back(all[s]);
    }
  }
  return chosen;
}

// The products of tokens that are routed at random: gate and up with the activation and the list of slots by expert, and
// down. With decoded ones, bytes are those of the experts that somebody goes to.
void time_experts(const Buffers& b, uint32_t type, const ExpertLayer& l, const std::vector<uint32_t>& counts, bool prefill, bool packed = false) {
  constexpr int n_layers = 4;  // more than any L2 holds
  std::vector<void*> memory;
  PackedWeight gate[n_layers], up[n_layers], down[n_layers];
  for (int i = 0; i < n_layers; i++) {
    gate[i] = random_experts(type, l.n_experts, l.inner, l.hidden, memory), up[i] = random_experts(type, l.n_experts, l.inner, l.hidden, memory);
    down[i] = random_experts(type, l.n_experts, l.hidden, l.inner, memory);
  }
  const uint32_t most = *std::max_element(counts.begin(), counts.end());
  const std::vector<uint32_t> experts = random_choices(most, l);
  memory.push_back(device_alloc(experts.size() * 4));
  must(cudaMemcpy(memory.back(), experts.data(), experts.size() * 4, cudaMemcpyHostToDevice), "copy");
  ExpertMatmulArgs first = {};
  first.input = b.input, first.input_stride = l.hidden, first.experts = static_cast<uint32_t*>(memory.back()), first.experts_stride = l.n_used;
  first.output = b.output, first.n_used = l.n_used, first.columns = l.hidden, first.n_weights = 2;
  first.output_column[1] = l.inner, first.prefill = prefill, first.activates = !prefill, first.activation = M40_ACTIVATION_SILU;
  first.packed = packed, first.scratch = b.scratch.memory;
  first.output_stride = prefill ? 2 * l.inner : l.inner;
  memory.push_back(device_alloc(expert_groups_bytes(l.n_experts, experts.size())));
  ExpertGrouping grouping;
  grouping.memory = memory.back(), first.grouping = &grouping;
  ExpertMatmulArgs second = first;
  second.input_stride = l.inner, second.input_per_slot = true, second.output_stride = l.hidden, second.columns = l.inner, second.n_weights = 1;
  second.activates = false;
  printf("%-5s experts, %s, %s%s", find_tensor_type(type)->name, l.name, prefill ? "prompts" : "decoded", packed ? ", packed" : "");
  for (uint32_t n : counts) {
    first.n_tokens = second.n_tokens = n;
    const double flops = 2.0 * n * l.n_used * l.inner * l.hidden;
    const size_t used = std::set<uint32_t>(experts.begin(), experts.begin() + n * l.n_used).size();
    const double bytes[] = {2.0 * used * packed_bytes(type, 1, l.inner, l.hidden), 1.0 * used * packed_bytes(type, 1, l.hidden, l.inner)};
    const double us[] = {time_graph([&](cudaStream_t s) {
                           for (int i = 0; i < n_layers; i++) grouping.forget(), first.weights[0] = gate[i], first.weights[1] = up[i], launch_expert_matmul(first, s);
                         }, n_layers),
                         time_graph([&](cudaStream_t s) {
                           for (int i = 0; i < n_layers; i++) second.weights[0] = down[i], launch_expert_matmul(second, s);
                         }, n_layers)};
    for (int i = 0; i < 2; i++) {
      printf(" | %s%s %.1f us %.2f TB/s %.1f TF", i == 0 ? ("n=" + std::to_string(n)).c_str() : "", i == 0 ? " gate and up" : "down", us[i], bytes[i] / us[i] / 1e6,
             (i == 0 ? 2 : 1) * flops / us[i] / 1e6);
    }
  }
  printf("\n");
  fflush(stdout);
  for (void* m : memory) cudaFree(m);
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

}  // namespace

#endif
