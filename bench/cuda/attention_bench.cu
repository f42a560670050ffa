// Checks rope, the KV cache and attention against float64, and times them.
//
//   attention_bench check   shapes, cache types, page sizes, windows, caps, ragged steps; bits across batches and cuts
//   attention_bench time    decode and prefill of a 7B shape (and others), over more layers than any L2 holds
//
// Link with cuda/ops/{attention,rope}.cu.
#include "../../cuda/kernels/kv_cache.cuh"
#include "../../cuda/ops/ops.h"
#include "bench.h"

using namespace m40;
using namespace m40::cuda;

namespace {


template <class T>
struct Device {
  T* data = nullptr;
  size_t n = 0;
  explicit Device(size_t count, int fill = 0xFF) : n(count) {
    must(cudaMalloc(reinterpret_cast<void**>(&data), count * sizeof(T) + 256), "cudaMalloc");
    must(cudaMemset(data, fill, count * sizeof(T) + 256), "cudaMemset");
  }
  explicit Device(const std::vector<T>& values) : Device(values.size()) { put(values); }
  Device(const Device&) = delete;
  ~Device() { cudaFree(data); }
  void put(const std::vector<T>& values) { must(cudaMemcpy(data, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), "put"); }
  std::vector<T> get() const {
    std::vector<T> values(n);
    must(cudaDeviceSynchronize(), "kernels");
    must(cudaMemcpy(values.data(), data, n * sizeof(T), cudaMemcpyDeviceToHost), "get");
    return values;
  }
};

struct Shape {
  uint32_t n_heads, n_kv_heads, head_dim, rope_dim, rope, window;
  float softcap;
  bool norms;
  uint32_t type, page_tokens;
  std::string name() const {
    char text[160];
    snprintf(text, sizeof text, "%u/%u heads of %u (rope %u: %u), window %u, cap %g, norms %d, type %u, pages of %u", n_heads, n_kv_heads, head_dim,
             rope, rope_dim, window, static_cast<double>(softcap), norms, type, page_tokens);
    return text;
  }
};

// Tokens of a sequence that are in a step.
struct Part {
  uint32_t sequence, position, n;
};

constexpr double freq_base = 10000;

// A cache of sequences, and steps over them.
struct World {
  Shape shape;
  uint32_t n_layers, layer, max_positions;
  uint32_t width, columns, pages_each;
  std::vector<uint32_t> table;
  m40_cache_desc desc;
  Device<uint8_t> memory;
  Device<uint32_t> device_table;
  Device<uint64_t> turns;
  Device<float> q_norm, k_norm;
  Device<uint32_t> counters;
  m40_limits limits = {};
  Device<uint8_t> scratch;

  World(const Shape& s, uint32_t n_sequences, uint32_t positions, uint32_t most_tokens, uint32_t layers = 2)
      : shape(s),
        n_layers(layers),
        layer(layers - 1),
        max_positions(positions),
        width((s.n_heads + 2 * s.n_kv_heads) * s.head_dim),
        columns(s.n_heads * s.head_dim),
        pages_each((positions + s.page_tokens - 1) / s.page_tokens),
        table(make_table(n_sequences, pages_each)),
        desc{layers, s.n_kv_heads, s.head_dim, s.page_tokens, n_sequences * pages_each, s.type},
        memory(page_bytes() * desc.n_pages, 0),
        device_table(table),
        turns(make_turns(s)),
        q_norm(make_norm(s)),
        k_norm(make_norm(s)),
        counters(scratch_counters, 0),
        limits(make_limits(n_sequences, most_tokens)),
        scratch(attention_scratch_bytes(attention_op(0), limits, desc)) {}

  static std::vector<uint32_t> make_table(uint32_t n_sequences, uint32_t each) {
    std::vector<uint32_t> table(n_sequences * each);
    for (uint32_t i = 0; i < table.size(); i++) table[i] = i;
    for (uint32_t i = static_cast<uint32_t>(table.size()); i > 1; i--) std::swap(table[i - 1], table[random_u32() % i]);
    return table;
  }
  static std::vector<double> angles(const Shape& s) {
    std::vector<double> angles(s.rope_dim / 2);
    for (uint32_t i = 0; i < angles.size(); i++) angles[i] = pow(freq_base, -2.0 * i / s.rope_dim);
    return angles;
  }
  static std::vector<uint64_t> make_turns(const Shape& s) {
    const std::vector<double> a = angles(s);
    std::vector<uint64_t> turns(std::max<size_t>(1, a.size()));
    rope_turns(a.data(), static_cast<uint32_t>(a.size()), turns.data());
    return turns;
  }
  static std::vector<float> make_norm(const Shape& s) {
    std::vector<float> norm(s.head_dim);
    for (float& x : norm) x = 1 + 0.3f * random_float();
    return norm;
  }
  static m40_limits make_limits(uint32_t n_sequences, uint32_t n_tokens) {
    m40_limits limits = {};
    limits.n_sequences = n_sequences;
    limits.n_tokens = n_tokens;
    return limits;
  }
  uint64_t page_bytes() const { return (cache_page_bytes(desc) + 255) / 256 * 256; }
  CacheView view() const { return {memory.data, page_bytes(), desc.type, desc.n_layers, desc.n_kv_heads, desc.head_dim, desc.page_tokens, desc.n_pages}; }
  m40_op_rope rope_op(uint32_t at) const {
    m40_op_rope op = {};
    op.layer = at;
    op.n_heads = shape.n_heads;
    op.n_kv_heads = shape.n_kv_heads;
    op.head_dim = shape.head_dim;
    op.rope_dim = shape.rope_dim;
    op.rope = shape.rope;
    op.norm_epsilon = 1e-6f;
    op.attention_factor = 1;
    return op;
  }
  m40_op_attention attention_op(uint32_t at) const {
    m40_op_attention op = {};
    op.layer = at;
    op.n_heads = shape.n_heads;
    op.n_kv_heads = shape.n_kv_heads;
    op.head_dim = shape.head_dim;
    op.window = shape.window;
    op.scale = static_cast<float>(1 / sqrt(static_cast<double>(shape.head_dim)));
    op.softcap = shape.softcap;
    return op;
  }
  RopeArgs rope_args(float* qkv, uint32_t at) const {
    return {qkv, width, turns.data, shape.norms ? q_norm.data : nullptr, shape.norms ? k_norm.data : nullptr, rope_op(at)};
  }
  AttentionArgs attention_args(float* qkv, float* output, uint32_t at) const {
    return {qkv, width, output, columns, max_positions, attention_op(at), {counters.data, scratch.data}};
  }

  // A position's K or V as the cache holds it.
  std::vector<double> cached(const std::vector<uint8_t>& bytes, uint32_t sequence, uint32_t position, uint32_t kv_head, bool value) const {
    const uint64_t region = cache_region_bytes(desc.type, desc.n_kv_heads, desc.head_dim, desc.page_tokens);
    const uint32_t page = table[sequence * pages_each + position / desc.page_tokens];
    const uint8_t* at = bytes.data() + page * page_bytes() + (2 * layer + value) * region;
    const uint32_t row = kv_head * desc.page_tokens + position % desc.page_tokens;
    const uint32_t row_bytes = cache_row_bytes(desc.type, desc.head_dim);
    const uint8_t* values = at + row * row_bytes;
    const uint8_t* scales = at + uint64_t{desc.n_kv_heads} * desc.page_tokens * row_bytes + row * cache_scale_row_bytes(desc.type, desc.head_dim);
    std::vector<double> result(desc.head_dim);
    for (uint32_t d = 0; d < desc.head_dim; d++) {
      if (desc.type == M40_TYPE_F32) {
        float x;
        memcpy(&x, values + d * 4, 4);
        result[d] = x;
      } else if (desc.type == M40_TYPE_F16) {
        result[d] = half_at(values + d * 2);
      } else {
        result[d] = half_at(scales + d / 32 * 2) * static_cast<int8_t>(values[d]);
      }
    }
    return result;
  }
  static double half_at(const uint8_t* at) {
    unsigned short bits;
    memcpy(&bits, at, 2);
    const int exponent = bits >> 10 & 31;
    const double magnitude = exponent == 0 ? ldexp(bits & 1023, -24) : ldexp(1024 + (bits & 1023), exponent - 25);
    return bits & 0x8000 ? -magnitude : magnitude;
  }
  // What rope makes of a head, in float64.
  std::vector<double> turned(const float* head, uint32_t position, const std::vector<float>* norm) const {
    std::vector<double> x(head, head + shape.head_dim);
    if (norm != nullptr) {
      double sum = 0;
      for (double v : x) sum += v * v;
      const double scale = 1 / sqrt(sum / shape.head_dim + 1e-6);
      for (uint32_t d = 0; d < shape.head_dim; d++) x[d] *= scale * static_cast<double>((*norm)[d]);
    }
    if (shape.rope == M40_ROPE_NONE) return x;
    const std::vector<double> a = angles(shape);
    for (uint32_t i = 0; i < a.size(); i++) {
      const uint32_t p = shape.rope == M40_ROPE_HALVES ? i : 2 * i, q = shape.rope == M40_ROPE_HALVES ? i + shape.rope_dim / 2 : 2 * i + 1;
      const double c = cos(position * a[i]), s = sin(position * a[i]), u = x[p], v = x[q];
      x[p] = u * c - v * s;
      x[q] = u * s + v * c;
    }
    return x;
  }
};

struct StepArrays {
  std::vector<uint32_t> positions, sequences;
  Device<uint32_t> device_positions, device_sequences;
  StepView view;
  StepArrays(const World& world, const std::vector<Part>& parts, uint32_t n_decode)
      : positions(expand(parts, true)), sequences(expand(parts, false)), device_positions(positions), device_sequences(sequences), view{} {
    view.n_tokens = static_cast<uint32_t>(positions.size());
    view.n_sequences = static_cast<uint32_t>(world.table.size() / world.pages_each);
    view.n_decode = n_decode;
    view.page_stride = world.pages_each;
    view.positions = device_positions.data;
    view.sequences = device_sequences.data;
    view.page_table = world.device_table.data;
  }
  static std::vector<uint32_t> expand(const std::vector<Part>& parts, bool positions) {
    std::vector<uint32_t> all;
    for (const Part& part : parts) {
      for (uint32_t i = 0; i < part.n; i++) all.push_back(positions ? part.position + i : part.sequence);
    }
    return all;
  }
};

// The step's output; qkv rows are those of `source`, [sequence][position].
std::vector<float> run_step(World& world, const std::vector<Part>& parts, uint32_t n_decode, const std::vector<std::vector<float>>& source, bool fused) {
  const StepArrays step(world, parts, n_decode);
  std::vector<float> rows;
  for (uint32_t t = 0; t < step.view.n_tokens; t++) {
    const float* row = source[step.sequences[t]].data() + uint64_t{step.positions[t]} * world.width;
    rows.insert(rows.end(), row, row + world.width);
  }
  Device<float> qkv(rows);
  Device<float> output(uint64_t{step.view.n_tokens} * world.columns);
  const RopeArgs rope = world.rope_args(qkv.data, world.layer);
  const AttentionArgs attention = world.attention_args(qkv.data, output.data, world.layer);
  if (fused && rope_attention_fuses(rope, attention, step.view)) {
    launch_rope_attention(rope, attention, step.view, world.view(), nullptr);
  } else {
    launch_rope(rope, step.view, world.view(), nullptr);
    launch_attention(attention, step.view, world.view(), nullptr);
  }
  must(cudaGetLastError(), "launch");
  return output.get();
}

void check_shape(const Shape& shape, const std::vector<uint32_t>& lengths) {
  const uint32_t n = static_cast<uint32_t>(lengths.size());
  const uint32_t longest = *std::max_element(lengths.begin(), lengths.end()) + 4;
  World world(shape, n, longest, 4096);
  std::vector<std::vector<float>> source(n);
  for (uint32_t s = 0; s < n; s++) {
    source[s].resize(uint64_t{longest} * world.width);
    for (float& x : source[s]) x = random_float() * 2;
  }
  // The prompts, ragged in one step; then each in three cuts into a second world with the same pages: same bits.
  std::vector<Part> parts;
  for (uint32_t s = 0; s < n; s++) parts.push_back({s, 0, lengths[s]});
  const std::vector<float> whole = run_step(world, parts, 0, source, false);
  std::vector<float> cut(whole.size());
  uint64_t row = 0;
  for (uint32_t s = 0; s < n; s++) {
    for (uint32_t from = 0, piece = 0; from < lengths[s]; piece++) {
      const uint32_t count = std::min(lengths[s] - from, piece == 0 ? lengths[s] / 3 + 1 : 1 + random_u32() % 70);
      const std::vector<float> got = run_step(world, {{s, from, count}}, 0, source, false);
      std::copy(got.begin(), got.end(), cut.begin() + (row + from) * world.columns);
      from += count;
    }
    row += lengths[s];
  }
  expect(memcmp(whole.data(), cut.data(), whole.size() * 4) == 0, shape.name() + ": a prompt's bits depend on how it is cut");

  // A decoded token each: together, fused, alone.
  std::vector<Part> next;
  for (uint32_t s = 0; s < n; s++) next.push_back({s, lengths[s], 1});
  const std::vector<float> together = run_step(world, next, n, source, false);
  const std::vector<uint8_t> plain_cache = world.memory.get();
  const std::vector<float> fused = run_step(world, next, n, source, true);
  expect(memcmp(together.data(), fused.data(), fused.size() * 4) == 0, shape.name() + ": fused rope gives other bits");
  expect(plain_cache == world.memory.get(), shape.name() + ": fused rope writes another cache");
  for (uint32_t s = 0; s < n; s++) {
    const std::vector<float> alone = run_step(world, {next[s]}, 1, source, true);
    expect(memcmp(alone.data(), together.data() + uint64_t{s} * world.columns, alone.size() * 4) == 0, shape.name() + ": a sequence's bits depend on the batch");
  }
  // Mixed: the first decodes, the last's chunk is prefilled again.
  if (n > 1) {
    const uint32_t count = std::min(lengths[n - 1], 5u), from = lengths[n - 1] - count;
    const std::vector<float> mixed = run_step(world, {next[0], {n - 1, from, count}}, 1, source, false);
    expect(memcmp(mixed.data(), together.data(), world.columns * 4) == 0, shape.name() + ": a decoded token's bits depend on a prompt beside it");
    expect(memcmp(mixed.data() + world.columns, whole.data() + (row - count) * world.columns, uint64_t{count} * world.columns * 4) == 0,
           shape.name() + ": a prompt's bits depend on a decoded token beside it");
  }

  // Against float64, over the K and V that the cache holds; those against the source.
  const std::vector<uint8_t> bytes = world.memory.get();
  const std::vector<float> q_norm = world.q_norm.get(), k_norm = world.k_norm.get();
  double worst_cache = 0, worst_prefill = 0, worst_decode = 0;
  row = 0;
  for (uint32_t s = 0; s < n; s++) {
    for (uint32_t position = 0; position <= lengths[s]; position++) {
      const bool decoded = position == lengths[s];
      // All of the short ones, a few of the long ones.
      const bool chosen = decoded || lengths[s] <= 40 || random_u32() % 64 == 0 || position + 1 == lengths[s];
      if (chosen) {
        const float* source_row = source[s].data() + uint64_t{position} * world.width;
        for (uint32_t g = 0; g < shape.n_kv_heads; g++) {
          for (int value = 0; value < 2; value++) {
            const float* head = source_row + (shape.n_heads + g + (value ? shape.n_kv_heads : 0)) * shape.head_dim;
            const std::vector<double> wanted = value ? std::vector<double>(head, head + shape.head_dim) : world.turned(head, position, shape.norms ? &k_norm : nullptr);
            const std::vector<double> got = world.cached(bytes, s, position, g, value != 0);
            for (uint32_t d = 0; d < shape.head_dim; d++) worst_cache = std::max(worst_cache, fabs(got[d] - wanted[d]));
          }
        }
        const uint32_t start = shape.window != 0 && shape.window < position + 1 ? position + 1 - shape.window : 0;
        for (uint32_t h = 0; h < shape.n_heads; h++) {
          const std::vector<double> q = world.turned(source_row + h * shape.head_dim, position, shape.norms ? &q_norm : nullptr);
          const uint32_t g = h / (shape.n_heads / shape.n_kv_heads);
          std::vector<double> scores, sum(shape.head_dim);
          double largest = -INFINITY, total = 0;
          for (uint32_t p = start; p <= position; p++) {
            const std::vector<double> k = world.cached(bytes, s, p, g, false);
            double score = 0;
            for (uint32_t d = 0; d < shape.head_dim; d++) score += q[d] * k[d];
            score /= sqrt(static_cast<double>(shape.head_dim));
            if (shape.softcap != 0) score = shape.softcap * tanh(score / shape.softcap);
            scores.push_back(score);
            largest = std::max(largest, score);
          }
          for (uint32_t p = start; p <= position; p++) {
            const double weight = exp(scores[p - start] - largest);
            const std::vector<double> v = world.cached(bytes, s, p, g, true);
            total += weight;
            for (uint32_t d = 0; d < shape.head_dim; d++) sum[d] += weight * v[d];
          }
          const float* got = decoded ? together.data() + uint64_t{s} * world.columns : whole.data() + (row + position) * world.columns;
          double& worst = decoded ? worst_decode : worst_prefill;
          for (uint32_t d = 0; d < shape.head_dim; d++) {
            const double error = fabs(static_cast<double>(got[h * shape.head_dim + d]) - sum[d] / total);
            worst = error <= worst ? worst : error;
            if (error != error) worst = INFINITY;
          }
        }
      }
    }
    row += lengths[s];
  }
  const double cache_tolerance = shape.type == M40_TYPE_F32 ? 4e-6 : shape.type == M40_TYPE_F16 ? 3e-3 : 3e-2;
  expect(worst_cache <= cache_tolerance, shape.name() + ": cache off by " + std::to_string(worst_cache));
  expect(worst_prefill <= 1e-5, shape.name() + ": prefill off by " + std::to_string(worst_prefill));
  expect(worst_decode <= 1e-5, shape.name() + ": decode off by " + std::to_string(worst_decode));
  printf("%-100s cache %.1e, prefill %.1e, decode %.1e\n", shape.name().c_str(), worst_cache, worst_prefill, worst_decode);
}

int check(bool quick) {
  const std::vector<Shape> shapes = {
      {32, 8, 128, 128, M40_ROPE_INTERLEAVED, 0, 0, false, M40_TYPE_F16, 32},
      {4, 4, 64, 64, M40_ROPE_HALVES, 0, 0, true, M40_TYPE_F32, 4},
      {6, 2, 80, 32, M40_ROPE_HALVES, 0, 0, false, M40_TYPE_F16, 16},
      {8, 1, 96, 96, M40_ROPE_HALVES, 100, 0, false, M40_TYPE_F16, 32},
      {16, 1, 128, 128, M40_ROPE_INTERLEAVED, 0, 0, false, M40_TYPE_Q8_0, 32},
      {7, 1, 128, 128, M40_ROPE_HALVES, 33, 0, true, M40_TYPE_Q8_0, 1},
      {4, 2, 256, 256, M40_ROPE_HALVES, 0, 30, true, M40_TYPE_F16, 32},
      {8, 1, 256, 256, M40_ROPE_HALVES, 70, 0, false, M40_TYPE_F32, 8},
      {3, 1, 256, 64, M40_ROPE_NONE, 0, 0, false, M40_TYPE_Q8_0, 64},
      {2, 2, 32, 32, M40_ROPE_INTERLEAVED, 5, 1, false, M40_TYPE_Q8_0, 32},
      {5, 1, 11, 10, M40_ROPE_INTERLEAVED, 0, 0, false, M40_TYPE_F16, 2},
      {12, 1, 128, 128, M40_ROPE_HALVES, 0, 0, false, M40_TYPE_F32, 32},
      {71, 1, 64, 64, M40_ROPE_HALVES, 0, 0, false, M40_TYPE_F16, 32},
  };
  for (const Shape& shape : shapes) {
    check_shape(shape, {1, 63, 64, 65, 31, 2});
    if (quick) continue;
    check_shape(shape, {300, 127, 129, 33, 200, 256, 255, 5, 4, 3, 2, 1});
  }
  if (!quick) {
    for (uint32_t type : {M40_TYPE_F16, M40_TYPE_Q8_0}) {
      check_shape({8, 2, 128, 128, M40_ROPE_INTERLEAVED, 0, 0, false, type, 32}, {5000, 2049, 2047});
      check_shape({8, 2, 64, 64, M40_ROPE_HALVES, 1000, 0, false, type, 32}, {9000, 1000});
    }
  }
  printf("%d checks, %d failed\n", checks, failures);
  return failures != 0;
}

#ifndef M40_EMULATED

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
                   const RopeArgs r = world.rope_args(qkv.data, layer);
                   const AttentionArgs a = world.attention_args(qkv.data, output.data, layer);
                   if (fused) {
                     launch_rope_attention(r, a, step.view, world.view(), stream);
                   } else {
                     if (rope) launch_rope(r, step.view, world.view(), stream);
                     if (attention) launch_attention(a, step.view, world.view(), stream);
                   }
                 }
               }) / layers;
      };
      const double rope = run(true, false, false), attention = run(false, true, false), fused = run(false, false, true);
      const double bytes = 2.0 * batch * (depth + 1) * shape.n_kv_heads * (cache_row_bytes(shape.type, shape.head_dim) + cache_scale_row_bytes(shape.type, shape.head_dim));
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
                        for (uint32_t layer = 0; layer < layers; layer++) launch_rope(world.rope_args(qkv.data, layer), step.view, world.view(), stream);
                      }, 5) / layers;
  const double attention = median_us([&](cudaStream_t stream) {
                             for (uint32_t layer = 0; layer < layers; layer++) launch_attention(world.attention_args(qkv.data, output.data, layer), step.view, world.view(), stream);
                           }, 5) / layers;
  const double pairs = double(n) * depth + double(n) * (n + 1) / 2;
  printf("%-18s prefill %5u at %5u: rope %7.2f us, attention %9.2f us, %5.1f TFLOP/s\n", name, n, depth, rope, attention,
         4 * pairs * shape.n_heads * shape.head_dim / attention / 1e6);
}

int time_all() {
  const Shape mistral = {32, 8, 128, 128, M40_ROPE_INTERLEAVED, 0, 0, false, M40_TYPE_F16, 32};
  Shape mistral_q8 = mistral;
  mistral_q8.type = M40_TYPE_Q8_0;
  const Shape small = {32, 8, 64, 64, M40_ROPE_INTERLEAVED, 0, 0, false, M40_TYPE_F16, 32};
  const Shape gemma = {16, 8, 256, 256, M40_ROPE_HALVES, 0, 50, true, M40_TYPE_F16, 32};
  const Shape mha = {32, 32, 128, 128, M40_ROPE_INTERLEAVED, 0, 0, false, M40_TYPE_F16, 32};
  const Shape wide = {64, 8, 128, 128, M40_ROPE_INTERLEAVED, 0, 0, false, M40_TYPE_F16, 32};
  time_decode(mistral, "mistral f16", {1, 128, 512, 1024, 2048, 4096, 8192, 32768}, {1, 8, 32});
  time_decode(mistral_q8, "mistral q8_0", {512, 4096, 32768}, {1, 32});
  time_decode(small, "64-wide f16", {512, 4096}, {1, 32});
  time_decode(gemma, "256-wide f16", {512, 4096}, {1, 32});
  time_decode(mha, "1 head a KV head", {512, 4096}, {1, 32});
  time_decode(wide, "8 heads a KV head", {512, 4096}, {1, 32});
  for (uint32_t n : {16u, 128u, 512u, 2048u, 8192u}) time_prefill(mistral, "mistral f16", 0, n);
  time_prefill(mistral, "mistral f16", 4096, 32);
  time_prefill(mistral, "mistral f16", 4096, 256);
  time_prefill(mistral_q8, "mistral q8_0", 0, 2048);
  time_prefill(small, "64-wide f16", 0, 2048);
  time_prefill(gemma, "256-wide f16", 0, 2048);
  time_prefill(mha, "1 head a KV head", 0, 2048);
  return 0;
}

#endif

}  // namespace

int main(int n, char** arguments) {
  const std::string what = n > 1 ? arguments[1] : "check";
  if (what == "check") return check(false);
  if (what == "quick") return check(true);
#ifndef M40_EMULATED
  if (what == "time") return time_all();
#endif
  fprintf(stderr, "attention_bench check | quick | time\n");
  return 2;
}
