// The shared memory of a persistent kernel's blocks, and the bodies of its nodes that are not products.
//
// Each body is a function of its own. Inlined, they make the kernel so long that the assemblers ignore register banks
// when they choose the operands of products (docs/kernels/resident.md). So the kernel itself has little but products.
#ifndef M40_PERSISTENT_BODIES_CUH
#define M40_PERSISTENT_BODIES_CUH

#include "../../kernels/advance_run.cuh"
#include "../../kernels/attention_decode.cuh"
#include "../../kernels/elementwise.cuh"
#include "../../kernels/embed.cuh"
#include "../../kernels/matmul_decode.cuh"
#include "../../kernels/rope.cuh"
#include "../../kernels/sample.cuh"
#include "mailbox.cuh"
#include "norm_halves.cuh"

namespace m40::cuda {

// The types of a kernel's weights.
template <uint32_t kFirst, uint32_t kSecond>
struct WeightFamily {
  static constexpr uint32_t first = kFirst, second = kSecond;
};

template <class Family, int T>
struct ResidentShapes {
  static constexpr int R = 4;
  static constexpr int product_floats = decode_split_floats<Family::first, T, R, Family::second>;
};

template <int kFloats>
struct ResidentProductShared {
  __align__(16) float split[kFloats];
  float norm_sums[1][1];
  DecodeTile tile;
  bool is_last;
};

// Attention of this cache type, for any of the shapes that are called.
template <uint32_t Type>
union ResidentAttentionShared {
  AttentionDecodeShared<AttentionDecodeShape<Type, 16, 1>> l16h1;
  AttentionDecodeShared<AttentionDecodeShape<Type, 16, 2>> l16h2;
  AttentionDecodeShared<AttentionDecodeShape<Type, 16, 4>> l16h4;
  AttentionDecodeShared<AttentionDecodeShape<Type, 8, 1>> l8h1;
  AttentionDecodeShared<AttentionDecodeShape<Type, 8, 2>> l8h2;
  AttentionDecodeShared<AttentionDecodeShape<Type, 8, 4>> l8h4;
};

// Of heads and rotations of 256 values at most.
constexpr uint32_t resident_rope_floats = 256 + rope_warps * 256;

struct ResidentHead {
  alignas(16) BodyLaunch nodes[2];  // the one at work and the next, in turn
  uint32_t target;                  // GridBarrier's
  uint32_t next;                    // block of the product at work
  uint32_t n_nodes, leaves;         // of the step
  const BodyLaunch* list;
  uint32_t begun;                   // microseconds
  ResidentStep step;                // block 0's
};

// What the bodies see of it that are not products: the kernels of all families and numbers of tokens have it in the
// same place, and so share these bodies.
template <uint32_t kCache>
struct ResidentOthersShared {
  ResidentHead head;
  union Bodies {
    ResidentAttentionShared<kCache> attention;
    NormShared norm;
    SampleShared sample;
    alignas(16) float rope[resident_rope_floats];
  };
  alignas(16) Bodies bodies;
};

template <class Family, int T, uint32_t kCache>
struct ResidentShared {
  ResidentHead head;
  union Bodies {
    ResidentProductShared<ResidentShapes<Family, T>::product_floats> product;
    typename ResidentOthersShared<kCache>::Bodies others;
  };
  alignas(16) Bodies bodies;
};

template <uint32_t kCache>
struct ResidentBodies {
  using Shared = ResidentOthersShared<kCache>;

  uint32_t block, blocks;  // which of how many the kernel has
  Shared& shared;
  const BodyLaunch& node;

  template <class Args>
  __device__ __forceinline__ const Args& args() const {
    return node.args_as<Args>();
  }

  // visit(block of the node) for the blocks of the node that are this block's.
  template <class Visit>
  __device__ __forceinline__ void for_each_block(const Visit& visit) const {
    for (uint32_t b = block; b < node.n_blocks; b += blocks) {
      visit(BlockIndex{b % node.grid.x, b / node.grid.x % node.grid.y, b / node.grid.x / node.grid.y});
      __syncthreads();  // the next one has the same shared memory
    }
  }

  template <int Lanes, int Heads>
  __device__ __forceinline__ void attention() const {
    using Shape = AttentionDecodeShape<kCache, Lanes, Heads>;
    static_assert(Shape::warps * 32 == resident_threads, "all of the block's threads");
    auto& of = *reinterpret_cast<AttentionDecodeShared<Shape>*>(&shared.bodies.attention);
    const AttentionDecodeArgs& attention_args = args<AttentionDecodeArgs>();
    // A grid has blocks for the longest sequences: of a token's, those that have a chunk. A lane finds out how many of
    // one.
    static_assert(most_resident_tokens <= 32, "a lane a token");
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t of_lane = lane < node.grid.z ? min(node.grid.x, DecodePositions(attention_args, lane).n_chunks) : 0;
    uint32_t at = block;
    for (uint32_t token = 0; token < node.grid.z; token++) {
      const uint32_t along = __shfl_sync(~0u, of_lane, static_cast<int>(token)), n_blocks = along * node.grid.y;
      for (; at < n_blocks; at += blocks) {
        attention_decode<kCache, Lanes, Heads>(attention_args, {at % along, at / along, token}, node.grid, of);
        __syncthreads();  // the next one has the same shared memory
      }
      at -= n_blocks;
    }
  }

  // Of `each` blocks at a time, with their loads in flight together.
  template <int each>
  __device__ __forceinline__ void activations() const {
    const ActivationArgs& of = args<ActivationArgs>();
    for (uint32_t first = block; first < node.n_blocks; first += each * blocks) {
      float values[each];
      size_t rows[each];
      uint32_t columns[each];
#pragma unroll
      for (int e = 0; e < each; e++) {
        const uint32_t b = first + e * blocks;
        rows[e] = b / node.grid.x, columns[e] = b % node.grid.x * elementwise_threads + threadIdx.x;
        if (b < node.n_blocks && columns[e] < of.columns) values[e] = activation_of(of, rows[e], columns[e]);
      }
#pragma unroll
      for (int e = 0; e < each; e++) {
        if (first + e * blocks < node.n_blocks && columns[e] < of.columns) of.output[rows[e] * of.output_stride + columns[e]] = values[e];
      }
    }
  }

  // Of four blocks at a time: a body of 64 threads without barriers.
  template <uint32_t kType>
  __device__ __forceinline__ void embeddings() const {
    constexpr uint32_t each = resident_threads / embed_threads;
    const uint32_t wide = (node.grid.x + each - 1) / each;
    for (uint32_t b = block; b < wide * node.grid.y; b += blocks) embed<kType>(args<EmbedKernelArgs>(), {b % wide * each, b / wide, 0});
  }

  // The body of node k. kType: of an embedding's table. kShape: attention's, as BodyKey has it, or an activation's
  // blocks at a time. Where the block's shared memory is, is found again: what a pointer points to might be any memory.
  template <Body kBody, uint32_t kType = 0, uint32_t kShape = 0>
  __device__ static M40_NOINLINE void apart(uint32_t block, uint32_t blocks, uint32_t k) {
    M40_DYNAMIC_SHARED(uint8_t, memory);
    auto& found = *reinterpret_cast<Shared*>(memory);
    const ResidentBodies self = {block, blocks, found, found.head.nodes[k % 2]};
    const BodyLaunch& node = self.node;
    if constexpr (kBody == Body::kEmbed) self.template embeddings<kType>();
    if constexpr (kBody == Body::kNorm) self.for_each_block([&](BlockIndex b) { norm_halves(self.template args<NormArgs>(), b, found.bodies.norm); });
    if constexpr (kBody == Body::kAttention) self.template attention<kShape / 16, kShape % 16>();
    if constexpr (kBody == Body::kActivation) self.template activations<kShape>();
    if constexpr (kBody == Body::kAdd) self.for_each_block([&](BlockIndex b) { add(self.template args<AddArgs>(), b, node.grid); });
    if constexpr (kBody == Body::kSelect) self.for_each_block([&](BlockIndex b) { select_rows(self.template args<SelectRowsArgs>(), b, node.grid); });
    if constexpr (kBody == Body::kSoftcap) self.for_each_block([&](BlockIndex b) { softcap(self.template args<SoftcapArgs>(), b, node.grid); });
    if constexpr (kBody == Body::kRopeStore) self.for_each_block([&](BlockIndex b) { rope_to_cache<kCache>(self.template args<RopeKernelArgs>(), b, found.bodies.rope); });
    if constexpr (kBody == Body::kSample) self.for_each_block([&](BlockIndex b) { sample(self.template args<SampleKernelArgs>(), b, found.bodies.sample); });
    if constexpr (kBody == Body::kAdvanceRun) {
      static_assert(advance_run_threads == resident_threads, "all of the block's threads");
      self.for_each_block([&](BlockIndex) { advance_run(self.template args<AdvanceRunArgs>()); });
    }
  }

  template <class Family, int T>
  __device__ __forceinline__ static void run(const BodyKey& key, uint32_t block, uint32_t blocks, uint32_t k) {
    switch (key.body) {
      case Body::kEmbed:
        if (key.type == Family::first) return apart<Body::kEmbed, Family::first>(block, blocks, k);
        return apart<Body::kEmbed, Family::second>(block, blocks, k);
      case Body::kNorm: return apart<Body::kNorm>(block, blocks, k);
      case Body::kAttention:
        switch (key.shape) {
          case 16 * 16 + 1: return apart<Body::kAttention, 0, 16 * 16 + 1>(block, blocks, k);
          case 16 * 16 + 2: return apart<Body::kAttention, 0, 16 * 16 + 2>(block, blocks, k);
          case 16 * 16 + 4: return apart<Body::kAttention, 0, 16 * 16 + 4>(block, blocks, k);
          case 8 * 16 + 1: return apart<Body::kAttention, 0, 8 * 16 + 1>(block, blocks, k);
          case 8 * 16 + 2: return apart<Body::kAttention, 0, 8 * 16 + 2>(block, blocks, k);
          default: return apart<Body::kAttention, 0, 8 * 16 + 4>(block, blocks, k);
        }
      case Body::kActivation: return apart<Body::kActivation, 0, T < 4 ? 2 : 4>(block, blocks, k);
      case Body::kAdd: return apart<Body::kAdd>(block, blocks, k);
      case Body::kSelect: return apart<Body::kSelect>(block, blocks, k);
      case Body::kSoftcap: return apart<Body::kSoftcap>(block, blocks, k);
      case Body::kRopeStore: return apart<Body::kRopeStore>(block, blocks, k);
      case Body::kSample: return apart<Body::kSample>(block, blocks, k);
      case Body::kAdvanceRun: return apart<Body::kAdvanceRun>(block, blocks, k);
      default: return;
    }
  }
};

}  // namespace m40::cuda

#endif
