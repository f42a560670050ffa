// The persistent kernel: it stays on the device and decodes. It goes through the launches of a step by itself, block by
// block, with the bodies of the launches.
//
// Block b of G does the blocks b, b + G, ... of a node. Of a product it does b, and then the next free one each time:
// of two blocks on a multiprocessor, the one that came first is faster. A barrier of all blocks separates two nodes. At
// the barrier, the first weights of the next product are being loaded already: they depend on nothing. A body's
// arguments are in shared memory and are read again after each of the block's barriers, so that values needed after a
// product's walk add no register pressure to it. The walk's own pointers are a parameter of the kernel, a constant that
// instructions name.
//
// Between two steps block 0 polls the host's word in mapped memory, while the others wait at a barrier. Without a word
// for long enough, all leave; they do so too where the host's process has died.
#ifndef M40_PERSISTENT_KERNEL_CUH
#define M40_PERSISTENT_KERNEL_CUH

#include "../../kernels/matmul_decode.cuh"
#include "../../kernels/prefetch.cuh"
#include "barrier.cuh"
#include "bodies.cuh"

namespace m40::cuda {

// A product's activations, which other blocks have written: loads go past the caches that no barrier empties. They are
// in the program's memory, which is a constant of the kernel.
//
// Its end is that of the product's walk. Then the next block is asked for, so that the answer is there when the sums
// are.
template <int T>
struct ResidentInputs {
  static constexpr bool kHeld = true;
  const MatmulDecodeArgs& args;
  uint32_t first_token;
  const float* memory;
  uint32_t* taken;
  uint32_t& next;  // thread 0's, from 0 on

  __device__ __forceinline__ ~ResidentInputs() {
    if (threadIdx.x == 0) next = atomicAdd(taken, 1u);
  }
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
  template <uint32_t kType, int T_, bool kOneType>
  __host__ __device__ static constexpr DecodeOrder order() {
    return decode_order<kType, T_, kOneType>();
  }
};

template <int T>
struct ResidentProductInputs {
  const float* memory;
  uint32_t* taken;
  uint32_t& next;

  __device__ __forceinline__ ResidentInputs<T> operator()(const MatmulDecodeArgs& args, uint32_t first_token) const { return {args, first_token, memory, taken, next}; }
};

template <class Family, int T, uint32_t kCache>
struct Resident {
  using Shared = ResidentShared<Family, T, kCache>;

  const ResidentArgs& args;
  const BlockIndex block;
  const GridSize grid;
  Shared& shared;

  __device__ __forceinline__ GridBarrier barrier() const { return {args.state, grid.x, shared.head.target}; }

  // Whether all blocks have come onto the device: without that none may wait for another. Block 0 decides.
  __device__ __forceinline__ bool all_here() const {
    if (threadIdx.x == 0) {
      shared.head.target = 0;
      atomicAdd(&args.state->here, 1u);
      if (block.x == 0) {
        const uint32_t begun = microseconds();
        bool all;
        while (!(all = look(&args.state->here) == grid.x) && microseconds() - begun < args.start_patience) spin_pause();
        show(&args.state->start, all ? 1u : 2u);
      }
      uint32_t start;
      while ((start = look(&args.state->start)) == 0) spin_pause();
      shared.head.leaves = start != 1;
    }
    __syncthreads();
    return shared.head.leaves == 0;
  }

  // Block 0's last word.
  __device__ __forceinline__ void say_end(ResidentEnd end) const {
    if (threadIdx.x != 0) return;
    show(&args.mailbox->end, static_cast<uint32_t>(end));
    __threadfence_system();
    show(&args.mailbox->left, args.life);
  }

  // Numbers go round.
  __device__ __forceinline__ bool is_asked(uint32_t number) const { return static_cast<int32_t>(look(&args.mailbox->asked) - number) >= 0; }

  // Block 0 waits for a step, copies its input, and notifies the others, which wait at the barrier. born: when it came.
  __device__ __forceinline__ void take_step(uint32_t number, uint32_t born) const {
    if (threadIdx.x == 0) {
      const uint32_t begun = microseconds();
      // It does one step at least, however long it took to come.
      const bool old = number != args.first && begun - born >= args.most_life;
      ResidentEnd end = ResidentEnd::kIdle;
      while (!old) {
        if (is_asked(number)) {
          end = {};
          break;
        }
        if (look(&args.mailbox->leave) == args.life) {
          // A step that was asked for earlier is done first.
          __threadfence_system();
          end = is_asked(number) ? ResidentEnd{} : ResidentEnd::kTold;
          break;
        }
        if (microseconds() - begun >= args.patience) {
          end = ResidentEnd::kIdle;
          break;
        }
        spin_pause();
      }
      shared.head.leaves = static_cast<uint32_t>(end);
      shared.head.begun = microseconds();
      __threadfence_system();
      if (end == ResidentEnd{}) {
        shared.head.step.nodes = look(&args.mailbox->step.nodes);
        shared.head.step.n_nodes = look(&args.mailbox->step.n_nodes);
        shared.head.step.input_bytes = look(&args.mailbox->step.first) == number ? look(&args.mailbox->step.input_bytes) : 0;
        shared.head.step.result_bytes = look(&args.mailbox->step.result_bytes);
        args.state->taken[0] = 0;
      }
      args.state->nodes = reinterpret_cast<unsigned long long>(shared.head.step.nodes);
      args.state->n_nodes = shared.head.step.n_nodes;
      args.state->leaves = shared.head.leaves;
    }
    __syncthreads();
    if (shared.head.leaves != 0) return;
    const uint4* from = reinterpret_cast<const uint4*>(args.input);
    uint4* to = reinterpret_cast<uint4*>(args.step_input);
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < shared.head.step.input_bytes / 16; i += resident_threads) to[i] = __ldcv(from + i);
  }

  // Block 0 hands the results to the host, of a step that all blocks have done.
  __device__ __forceinline__ void give_results(uint32_t number) const {
    const uint32_t* from = reinterpret_cast<const uint32_t*>(args.results);
    uint32_t* to = reinterpret_cast<uint32_t*>(args.host_results);
    for (uint32_t i = threadIdx.x; i < shared.head.step.result_bytes / 4; i += resident_threads) show(to + i, __ldcg(from + i));
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x != 0) return;
    show(&args.mailbox->nanoseconds, (microseconds() - shared.head.begun) * 1000);
    __threadfence_system();
    show(&args.mailbox->done, number);
  }

  // A word a thread, from those that do not wait.
  __device__ __forceinline__ void load_node(uint32_t k) const {
    const uint32_t i = threadIdx.x - 32;
    if (threadIdx.x < 32 || i >= resident_launch_words || k >= shared.head.n_nodes) return;
    const uint32_t* from = reinterpret_cast<const uint32_t*>(shared.head.list + k);
    reinterpret_cast<uint32_t*>(&shared.head.nodes[k % 2])[i] = __ldcg(from + i);
  }
  static_assert(resident_launch_words <= resident_threads - 32, "a word a thread");

  // The barrier before a node; a step's first node has had one already. Meanwhile the next node is loaded into shared
  // memory.
  __device__ __forceinline__ void wait_for(uint32_t k) const {
    if (k != 0) {
      barrier().wait([&] { load_node(k + 1); });
    } else {
      load_node(1);
      __syncthreads();
    }
    // The next node's: the previous node's memory, which all threads have left.
    if (block.x == 0 && threadIdx.x == 0) args.state->taken[(k + 1) % 2] = 0;
  }

  // Asks L2 for the first weights of a product: they depend on nothing, so they come while other blocks are still at
  // the node before. A warp asks for 32 columns of its rows, or what 32 lanes ask for of them.
  template <uint32_t kType, uint32_t kOther>
  __device__ __forceinline__ void prefetch_product(const MatmulDecodeArgs& product) const {
    const DecodeTile tile = decode_tile_of<T>(product, block.x, (product.n_tokens + T - 1) / T);
    const DecodeWeight& w = product.weights[tile.which];
    const uint32_t n_parts = w.splits * decode_split_parts, part = tile.split * decode_split_parts + threadIdx.x / 32;
    const uint32_t n_blocks = packed_blocks(product.columns), begin = part_start(n_blocks, part, n_parts);
    if (begin == part_start(n_blocks, part + 1, n_parts)) return;
    if (kType == kOther || w.weight.type == kType) {
      prefetch_block<kType>(w.weight, tile.row_set, begin);
    } else {
      prefetch_block<kOther>(w.weight, tile.row_set, begin);
    }
  }
  template <uint32_t kType>
  __device__ __forceinline__ void prefetch_block(const PackedWeight& weight, uint32_t tile, uint32_t at) const {
    static_assert(ResidentShapes<Family, T>::R * 32 == packed_tile_rows, "a warp's rows are a tile");
    const typename Format<kType>::Cursor cursor(weight, tile * packed_tile_rows, at);
    const uint32_t byte = threadIdx.x % 32 * prefetched_bytes;
    if (byte < static_cast<uint32_t>(Format<kType>::kBlockBytes)) prefetch_to_l2(cursor.block_at + byte);
  }

  template <uint32_t kType, uint32_t kOther>
  __device__ __forceinline__ void product(const BodyLaunch& node, uint32_t k) const {
    const MatmulDecodeArgs& product_args = node.args_as<MatmulDecodeArgs>();
    if (block.x < node.n_blocks) prefetch_product<kType, kOther>(product_args);
    wait_for(k);
    static_assert(decode_split_floats<kType, T, 4, kOther> <= ResidentShapes<Family, T>::product_floats, "of the family");
    using SplitFloats = float(&)[decode_split_floats<kType, T, 4, kOther>];
    auto& bodies = shared.bodies.product;
    const MatmulDecodeShared<kType, T, 4, no_prologue, kOther> parts = {reinterpret_cast<SplitFloats>(bodies.split), *reinterpret_cast<float(*)[T][1]>(bodies.norm_sums),
                                                                      bodies.tile, bodies.is_last};
    for (uint32_t b = block.x; b < node.n_blocks; b = shared.head.next) {
      uint32_t next = 0;
      const ResidentProductInputs<T> inputs = {args.memory, args.state->taken + k % 2, next};
      matmul_decode<kType, T, 4, no_prologue, 2, kOther>(product_args, BlockIndex{b, 0, 0}, parts, inputs);
      if (threadIdx.x == 0) shared.head.next = grid.x + next;
      __syncthreads();
    }
  }

  // Of two types, in a function of its own, as the bodies of other nodes.
  __device__ static M40_NOINLINE void pair_apart(const float* memory, ResidentState* state, uint32_t block, uint32_t blocks, uint32_t k) {
    M40_DYNAMIC_SHARED(uint8_t, found);
    ResidentArgs args = {};
    args.memory = memory;
    args.state = state;
    auto& shared = *reinterpret_cast<Shared*>(found);
    Resident{args, {block, 0, 0}, {blocks, 1, 1}, shared}.template product<Family::first, Family::second>(shared.head.nodes[k % 2], k);
  }

  __device__ __forceinline__ void products(const BodyLaunch& node, uint32_t k) const {
    constexpr uint32_t first = Family::first, second = Family::second;
    if (node.key.type == first && node.key.other == first) return product<first, first>(node, k);
    if constexpr (first != second) {
      if (node.key.type == second) return product<second, second>(node, k);
      if constexpr (T != 8) return pair_apart(args.memory, args.state, block.x, grid.x, k);
    }
  }

  __device__ __forceinline__ void run(const BodyLaunch& node, uint32_t k) const {
    if (node.key.body == Body::kProduct) return products(node, k);
    wait_for(k);
    ResidentBodies<kCache>::template run<Family, T>(node.key, block.x, grid.x, k);
  }

  // The step that block 0 was asked for; false where it was asked to leave.
  __device__ __forceinline__ bool step() const {
    barrier().arrive();
    barrier().wait();
    if (threadIdx.x == 0) {
      shared.head.list = reinterpret_cast<const BodyLaunch*>(__ldcg(&args.state->nodes));
      shared.head.n_nodes = __ldcg(&args.state->n_nodes);
      if (block.x != 0) shared.head.leaves = __ldcg(&args.state->leaves);
    }
    __syncthreads();
    if (shared.head.leaves != 0) return false;
    load_node(0);
    __syncthreads();
    for (uint32_t k = 0; k < shared.head.n_nodes; k++) {
      run(shared.head.nodes[k % 2], k);
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
    if (block.x == 0) say_end(static_cast<ResidentEnd>(shared.head.leaves));
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
