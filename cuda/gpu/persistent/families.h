// The persistent kernels of kernel.cuh: one for each family of weight types and number of tokens.
#ifndef M40_PERSISTENT_FAMILIES_H
#define M40_PERSISTENT_FAMILIES_H

#include "../../ops/launch_list.h"
#include "mailbox.cuh"

namespace m40::cuda {

struct ResidentKernel {
  uint32_t family;
  uint32_t tokens;  // that a thread block's product takes: 1, 2, 4 or 8

  bool operator==(const ResidentKernel& to) const { return family == to.family && tokens == to.tokens; }
};

// Tokens that a thread block's product takes in a step of so many.
inline uint32_t resident_tokens(uint32_t n_tokens) { return n_tokens <= 2 ? n_tokens : n_tokens <= 4 ? 4 : 8; }

// The kernel that has bodies for all of the list's launches. False where there is none, and why.
bool find_resident_kernel(const LaunchList& list, ResidentKernel* kernel, std::string* why);

// How many of its thread blocks are on the device at a time; 0 where not even one is.
uint32_t resident_blocks(const ResidentKernel& kernel);

// blocks: at most so many. The arguments' state is 0.
void launch_resident(const ResidentKernel& kernel, const ResidentArgs& args, uint32_t blocks, cudaStream_t stream);

}  // namespace m40::cuda

#endif
