// The kernels that a tensor type's products of decoded tokens are made of. Each type is instantiated in one of
// matmul_{blocks,k,float}.cu, so that compilers can share the work.
#ifndef M40_OPS_MATMUL_LAUNCH_CUH
#define M40_OPS_MATMUL_LAUNCH_CUH

#include "../kernels/matmul_decode_tiled.cuh"
#include "../kernels/matmul_experts.cuh"
#include "rare_types.h"

namespace m40::cuda {

// Tokens that a thread block of the decode kernels takes, of those compiled: for as many as there are. More than two
// want columns that can be loaded four at a time. Of a rare type with several tokens, they can.
inline uint32_t decode_tokens(uint32_t type, uint32_t n_tokens, bool aligned) {
  if (n_tokens <= 1) return 1;
  if (is_rare(type)) return n_tokens <= 4 ? 4 : 8;
  if (n_tokens <= 2 || !aligned) return 2;
  if (is_float(type)) return n_tokens <= 4 ? 4 : n_tokens <= 16 ? 8 : 32;
  return n_tokens <= 4 ? 4 : n_tokens <= 8 || !multiplies_sixteen(type) ? 8 : 16;
}
// Whether types may share a launch. With eight tokens or more, a kernel of two types would have the registers of the
// costlier one, and half the thread blocks: that takes longer than a second launch.
constexpr bool decode_pairs(uint32_t n_tokens) { return n_tokens <= 4; }
// Groups of 32 rows that a warp takes, with as many thread blocks as fours of them would make: four share the most
// work, two make more warps where there would be too few for a card's multiprocessors.
inline uint32_t decode_row_groups(uint32_t tokens, uint64_t n_blocks, uint32_t multiprocessors) {
  return tokens <= 2 && 2 * n_blocks < 3 * uint64_t{multiprocessors} ? 2 : 4;
}

// Thread blocks with a prologue that a multiprocessor runs at a time, of most types.
constexpr uint32_t decode_blocks_at_once(uint32_t row_groups) { return row_groups == 2 ? 3 : 2; }

struct MatmulDecodeLaunch {
  uint32_t tokens;      // decode_tokens()
  uint32_t row_groups;  // decode_row_groups()
  uint32_t n_blocks;    // thread blocks
  uint32_t prologue;    // MatmulPrologue::Kind; for one token
};

// The weights are of kType or of kOther: of a pair that is compiled, or both the same.
template <uint32_t kType, uint32_t kOther>
void launch_decode(const MatmulDecodeArgs& args, const MatmulDecodeLaunch& launch, cudaStream_t stream);
// row_groups: as of decode_row_groups(); two where each slot is a tile alone.
template <uint32_t kType>
void launch_experts(const MatmulExpertsArgs& args, uint32_t row_groups, cudaStream_t stream);

// Thread blocks a processor that the compiler is to leave registers for: as many as it can without spilling.
template <uint32_t kType>
constexpr int decode_residency(int tokens, int row_groups) {
  constexpr bool costly = is_rare(kType) || kType == M40_TYPE_Q2_K || kType == M40_TYPE_Q3_K || kType == M40_TYPE_Q5_K || kType == M40_TYPE_IQ4_NL || kType == M40_TYPE_IQ4_XS;
  constexpr bool two_parts = kType == M40_TYPE_Q6_K || kType == M40_TYPE_IQ2_XXS || kType == M40_TYPE_IQ2_XS || kType == M40_TYPE_IQ2_S || kType == M40_TYPE_IQ1_M;
  if (row_groups == 2) return tokens == 1 && kType != M40_TYPE_F32 ? 4 : kType == M40_TYPE_F32 ? 2 : 3;
  if (kType == M40_TYPE_F32) return tokens == 2 ? 2 : 1;
  if (tokens == 16) return 1;
  if (tokens == 8) return two_parts ? 1 : 2;
  return tokens == 4 && costly ? 1 : 2;
}

// Types that share a launch: llama.cpp's mixes have v in a finer type than q and k.
#define M40_MATMUL_PAIRS(pair) pair(Q4_K, Q6_K) pair(Q5_K, Q6_K)

#ifdef M40_MATMUL_INSTANTIATE

template <uint32_t kType, uint32_t kOther, int T, int R, int kPrologue = no_prologue>
void launch_decode_as(const MatmulDecodeArgs& args, const MatmulDecodeLaunch& launch, cudaStream_t stream) {
  // A prologue takes some registers more.
  constexpr int kEither = decode_residency<kType>(T, R), kFull = kEither < decode_residency<kOther>(T, R) ? kEither : decode_residency<kOther>(T, R);
  constexpr int kResidency = (kPrologue != no_prologue || kType != kOther) && R == 2 && kFull > 2 ? kFull - 1 : kFull;
  M40_LAUNCH((matmul_decode_kernel<kType, T, R, kPrologue, kResidency, kOther>), dim3(launch.n_blocks), dim3(decode_split_parts * 32), 0, stream, args);
}

template <uint32_t kType, uint32_t kOther, int T, int R>
void launch_with_prologue(const MatmulDecodeArgs& args, const MatmulDecodeLaunch& launch, cudaStream_t stream) {
  switch (launch.prologue) {
    case norm_prologue: return launch_decode_as<kType, kOther, T, R, norm_prologue>(args, launch, stream);
    case activation_prologue: return launch_decode_as<kType, kOther, T, R, activation_prologue>(args, launch, stream);
    default: return launch_decode_as<kType, kOther, T, R>(args, launch, stream);
  }
}

// Of a type that is not rare.
template <uint32_t kType, uint32_t kOther>
void launch_common(const MatmulDecodeArgs& args, const MatmulDecodeLaunch& launch, cudaStream_t stream) {
  switch (launch.tokens * 8 + launch.row_groups) {
    case 1 * 8 + 2: return launch_with_prologue<kType, kOther, 1, 2>(args, launch, stream);
    case 1 * 8 + 4: return launch_with_prologue<kType, kOther, 1, 4>(args, launch, stream);
    case 2 * 8 + 2: return launch_decode_as<kType, kOther, 2, 2>(args, launch, stream);
    case 2 * 8 + 4: return launch_decode_as<kType, kOther, 2, 4>(args, launch, stream);
    case 4 * 8 + 4: return launch_decode_as<kType, kOther, 4, 4>(args, launch, stream);
    case 8 * 8 + 4:
      if constexpr (kType == kOther || decode_pairs(8)) launch_decode_as<kType, kOther, 8, 4>(args, launch, stream);
      return;
    default:
      if constexpr (is_float(kType)) {
        M40_LAUNCH((matmul_decode_tiled_kernel<kType>), dim3(launch.n_blocks), dim3(decode_split_parts * 32), 0, stream, args);
      } else if constexpr (kType == kOther && multiplies_sixteen(kType)) {
        launch_decode_as<kType, kOther, 16, 4>(args, launch, stream);
      }
  }
}

template <uint32_t kType, uint32_t kOther>
void launch_decode(const MatmulDecodeArgs& args, const MatmulDecodeLaunch& launch, cudaStream_t stream) {
  if constexpr (is_rare(kType)) {
    switch (launch.tokens) {
      case 1: return launch_decode_as<kType, kOther, 1, 4>(args, launch, stream);
      case 4: return launch_decode_as<kType, kOther, 4, 4>(args, launch, stream);
      default: return launch_decode_as<kType, kOther, 8, 4>(args, launch, stream);
    }
  } else {
    launch_common<kType, kOther>(args, launch, stream);
  }
}

// Slots that a thread block multiplies at a time: as many as leave registers for two blocks, as one slot alone wants
// them.
template <uint32_t kType>
constexpr int expert_most_tokens(ExpertRows rows) {
  switch (kType) {
    case M40_TYPE_Q4_1: case M40_TYPE_Q4_K: case M40_TYPE_Q8_0: case M40_TYPE_F16: case M40_TYPE_BF16: return 8;
    case M40_TYPE_Q4_0: case M40_TYPE_MXFP4: return rows == ExpertRows::kRests ? 4 : 8;
    case M40_TYPE_IQ3_XXS: return 2;
    default: return 4;
  }
}

template <uint32_t kType>
constexpr int expert_residency(int row_groups) {
  if (row_groups == 2) return kType == M40_TYPE_Q5_K ? 3 : decode_residency<kType>(1, 2);
  return kType == M40_TYPE_F32 ? 1 : 2;
}

template <uint32_t kType>
void launch_experts(const MatmulExpertsArgs& args, uint32_t row_groups, cudaStream_t stream) {
  static_assert(Format<kType>::kSumsParts != is_float(kType), "planning knows");
  const dim3 grid(args.row_blocks * (args.groups.tiles == nullptr ? args.groups.n_slots : args.groups.n_tiles));
  constexpr int kMost = expert_most_tokens<kType>(ExpertRows::kTiles), kMostRests = expert_most_tokens<kType>(ExpertRows::kRests);
  if (row_groups == 2) {
    M40_LAUNCH((matmul_experts_kernel<kType, 2, 1, ExpertRows::kAlone, expert_residency<kType>(2)>), grid, dim3(expert_threads), 0, stream, args);
    return;
  }
  if constexpr (!is_float(kType) && multiplies_rests(kType)) {
    // Of floats, both kernels are the same.
    if (args.parts == 1) {
      M40_LAUNCH((matmul_experts_kernel<kType, 4, kMostRests, ExpertRows::kRests, expert_residency<kType>(4)>), grid, dim3(expert_threads), 0, stream, args);
      return;
    }
  }
  M40_LAUNCH((matmul_experts_kernel<kType, 4, kMost, ExpertRows::kTiles, expert_residency<kType>(4)>), grid, dim3(expert_threads), 0, stream, args);
}

#define M40_MATMUL_PAIR(name, other) template void launch_decode<M40_TYPE_##name, M40_TYPE_##other>(const MatmulDecodeArgs&, const MatmulDecodeLaunch&, cudaStream_t);

#define M40_MATMUL_TYPE(name)                                                                              \
  template void launch_decode<M40_TYPE_##name, M40_TYPE_##name>(const MatmulDecodeArgs&, const MatmulDecodeLaunch&, cudaStream_t); \
  template void launch_experts<M40_TYPE_##name>(const MatmulExpertsArgs&, uint32_t, cudaStream_t);

#endif

}  // namespace m40::cuda

#endif
