// A launch as data: which body it calls, with how many blocks and which arguments (ops/launch_list.h).
#ifndef M40_KERNELS_BODY_LAUNCH_CUH
#define M40_KERNELS_BODY_LAUNCH_CUH

#include "block.cuh"

namespace m40::cuda {

// The bodies of a decode step that can be data. The launch of any other can not.
enum class Body : uint32_t { kEmbed, kNorm, kProduct, kAttention, kActivation, kAdd, kSelect, kSoftcap, kRopeStore, kSample, kAdvanceRun };

// Which instance of a body's template a launch runs.
struct BodyKey {
  Body body;
  uint32_t type;   // of a product's or table's weights, or of the cache: M40_TYPE_*
  uint32_t other;  // a product's second type, or the same
  uint32_t shape;  // a product's tokens; attention's lanes of a row * 16 + heads of a block; else 0

  __host__ __device__ constexpr bool operator==(const BodyKey& to) const {
    return body == to.body && type == to.type && other == to.other && shape == to.shape;
  }
};

constexpr uint32_t most_body_args = 320;  // bytes

struct alignas(16) BodyLaunch {
  BodyKey key;
  GridSize grid;
  uint32_t n_blocks;  // of the grid, whose numbers run over x first
  alignas(16) uint8_t args[most_body_args];

  template <class Args>
  __host__ __device__ const Args& args_as() const {
    static_assert(sizeof(Args) <= most_body_args, "larger than the largest");
    return *reinterpret_cast<const Args*>(args);
  }
};

}  // namespace m40::cuda

#endif
