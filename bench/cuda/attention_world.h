// Attention of a shape: a cache of sequences, and steps over them.
#ifndef M40_BENCH_CUDA_ATTENTION_WORLD_H
#define M40_BENCH_CUDA_ATTENTION_WORLD_H

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
  uint32_t type, kv_block_tokens;
  // Of V: 0 as many as of K. Latent: V are the first values of K.
  uint32_t value_dim = 0;
  bool latent = false;

  uint32_t values() const { return value_dim == 0 ? head_dim : value_dim; }
  // Values of a cached position of a KV head.
  uint32_t cached() const { return head_dim + (latent ? 0 : values()); }
  std::string name() const {
    char text[160];
    snprintf(text, sizeof text, "%u/%u heads of %u (rope %u: %u), window %u, cap %g, norms %d, type %u, KV blocks of %u", n_heads, n_kv_heads, head_dim,
             rope, rope_dim, window, static_cast<double>(softcap), norms, type, kv_block_tokens);
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
  uint32_t width, columns, kv_blocks_each;
  std::vector<uint32_t> table;
  m40_cache_desc desc;
  std::vector<uint64_t> layer_offsets;
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
        width(s.n_heads * s.head_dim + s.n_kv_heads * s.cached()),
        columns(s.n_heads * s.values()),
        kv_blocks_each((positions + s.kv_block_tokens - 1) / s.kv_block_tokens),
        table(make_table(n_sequences, kv_blocks_each)),
        desc(make_desc(s, layers, n_sequences * kv_blocks_each)),
        layer_offsets(layers),
        memory(kv_block_bytes() * desc.n_kv_blocks, 0),
        device_table(table),
        turns(make_turns(s)),
        q_norm(make_norm(s)),
        k_norm(make_norm(s)),
        counters(scratch_counters, 0),
        limits(make_limits(n_sequences, most_tokens, kv_blocks_each)),
        scratch(attention_scratch_bytes(attention_op(0), limits, desc)) {
    place_cache(desc, layer_offsets.data());
  }

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
  static m40_limits make_limits(uint32_t n_sequences, uint32_t n_tokens, uint32_t n_sequence_kv_blocks) {
    m40_limits limits = {};
    limits.n_sequences = n_sequences;
    limits.n_tokens = n_tokens;
    limits.n_sequence_kv_blocks = n_sequence_kv_blocks;
    return limits;
  }
  static m40_cache_desc make_desc(const Shape& s, uint32_t layers, uint32_t n_kv_blocks) {
    m40_cache_desc desc = {};
    desc.n_layers = layers;
    desc.n_groups = 1;
    desc.kv_block_tokens = s.kv_block_tokens;
    desc.n_kv_blocks = n_kv_blocks;
    desc.type = s.type;
    for (uint32_t i = 0; i < layers; i++) {
      desc.n_kv_heads[i] = s.n_kv_heads;
      desc.head_dim[i] = s.head_dim;
      desc.value_dim[i] = s.latent ? 0 : s.values();
    }
    return desc;
  }
  uint64_t kv_block_bytes() const { return (place_cache(desc, nullptr) + 255) / 256 * 256; }
  CacheView view() const { return {memory.data, kv_block_bytes(), &desc, layer_offsets.data()}; }
  m40_op_rope_store rope_op(uint32_t at) const {
    m40_op_rope_store op = {};
    op.layer = at;
    op.n_heads = shape.n_heads;
    op.n_kv_heads = shape.n_kv_heads;
    op.head_dim = shape.head_dim;
    op.value_dim = shape.values();
    op.k_column = shape.n_heads * shape.head_dim;
    op.v_column = shape.latent ? M40_NONE : op.k_column + shape.n_kv_heads * shape.head_dim;
    op.rope_dim = shape.rope_dim;
    op.rope = shape.rope;
    op.head_norm = shape.norms ? M40_HEAD_NORM_BEFORE : M40_HEAD_NORM_NONE;
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
    op.value_dim = shape.values();
    op.window = shape.window;
    op.scale = static_cast<float>(1 / sqrt(static_cast<double>(shape.head_dim)));
    op.softcap = shape.softcap;
    return op;
  }
  RopeStoreArgs rope_store_args(float* qkv, uint32_t at) const {
    return {qkv, width, qkv, width, turns.data, shape.norms ? q_norm.data : nullptr, shape.norms ? k_norm.data : nullptr, rope_op(at)};
  }
  AttentionArgs attention_args(float* qkv, float* output, uint32_t at) const {
    return {qkv, width, output, columns, max_positions, attention_decode_rows(limits), nullptr, attention_op(at), {counters.data, scratch.data}};
  }

  // A position's K or V as the cache holds it.
  std::vector<double> cached(const std::vector<uint8_t>& bytes, uint32_t sequence, uint32_t position, uint32_t kv_head, bool value) const {
    const uint64_t region = cache_region_bytes(desc.type, desc.n_kv_heads[layer], desc.head_dim[layer], desc.kv_block_tokens);
    const uint32_t kv_block = table[sequence * kv_blocks_each + position / desc.kv_block_tokens];
    const uint8_t* at = bytes.data() + kv_block * kv_block_bytes() + (2 * layer + value) * region;
    const uint32_t row = kv_head * desc.kv_block_tokens + position % desc.kv_block_tokens;
    const uint32_t head_dim = desc.head_dim[layer], row_bytes = cache_row_bytes(desc.type, head_dim);
    const uint8_t* values = at + row * row_bytes;
    const uint8_t* scales = at + uint64_t{desc.n_kv_heads[layer]} * desc.kv_block_tokens * row_bytes + row * cache_scale_row_bytes(desc.type, head_dim);
    std::vector<double> result(head_dim);
    for (uint32_t d = 0; d < head_dim; d++) {
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
    view.n_sequences = static_cast<uint32_t>(world.table.size() / world.kv_blocks_each);
    view.n_decode = n_decode;
    view.n_groups = 1;
    view.kv_block_stride = world.kv_blocks_each;
    view.positions = device_positions.data;
    view.sequences = device_sequences.data;
    view.kv_block_table = world.device_table.data;
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
  const RopeStoreArgs rope = world.rope_store_args(qkv.data, world.layer);
  const AttentionArgs attention = world.attention_args(qkv.data, output.data, world.layer);
  if (fused && rope_attention_fuses(rope, attention, step.view)) {
    launch_rope_attention(rope, attention, step.view, world.view(), nullptr);
  } else {
    launch_rope_store(rope, step.view, world.view(), nullptr);
    launch_attention(attention, step.view, world.view(), nullptr);
  }
  must(cudaGetLastError(), "launch");
  return output.get();
}

}  // namespace

#endif
