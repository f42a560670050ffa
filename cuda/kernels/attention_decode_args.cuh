// The arguments of decode attention, the shapes of its thread blocks, and the part of a token's positions that each
// takes.
#ifndef M40_KERNELS_ATTENTION_DECODE_ARGS_CUH
#define M40_KERNELS_ATTENTION_DECODE_ARGS_CUH

#include "attention_args.cuh"
#include "attention_combine.cuh"
#include "block.cuh"
#include "rope.cuh"

namespace m40::cuda {

// partials: [tokens][n_kv_heads * head_tiles][decode_most_chunks][chunk_floats(heads, padded_head_dim)].
struct AttentionDecodeArgs : AttentionKernelArgs {
  RopeParameters rope;  // of a fused launch
  bool rotates;         // q and k are rotated and K and V written here: the rope operation is fused
  uint32_t n_heads;
  uint32_t n_kv_heads;
};

constexpr int key_values = 16;  // of a row of K that a lane reads

// How rows of K go over the lanes of a warp, and sums over their places.
template <uint32_t Type, int Lanes, int Heads, int Batch>
struct DecodeKeysShape {
  static constexpr int lanes = Lanes / 2;             // that read a row
  static constexpr int rows = 32 / lanes;             // that a warp reads at a time
  static constexpr int batch = Batch / 2;           // of those, in flight
  static constexpr int places = Heads * batch;        // of a lane, not yet added over lanes: [Heads][batch]
  static constexpr int left = places > lanes ? places / lanes : 1;    // after it
  static constexpr int copies = places > lanes ? 1 : lanes / places;  // lanes that then have the same sums
  static constexpr int heads = left > batch ? left / batch : 1;       // of those that are left
  static constexpr int keys = left / heads;
  static constexpr int head_lanes = Heads / heads;    // lanes, at their highest bits, that tell heads apart
  static constexpr int other_lanes = lanes / head_lanes;
  static constexpr int loads = key_values / KvValues<Type>::in_16_bytes;

  // Where dimension d of a head's queries lies in shared memory, [4][lanes][4]: fours in the order in which lanes
  // multiply them, so that lanes that read at once read from different banks.
  __device__ __forceinline__ static uint32_t query_place(uint32_t d) {
    constexpr uint32_t width = KvValues<Type>::in_16_bytes;
    const uint32_t load = d / (lanes * width), part = d / width % lanes, within = d % width;
    const uint32_t lane = part % head_lanes * other_lanes + part / head_lanes;
    return ((load * width + within) / 4 * lanes + lane) * 4 + d % 4;
  }
};

template <uint32_t Type, int Lanes, int Heads>
struct AttentionDecodeShape {
  static constexpr int rows = 32 / Lanes;                        // of K that a warp reads at a time
  static constexpr int batch = (Type == M40_TYPE_F32 ? 4 : 8) / (Heads == 2 || Heads == 4 || (Heads == 8 && Type == M40_TYPE_F32) ? 2 : 1);  // of those, in flight
  static constexpr int keys = rows * batch;                      // positions of a run
  static constexpr int part = Heads == 8 ? batch / 2 : Heads == 4 && (Type != M40_TYPE_F16 || Lanes == 8) ? 2 : batch;            // rows whose products are added together
  static constexpr bool holds_queries = Heads <= 2 || (Heads == 4 && Type == M40_TYPE_F16);  // in registers
  // Whether a run's rows are loaded during the previous run: where that is worth more than queries in these registers.
  static constexpr bool reads_ahead = !holds_queries;
  // Whether rows of K go over half as many lanes (attention_decode_keys.cuh). Of F32 they would have one at a time.
  static constexpr bool spreads_keys = reads_ahead && Type != M40_TYPE_F32;
  // Whether the run after next is asked into L2. With four heads of Q8_0 the 128 registers have no room for what that
  // takes.
  static constexpr bool prefetches = spreads_keys && Heads == 8;
  static constexpr int head_dim = Lanes * 8;                     // at most
  static constexpr int warps = Heads >= 8 || Heads * head_dim >= 2048 ? 4 : 8;  // of a block
  using Keys = DecodeKeysShape<Type, Lanes, Heads, batch>;
  // Where dimension d of a head's queries lies in shared memory.
  __device__ __forceinline__ static uint32_t query_place(uint32_t d) { return spreads_keys ? Keys::query_place(d) : d; }
  static constexpr int score_floats = keys * Heads + Heads;      // a warp: weights [keys][Heads], shrinks [Heads]
  static constexpr int query_floats = Heads * head_dim;
  // Warps' sums at the end of a chunk: [warps][Heads][head_dim], then largest and sum [warps][Heads][2].
  static constexpr int sum_floats = warps * Heads * (head_dim + 2);
  static constexpr int work_floats = sum_floats > warps * score_floats ? sum_floats : warps * score_floats;
};

template <class Shape>
struct AttentionDecodeShared {
  __align__(16) float queries[Shape::query_floats];
  __align__(16) float work[Shape::work_floats];
  bool is_last;
};

// The positions that a token attends to, and the chunks that they are cut into.
struct DecodePositions {
  uint32_t start, end;  // from start up to end, without end
  uint32_t first;       // of the first chunk
  uint32_t chunk;       // positions of a chunk
  uint32_t n_chunks;

  DecodePositions() = default;
  // wide: of the kernel for long rows.
  __device__ __forceinline__ DecodePositions(const AttentionKernelArgs& args, uint32_t token, bool wide = false) {
    end = args.positions[token] + 1;
    start = attention_start(args, end);
    first = start / decode_chunk * decode_chunk;
    chunk = chunk_positions(end - first, wide);
    n_chunks = (end - first + chunk - 1) / chunk;
  }
};

// The heads that a block computes. They are found out where they are needed, for want of registers.
template <int Heads>
struct DecodeHeads {
  const AttentionDecodeArgs& args;
  const BlockIndex& block;

  __device__ __forceinline__ uint32_t tile() const { return block.y % args.head_tiles; }
  __device__ __forceinline__ uint32_t kv_head() const { return block.y / args.head_tiles; }
  __device__ __forceinline__ uint32_t first() const { return block.y / args.head_tiles * args.group + tile() * Heads; }
  __device__ __forceinline__ uint32_t count() const { return min(static_cast<uint32_t>(Heads), args.group - tile() * Heads); }
  // The first head's sink, and where its result goes.
  __device__ __forceinline__ const float* sinks() const { return args.sinks == nullptr ? nullptr : args.sinks + first(); }
  __device__ __forceinline__ float* output() const {
    return args.output + uint64_t{block.z} * args.output_stride + uint64_t{first()} * args.cache.head_dim;
  }
};

}  // namespace m40::cuda

#endif
