// Scores of a run of positions where the query heads do not fit in registers: q k, added over lanes, and the running
// softmax.
//
// Half as many lanes read a row of K as read one of V, 16 values each. So a warp reads twice the rows at a time, each
// query from shared memory is multiplied by twice the rows, and half of the sums need adding over lanes. A lane has a
// place for each sum of a row and a head, but the order of the places differs between lanes. Where two lanes share two
// sums, the one that keeps the second has them swapped. So each step of the adding is a shuffle and an addition,
// without selections.
#ifndef M40_KERNELS_ATTENTION_DECODE_KEYS_CUH
#define M40_KERNELS_ATTENTION_DECODE_KEYS_CUH

#include "attention_decode_args.cuh"
#include "attention_score.cuh"

namespace m40::cuda {

// A lane of a warp, as it reads K.
template <uint32_t Type, int Lanes, int Heads>
struct DecodeKeysLane {
  using Keys = typename AttentionDecodeShape<Type, Lanes, Heads>::Keys;
  uint32_t index;

  __device__ __forceinline__ DecodeKeysLane() : index(threadIdx.x % 32) {}
  __device__ __forceinline__ uint32_t row() const { return index / Keys::lanes; }
  __device__ __forceinline__ uint32_t in_row() const { return index % Keys::lanes; }
  // What is different of the places of this lane: place i has the sum i ^ flip().
  __device__ __forceinline__ uint32_t flip() const { return Keys::places > Keys::lanes ? in_row() * Keys::left : in_row() / Keys::copies; }
  // Which 16 bytes of a row, of those that its lanes read at a time. Lanes that read one row's are neighbours in it:
  // those that have the same key in a place.
  __device__ __forceinline__ uint32_t part() const { return in_row() / Keys::other_lanes + in_row() % Keys::other_lanes * Keys::head_lanes; }
  // The row of a place, of a run's.
  __device__ __forceinline__ uint32_t row_of(int u) const { return (static_cast<uint32_t>(u) ^ flip() % Keys::batch) * Keys::rows + row(); }
  // The first head of those that are left to it.
  __device__ __forceinline__ uint32_t head() const { return flip() / Keys::batch; }
};

// Where a lane's loads of a row of K begin, in bytes from its first one. Lanes beyond a row's end read its start: their
// queries are 0.
template <uint32_t Type, int Lanes, int Heads>
struct KeyOffsets {
  using Keys = typename AttentionDecodeShape<Type, Lanes, Heads>::Keys;
  uint32_t first, scale;
  uint32_t others[Keys::loads > 1 ? Keys::loads - 1 : 1];  // beyond the first

  // padded: values of a row.
  __device__ __forceinline__ KeyOffsets(const DecodeKeysLane<Type, Lanes, Heads>& lane, uint32_t padded) {
    constexpr uint32_t width = KvValues<Type>::in_16_bytes;
    const uint32_t part = lane.part();
    first = part * width < padded ? part * 16 : 0;
    scale = first / 32 * 2;
#pragma unroll
    for (int i = 1; i < Keys::loads; i++) others[i - 1] = (i * Keys::lanes + part) * width < padded ? i * Keys::lanes * 16 : 0;
  }
};

// A lane's share of a row of K: key_values values, in as many loads as they have times 16 bytes.
template <uint32_t Type>
struct KeyShare {
  static constexpr int width = KvValues<Type>::in_16_bytes;
  uint4 words[key_values / width];
  unsigned short half_scale;

  // Four of the values, without their scale.
  __device__ __forceinline__ void four(int p, float (&values)[4]) const {
    const uint4& all = words[4 * p / width];
    const uint32_t w[4] = {all.x, all.y, all.z, all.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const int at = 4 * p % width + i;
      if constexpr (Type == M40_TYPE_F16) {
        values[i] = __half2float(__ushort_as_half(static_cast<unsigned short>(at % 2 == 0 ? w[at / 2] & 0xFFFF : w[at / 2] >> 16)));
      } else {
        values[i] = static_cast<float>(static_cast<signed char>(w[at / 4] >> (8 * (at % 4))));
      }
    }
  }
  __device__ __forceinline__ float scale() const { return __half2float(__ushort_as_half(half_scale)); }
};

// Adds N values over lanes that differ in the bits below 2 * Offset, with their places in the order of DecodeKeysLane.
template <int N, int Offset>
__device__ __forceinline__ void add_places(float* values) {
  if constexpr (Offset > 0) {
    constexpr int kept = N > 1 ? N / 2 : 1;
#pragma unroll
    for (int i = 0; i < kept; i++) values[i] = __fadd_rn(values[i], __shfl_xor_sync(~0u, values[N > 1 ? i + kept : i], Offset));
    add_places<kept, Offset / 2>(values);
  }
}

// The scores of a warp, and its running softmax.
template <uint32_t Type, int Lanes, int Heads>
struct DecodeKeys {
  using Keys = typename AttentionDecodeShape<Type, Lanes, Heads>::Keys;
  using Rows = KeyShare<Type>[Keys::batch];
  DecodeKeysLane<Type, Lanes, Heads> lane;
  float largest[Keys::heads];  // of the heads that are left to this lane: the same in all lanes that have them
  float weight[Keys::heads];   // sums of this lane's weights

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int h = 0; h < Keys::heads; h++) {
      largest[h] = -INFINITY;
      weight[h] = 0;
    }
  }

  // The products of a run's keys with the queries, added over lanes.
  __device__ __forceinline__ void multiply(const Rows& k, const float* queries, float (&products)[Keys::places]) const {
    constexpr uint32_t head_dim = Lanes * 8;
    const uint32_t first = lane.flip() / Keys::batch * head_dim + lane.in_row() * 4;
#pragma unroll
    for (int p = 0; p < key_values / 4; p++) {
      float values[Keys::batch][4];
#pragma unroll
      for (int u = 0; u < Keys::batch; u++) k[u].four(p, values[u]);
#pragma unroll
      for (int h = 0; h < Heads; h++) {
        const float4 q = *reinterpret_cast<const float4*>(queries + (first ^ h * head_dim) + p * Keys::lanes * 4);
#pragma unroll
        for (int u = 0; u < Keys::batch; u++) {
          float& product = products[h * Keys::batch + u];
          product = p == 0 ? __fmul_rn(q.x, values[u][0]) : __fmaf_rn(q.x, values[u][0], product);
          product = __fmaf_rn(q.y, values[u][1], product);
          product = __fmaf_rn(q.z, values[u][2], product);
          product = __fmaf_rn(q.w, values[u][3], product);
        }
      }
    }
    if constexpr (KvValues<Type>::scaled) {
#pragma unroll
      for (int i = 0; i < Keys::places; i++) products[i] = __fmul_rn(products[i], k[i % Keys::batch].scale());
    }
    add_places<Keys::places, Keys::lanes / 2>(products);
  }

  // Makes weights [keys][Heads] of a run's products. shrinks [Heads]: what the sums so far are multiplied by. Whether
  // any of those is not 1.
  __device__ __forceinline__ bool weigh(const AttentionDecodeArgs& args, const DecodePositions& positions, uint32_t run, uint32_t run_keys,
                                        const float (&products)[Keys::places], float* weights, float* shrinks) {
    const bool counts = lane.in_row() % Keys::copies == 0;
    bool shrunk = false;
#pragma unroll
    for (int h = 0; h < Keys::heads; h++) {
      float scores[Keys::keys];
      float now = largest[h];
#pragma unroll
      for (int u = 0; u < Keys::keys; u++) {
        const uint32_t key = lane.row_of(u);
        const uint32_t at = run + key;
        const bool attended = counts && key < run_keys && at >= positions.start && at < positions.end;
        scores[u] = attended ? attention_score(products[h * Keys::batch + u], args.scale, args.softcap) : -INFINITY;
        now = fmaxf(now, scores[u]);
      }
#pragma unroll
      for (int offset = 16; offset > 0; offset /= 2) {
        if (offset >= Keys::lanes || offset < Keys::other_lanes) now = fmaxf(now, __shfl_xor_sync(~0u, now, offset));
      }
      const float shrink = attention_shrink(largest[h], now);
      largest[h] = now;
      weight[h] = __fmul_rn(weight[h], shrink);
#pragma unroll
      for (int u = 0; u < Keys::keys; u++) {
        const float of_key = attention_weight(scores[u], now);
        weight[h] = __fadd_rn(weight[h], of_key);
        if (counts) weights[lane.row_of(u) * Heads + lane.head() + h] = of_key;
      }
      if (lane.row() == 0 && lane.in_row() % Keys::other_lanes == 0) shrinks[lane.head() + h] = shrink;
      shrunk |= shrink != 1;
    }
    return __any_sync(~0u, shrunk);
  }

  // Largest scores and sums of weights [Heads][2] of the warp.
  __device__ __forceinline__ void store(float* statistics) {
#pragma unroll
    for (int h = 0; h < Keys::heads; h++) {
#pragma unroll
      for (int offset = 16; offset > 0; offset /= 2) {
        if (offset >= Keys::lanes || offset < Keys::other_lanes) weight[h] = __fadd_rn(weight[h], __shfl_xor_sync(~0u, weight[h], offset));
      }
      if (lane.row() == 0 && lane.in_row() % Keys::other_lanes == 0) {
        statistics[(lane.head() + h) * 2] = largest[h];
        statistics[(lane.head() + h) * 2 + 1] = weight[h];
      }
    }
  }
};

}  // namespace m40::cuda

#endif
