// The times of rope and attention.
#ifndef M40_BENCH_CUDA_ATTENTION_TIMES_H
#define M40_BENCH_CUDA_ATTENTION_TIMES_H

#include "attention_world.h"

namespace {

// Median time of a graph of `work`, in microseconds.
double median_us(const std::function<void(cudaStream_t)>& work, int n = 9) {
  cudaStream_t stream;
  must(cudaStreamCreate(&stream), "stream");
  must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
  work(stream);
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  must(cudaStreamEndCapture(stream, &graph), "capture");
  must(cudaGraphInstantiate(&executable, graph, nullptr, nullptr, 0), "instantiate");
  cudaEvent_t a, b;
  cudaEventCreate(&a), cudaEventCreate(&b);
  std::vector<float> times;
  for (int i = 0; i < n + 2; i++) {
    cudaEventRecord(a, stream);
    must(cudaGraphLaunch(executable, stream), "launch");
    cudaEventRecord(b, stream);
    must(cudaEventSynchronize(b), "run");
    float ms;
    cudaEventElapsedTime(&ms, a, b);
    if (i >= 2) times.push_back(ms);
  }
  cudaGraphExecDestroy(executable), cudaGraphDestroy(graph), cudaEventDestroy(a), cudaEventDestroy(b), cudaStreamDestroy(stream);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2] * 1000.0;
}

void fill_cache(World& world) {
  // Halves and signed bytes of moderate size, whatever the type.
  std::vector<uint8_t> bytes(std::min<size_t>(world.memory.n, 64 << 20));
  for (size_t i = 0; i < bytes.size(); i += 2) {
    bytes[i] = static_cast<uint8_t>(random_u32());
    bytes[i + 1] = static_cast<uint8_t>(0x30 | (random_u32() & 0x87));
  }
  for (size_t at = 0; at < world.memory.n; at += bytes.size()) {
    must(cudaMemcpy(world.memory.data + at, bytes.data(), std::min(bytes.size(), world.memory.n - at), cudaMemcpyHostToDevice), "fill");
  }
}

void time_decode(const Shape& shape, const char* name, const std::vector<uint32_t>& depths, const std::vector<uint32_t>& batches) {
  constexpr uint32_t layers = 16;
  for (uint32_t batch : batches) {
    for (uint32_t depth : depths) {
      if (uint64_t{batch} * depth > 32u * 8192) continue;
      World world(shape, batch, depth + 1, batch, layers);
      fill_cache(world);
      std::vector<Part> parts;
      for (uint32_t s = 0; s < batch; s++) parts.push_back({s, depth, 1});
      const StepArrays step(world, parts, batch);
      Device<float> qkv(uint64_t{batch} * world.width, 0x3C), output(uint64_t{batch} * world.columns);
      const auto run = [&](bool rope, bool attention, bool fused) {
        return median_us([&](cudaStream_t stream) {
                 for (uint32_t layer = 0; layer < layers; layer++) {
                   const RopeStoreArgs r = world.rope_store_args(qkv.data, layer);
                   const AttentionArgs a = world.attention_args(qkv.data, output.data, layer);
                   if (fused && rope_attention_fuses(r, a, step.view)) {
                     launch_rope_attention(r, a, step.view, world.view(), stream);
                   } else {
                     if (rope || fused) launch_rope_store(r, step.view, world.view(), stream);
                     if (attention || fused) launch_attention(a, step.view, world.view(), stream);
                   }
                 }
               }) / layers;
      };
      const double rope = run(true, false, false), attention = run(false, true, false), fused = run(false, false, true);
      const uint32_t attended = shape.window == 0 ? depth + 1 : std::min(shape.window, depth + 1), values = shape.cached();
      const double bytes = 1.0 * batch * attended * shape.n_kv_heads * (cache_row_bytes(shape.type, values) + cache_scale_row_bytes(shape.type, values));
      printf("%-18s %2u sequences at %6u: rope %6.2f us, attention %8.2f us (%5.0f GB/s), fused %8.2f us (%5.0f GB/s)\n", name, batch, depth, rope, attention,
             bytes / attention / 1e3, fused, bytes / fused / 1e3);
    }
  }
}

void time_prefill(const Shape& shape, const char* name, uint32_t depth, uint32_t n) {
  constexpr uint32_t layers = 4;
  World world(shape, 1, depth + n, n, layers);
  fill_cache(world);
  const StepArrays step(world, {{0, depth, n}}, 0);
  std::vector<float> values(uint64_t{n} * world.width);
  for (float& x : values) x = random_float();
  Device<float> qkv(values), output(uint64_t{n} * world.columns);
  const double rope = median_us([&](cudaStream_t stream) {
                        for (uint32_t layer = 0; layer < layers; layer++) launch_rope_store(world.rope_store_args(qkv.data, layer), step.view, world.view(), stream);
                      }, 5) / layers;
  const double attention = median_us([&](cudaStream_t stream) {
                             for (uint32_t layer = 0; layer < layers; layer++) launch_attention(world.attention_args(qkv.data, output.data, layer), step.view, world.view(), stream);
                           }, 5) / layers;
  double pairs = 0;
  for (uint32_t i = 0; i < n; i++) pairs += shape.window == 0 ? depth + i + 1 : std::min(shape.window, depth + i + 1);
  printf("%-18s prefill %5u at %5u: rope %7.2f us, attention %9.2f us, %5.1f TFLOP/s\n", name, n, depth, rope, attention,
         2 * pairs * shape.n_heads * (shape.head_dim + shape.values()) / attention / 1e6);
}

int time_all() {
  const Shape mistral = {32, 8, 128, 128, M40_ROPE_INTERLEAVED, 0, 0, false, M40_TYPE_F16, 32};
  Shape mistral_q8 = mistral;
  mistral_q8.type = M40_TYPE_Q8_0;
  const Shape small = {32, 8, 64, 64, M40_ROPE_INTERLEAVED, 0, 0, false, M40_TYPE_F16, 32};
  const Shape gemma = {16, 8, 256, 256, M40_ROPE_HALVES, 0, 50, true, M40_TYPE_F16, 32};
  const Shape mha = {32, 32, 128, 128, M40_ROPE_INTERLEAVED, 0, 0, false, M40_TYPE_F16, 32};
  const Shape wide = {64, 8, 128, 128, M40_ROPE_INTERLEAVED, 0, 0, false, M40_TYPE_F16, 32};
  const Shape gpt_oss = {64, 8, 64, 64, M40_ROPE_HALVES, 0, 0, false, M40_TYPE_F16, 32};
  Shape gpt_oss_window = gpt_oss;
  gpt_oss_window.window = 128;
  // The layers of Qwen3.5 9B and of Qwen3.6 35B-A3B that attend.
  const Shape qwen35 = {16, 4, 256, 64, M40_ROPE_HALVES, 0, 0, true, M40_TYPE_F16, 32};
  const Shape qwen35_moe = {16, 2, 256, 64, M40_ROPE_HALVES, 0, 0, true, M40_TYPE_F16, 32};
  // Multi-head latent attention as GLM-4.7-Flash has it; a global layer of Gemma 4.
  const Shape latent = {20, 1, 576, 64, M40_ROPE_INTERLEAVED, 0, 0, false, M40_TYPE_F16, 32, 512, true};
  const Shape long_heads = {16, 2, 512, 128, M40_ROPE_HALVES, 0, 0, true, M40_TYPE_F16, 32};
  time_decode(mistral, "mistral f16", {1, 128, 512, 1024, 2048, 4096, 8192, 32768}, {1, 8, 32});
  time_decode(mistral_q8, "mistral q8_0", {512, 4096, 32768}, {1, 32});
  time_decode(small, "64-wide f16", {512, 4096}, {1, 32});
  time_decode(gemma, "256-wide f16", {512, 4096}, {1, 32});
  time_decode(mha, "1 head a KV head", {512, 4096}, {1, 32});
  time_decode(wide, "8 heads a KV head", {512, 4096}, {1, 32});
  time_decode(gpt_oss, "gpt-oss", {512, 4096, 32768}, {1, 8});
  time_decode(gpt_oss_window, "gpt-oss, window", {512, 4096, 32768}, {1, 8});
  time_decode(qwen35, "qwen3.5 9b", {512, 4096, 32768}, {1, 8});
  time_decode(qwen35_moe, "qwen3.6 35b-a3b", {512, 4096, 32768}, {1, 8});
  time_decode(latent, "latent, 20 heads", {512, 4096, 32768}, {1, 8});
  time_decode(long_heads, "512-wide, 8 heads", {512, 4096, 32768}, {1, 8});
  for (uint32_t n : {16u, 128u, 512u, 2048u, 8192u}) time_prefill(mistral, "mistral f16", 0, n);
  time_prefill(mistral, "mistral f16", 4096, 32);
  time_prefill(mistral, "mistral f16", 4096, 256);
  time_prefill(mistral_q8, "mistral q8_0", 0, 2048);
  time_prefill(small, "64-wide f16", 0, 2048);
  time_prefill(gemma, "256-wide f16", 0, 2048);
  time_prefill(mha, "1 head a KV head", 0, 2048);
  time_prefill(gpt_oss, "gpt-oss", 0, 2048);
  time_prefill(gpt_oss_window, "gpt-oss, window", 0, 2048);
  time_prefill(latent, "latent, 20 heads", 0, 2048);
  time_prefill(long_heads, "512-wide, 8 heads", 0, 2048);
  return 0;
}

}  // namespace

#endif
