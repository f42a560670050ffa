// A kernel that stays on the device and decodes: it goes through the launches of a step by itself, block by block, with the
// bodies that the launches have.
//
// Block b of G does the blocks b, b + G, ... of a node, a barrier of all blocks stands between two nodes, and at it the first
// weights of the next product are on their way: they depend on nothing. What a body is told lies in shared memory, where it
// is read again after each of the block's barriers, so that what is needed behind a product's walk takes no registers in it;
// what the walk itself reads it by is a parameter of the kernel, a constant that instructions name.
//
// Between two steps block 0 looks for the host's word in mapped memory, while the others wait at a barrier. Without a word
// for long enough, all leave: so they do too where the host's process has died.
#ifndef M40_KERNELS_RESIDENT_CUH
#define M40_KERNELS_RESIDENT_CUH

#include "attention_decode.cuh"
#include "elementwise.cuh"
#include "embed.cuh"
#include "matmul_decode.cuh"
#include "norm_halves.cuh"
#include "resident_barrier.cuh"
#include "rope.cuh"
#include "sample.cuh"

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

template <class Family, int T, uint32_t kCache>
struct ResidentShared {
  alignas(16) ResidentNode nodes[2];  // the one at work and the next, in turn
  uint32_t target;                    // GridBarrier's
  uint32_t n_nodes, leaves;           // of the step
  const ResidentNode* list;
  uint32_t begun;                     // microseconds
  ResidentStep step;                  // block 0's
  union Bodies {
    ResidentProductShared<ResidentShapes<Family, T>::product_floats> product;
    ResidentAttentionShared<kCache> attention;
    NormShared norm;
    SampleShared sample;
    alignas(16) float rope[resident_rope_floats];
  };
  alignas(16) Bodies bodies;
};

// A product's activations, by other blocks: not there until the barrier before it. They lie in the program's memory, which
// is a constant of the kernel.
template <int T, class Wait>
struct ResidentInputs {
  static constexpr bool kHeld = true, kWaits = true;
  const MatmulDecodeArgs& args;
  uint32_t first_token;
  const float* memory;
  const Wait& first_wait;

  __device__ __forceinline__ uint32_t operator()(uint32_t t) const {
    const uint32_t token = first_token + t;
    const uint32_t start = static_cast<uint32_t>(args.input - memory);
    return start + (T == 1 || token < args.n_tokens ? token : args.n_tokens - 1) * args.input_stride;
  }
  __device__ __forceinline__ const float* from(const MatmulDecodeArgs&) const { return memory; }
  template <class V>
  __device__ __forceinline__ V load(const V* at) const {
    return __ldcg(at);
  }
  __device__ __forceinline__ void wait() const { first_wait(); }
};

template <class Family, int T, uint32_t kCache>
struct Resident {
  using Shared = ResidentShared<Family, T, kCache>;

  const ResidentArgs& args;
  const BlockIndex block;
  const GridSize grid;
  Shared& shared;

  __device__ __forceinline__ GridBarrier barrier() const { return {args.state, grid.x, shared.target}; }

  // Whether all blocks have come onto the device: without that none may wait for another. Block 0 decides.
  __device__ __forceinline__ bool all_here() const {
    if (threadIdx.x == 0) {
      shared.target = 0;
      atomicAdd(&args.state->here, 1u);
      if (block.x == 0) {
        const uint32_t begun = microseconds();
        bool all;
        while (!(all = look(&args.state->here) == grid.x) && microseconds() - begun < args.start_patience) spin_pause();
        show(&args.state->start, all ? 1u : 2u);
      }
      uint32_t start;
      while ((start = look(&args.state->start)) == 0) spin_pause();
      shared.leaves = start != 1;
    }
    __syncthreads();
    return shared.leaves == 0;
  }

  // Block 0's last word.
  __device__ __forceinline__ void say_end(ResidentEnd end) const {
    if (threadIdx.x != 0) return;
    show(&args.mailbox->end, static_cast<uint32_t>(end));
    __threadfence_system();
    show(&args.mailbox->left, args.life);
  }

  // Block 0 waits for a step, takes its input over, and tells the others. They wait at the barrier meanwhile. born: when it
  // came.
  __device__ __forceinline__ void take_step(uint32_t number, uint32_t born) const {
    if (threadIdx.x == 0) {
      const uint32_t begun = microseconds();
      // It does one step at least, however long it took to come.
      const bool old = number != args.first && begun - born >= args.most_life;
      ResidentEnd end = ResidentEnd::kIdle;
      while (!old) {
        if (look(&args.mailbox->asked) == number) {
          end = {};
          break;
        }
        if (look(&args.mailbox->leave) == args.life) {
          // A step that was asked for before that is done first.
          __threadfence_system();
          end = look(&args.mailbox->asked) == number ? ResidentEnd{} : ResidentEnd::kTold;
          break;
        }
        if (microseconds() - begun >= args.patience) {
          end = ResidentEnd::kIdle;
          break;
        }
        spin_pause();
      }
      shared.leaves = static_cast<uint32_t>(end);
      shared.begun = microseconds();
      __threadfence_system();
      if (end == ResidentEnd{}) {
        shared.step.nodes = look(&args.mailbox->step.nodes);
        shared.step.n_nodes = look(&args.mailbox->step.n_nodes);
        shared.step.input_bytes = look(&args.mailbox->step.input_bytes);
        shared.step.result_bytes = look(&args.mailbox->step.result_bytes);
      }
      args.state->nodes = reinterpret_cast<unsigned long long>(shared.step.nodes);
      args.state->n_nodes = shared.step.n_nodes;
      args.state->leaves = shared.leaves;
    }
    __syncthreads();
    if (shared.leaves != 0) return;
    const uint4* from = reinterpret_cast<const uint4*>(args.input);
    uint4* to = reinterpret_cast<uint4*>(args.step_input);
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < shared.step.input_bytes / 16; i += resident_threads) to[i] = __ldcv(from + i);
  }

  // Block 0 hands the results to the host, of a step that all blocks have done.
  __device__ __forceinline__ void give_results(uint32_t number) const {
    const uint32_t* from = reinterpret_cast<const uint32_t*>(args.results);
    uint32_t* to = reinterpret_cast<uint32_t*>(args.host_results);
    for (uint32_t i = threadIdx.x; i < shared.step.result_bytes / 4; i += resident_threads) show(to + i, __ldcg(from + i));
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x != 0) return;
    show(&args.mailbox->nanoseconds, (microseconds() - shared.begun) * 1000);
    __threadfence_system();
    show(&args.mailbox->done, number);
  }

  // A word a thread, from those that do not wait.
  __device__ __forceinline__ void load_node(uint32_t k) const {
    const uint32_t i = threadIdx.x - 32;
    if (threadIdx.x < 32 || i >= resident_node_words || k >= shared.n_nodes) return;
    const uint32_t* from = reinterpret_cast<const uint32_t*>(shared.list + k);
    reinterpret_cast<uint32_t*>(&shared.nodes[k % 2])[i] = __ldcg(from + i);
  }
  static_assert(resident_node_words <= resident_threads - 32, "a word a thread");

  // The barrier before a node; before a step's first one there has been one already. Meanwhile the next node comes into
  // shared memory.
  __device__ __forceinline__ void wait_for(uint32_t k) const {
    if (k != 0) {
      barrier().wait([&] { load_node(k + 1); });
    } else {
      load_node(1);
      __syncthreads();
    }
  }

  // visit(block of the node) for the blocks of a node that are this block's.
  template <class Visit>
  __device__ __forceinline__ void for_each_block(const ResidentNode& node, const Visit& visit) const {
    for (uint32_t b = block.x; b < node.n_blocks; b += grid.x) {
      visit(BlockIndex{b % node.grid.x, b / node.grid.x % node.grid.y, b / node.grid.x / node.grid.y});
      __syncthreads();  // the next one has the same shared memory
    }
  }

  template <class Args>
  __device__ static __forceinline__ const Args& args_of(const ResidentNode& node) {
    static_assert(sizeof(Args) <= resident_args_bytes, "larger than the largest");
    return *reinterpret_cast<const Args*>(node.args);
  }

  // The walk waits itself, once, when its first weights are under way.
  template <uint32_t kType, uint32_t kOther>
  __device__ __forceinline__ void product(const ResidentNode& node, uint32_t k) const {
    const MatmulDecodeArgs& product_args = args_of<MatmulDecodeArgs>(node);
    if (block.x >= node.n_blocks) wait_for(k);
    static_assert(decode_split_floats<kType, T, 4, kOther> <= ResidentShapes<Family, T>::product_floats, "of the family");
    using SplitFloats = float(&)[decode_split_floats<kType, T, 4, kOther>];
    auto& bodies = shared.bodies.product;
    const MatmulDecodeShared<kType, T, 4, no_prologue, kOther> parts = {reinterpret_cast<SplitFloats>(bodies.split), *reinterpret_cast<float(*)[T][1]>(bodies.norm_sums),
                                                                      bodies.tile, bodies.is_last};
    for (uint32_t b = block.x; b < node.n_blocks; b += grid.x) {
      const auto first_wait = [&] {
        if (b == block.x) wait_for(k);
      };
      const auto inputs = [&](const MatmulDecodeArgs& of, uint32_t token) { return ResidentInputs<T, decltype(first_wait)>{of, token, args.memory, first_wait}; };
      matmul_decode<kType, T, 4, no_prologue, 2, kOther>(product_args, BlockIndex{b, 0, 0}, parts, inputs);
      __syncthreads();
    }
  }

  __device__ __forceinline__ void products(const ResidentNode& node, uint32_t k) const {
    constexpr uint32_t first = Family::first, second = Family::second;
    if (node.key.type == first && node.key.other == first) return product<first, first>(node, k);
    if constexpr (first != second) {
      if (node.key.type == second) return product<second, second>(node, k);
      if constexpr (T != 8) return product<first, second>(node, k);
    }
  }

  template <int Lanes, int Heads>
  __device__ __forceinline__ void attention(const ResidentNode& node, AttentionDecodeShared<AttentionDecodeShape<kCache, Lanes, Heads>>& of) const {
    static_assert(AttentionDecodeShape<kCache, Lanes, Heads>::warps * 32 == resident_threads, "all of the block's threads");
    for_each_block(node, [&](BlockIndex b) { attention_decode<kCache, Lanes, Heads>(args_of<AttentionDecodeArgs>(node), b, node.grid, of); });
  }

  __device__ __forceinline__ void attentions(const ResidentNode& node) const {
    auto& of = shared.bodies.attention;
    switch (node.key.shape) {
      case 16 * 16 + 1: return attention<16, 1>(node, of.l16h1);
      case 16 * 16 + 2: return attention<16, 2>(node, of.l16h2);
      case 16 * 16 + 4: return attention<16, 4>(node, of.l16h4);
      case 8 * 16 + 1: return attention<8, 1>(node, of.l8h1);
      case 8 * 16 + 2: return attention<8, 2>(node, of.l8h2);
      default: return attention<8, 4>(node, of.l8h4);
    }
  }

  // Of four blocks at a time: a body of 64 threads without barriers.
  template <uint32_t kType>
  __device__ __forceinline__ void embeddings(const ResidentNode& node) const {
    constexpr uint32_t each = resident_threads / embed_threads;
    const uint32_t wide = (node.grid.x + each - 1) / each;
    for (uint32_t b = block.x; b < wide * node.grid.y; b += grid.x) embed<kType>(args_of<EmbedKernelArgs>(node), {b % wide * each, b / wide, 0});
  }

  __device__ __forceinline__ void run(const ResidentNode& node, uint32_t k) const {
    if (node.key.body == Body::kProduct) return products(node, k);
    wait_for(k);
    switch (node.key.body) {
      case Body::kEmbed:
        if (node.key.type == Family::first) return embeddings<Family::first>(node);
        return embeddings<Family::second>(node);
      case Body::kNorm: return for_each_block(node, [&](BlockIndex b) { norm_halves(args_of<NormArgs>(node), b, shared.bodies.norm); });
      case Body::kAttention: return attentions(node);
      case Body::kActivation: return for_each_block(node, [&](BlockIndex b) { activation(args_of<ActivationArgs>(node), b, node.grid); });
      case Body::kAdd: return for_each_block(node, [&](BlockIndex b) { add(args_of<AddArgs>(node), b, node.grid); });
      case Body::kSelect: return for_each_block(node, [&](BlockIndex b) { select_rows(args_of<SelectRowsArgs>(node), b, node.grid); });
      case Body::kSoftcap: return for_each_block(node, [&](BlockIndex b) { softcap(args_of<SoftcapArgs>(node), b, node.grid); });
      case Body::kRopeStore: return for_each_block(node, [&](BlockIndex b) { rope_to_cache<kCache>(args_of<RopeKernelArgs>(node), b, shared.bodies.rope); });
      case Body::kSample: return for_each_block(node, [&](BlockIndex b) { sample(args_of<SampleKernelArgs>(node), b, shared.bodies.sample); });
      default: return;
    }
  }

  // The step that block 0 was told of; false where it was told to leave.
  __device__ __forceinline__ bool step() const {
    barrier().arrive();
    barrier().wait();
    if (threadIdx.x == 0) {
      shared.list = reinterpret_cast<const ResidentNode*>(__ldcg(&args.state->nodes));
      shared.n_nodes = __ldcg(&args.state->n_nodes);
      if (block.x != 0) shared.leaves = __ldcg(&args.state->leaves);
    }
    __syncthreads();
    if (shared.leaves != 0) return false;
    load_node(0);
    __syncthreads();
    for (uint32_t k = 0; k < shared.n_nodes; k++) {
      run(shared.nodes[k % 2], k);
      barrier().arrive();
    }
    barrier().wait();
    return true;
  }

  __device__ __forceinline__ void live() const {
    if (!all_here()) {
      if (block.x == 0) say_end(ResidentEnd::kNotAll);
      return;
    }
    const uint32_t born = microseconds();
    for (uint32_t number = args.first;; number++) {
      if (block.x == 0) take_step(number, born);
      if (!step()) break;
      if (block.x == 0) give_results(number);
    }
    if (block.x == 0) say_end(static_cast<ResidentEnd>(shared.leaves));
  }
};

// Grid: as many blocks as come onto the device at a time, at most.
template <class Family, int T, uint32_t kCache>
__device__ __forceinline__ void resident(const ResidentArgs& args, BlockIndex block, GridSize grid, ResidentShared<Family, T, kCache>& shared) {
  Resident<Family, T, kCache>{args, block, grid, shared}.live();
}

template <class Family, int T, uint32_t kCache, int kResidency>
__global__ void __launch_bounds__(resident_threads, kResidency) resident_kernel(ResidentArgs args) {
  M40_DYNAMIC_SHARED(uint8_t, memory);
  resident<Family, T, kCache>(args, launched_block(), launched_grid(), *reinterpret_cast<ResidentShared<Family, T, kCache>*>(memory));
}

}  // namespace m40::cuda

#endif
