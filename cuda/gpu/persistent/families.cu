#include "families.h"

#include <type_traits>

#include "family_launch.cuh"

namespace m40::cuda {

namespace {

// Calls f with a family, and its number, for each of them, until it answers true.
template <class Function>
bool any_family(const Function& f) {
  return f(FamilyK(), 0u) || f(FamilyQ8(), 1u) || f(FamilyF16(), 2u) || f(FamilyF32(), 3u);
}

// What no kernel has of a launch: nullptr where its arguments are those of a body here.
const char* lacks_arguments(const BodyLaunch& launch) {
  if (launch.key.body == Body::kNorm && !norm_halves_does(launch.args_as<NormArgs>())) return "norm with more than a weight";
  if (launch.key.body == Body::kRopeStore && rope_shared_floats(launch.args_as<RopeKernelArgs>()) > resident_rope_floats) {
    return "rope_to_cache_kernel of large heads";
  }
  return nullptr;
}

// Whether a kernel of that family and number of tokens has a body's instance.
template <class Family>
bool has(Family, uint32_t tokens, const BodyKey& key) {
  const auto of_family = [](uint32_t type) { return type == Family::first || type == Family::second; };
  switch (key.body) {
    case Body::kEmbed: return of_family(key.type);
    case Body::kProduct:
      if (key.shape != tokens) return false;
      if (key.type == key.other) return of_family(key.type);
      return tokens != 8 && key.type == Family::first && key.other == Family::second;
    case Body::kAttention: {
      const uint32_t lanes = key.shape / 16, heads = key.shape % 16;
      return key.type == resident_cache && (lanes == 8 || lanes == 16) && (heads == 1 || heads == 2 || heads == 4);
    }
    case Body::kRopeStore: return key.type == resident_cache;
    default: return true;
  }
}

const char* name_of(Body body) {
  switch (body) {
    case Body::kEmbed: return "an embedding";
    case Body::kNorm: return "a norm";
    case Body::kProduct: return "a product";
    case Body::kAttention: return "an attention";
    case Body::kActivation: return "an activation";
    case Body::kAdd: return "a sum";
    case Body::kSelect: return "a selection of rows";
    case Body::kSoftcap: return "a cap";
    case Body::kRopeStore: return "a rotation";
    case Body::kSample: return "sampling";
    case Body::kAdvanceRun: return "the way to a run's next step";
  }
  return "something";
}

template <class Function>
auto for_kernel(const ResidentKernel& kernel, const Function& f) {
  const auto of_family = [&](auto family) {
    switch (kernel.tokens) {
      case 1: return f(family, std::integral_constant<int, 1>());
      case 2: return f(family, std::integral_constant<int, 2>());
      case 4: return f(family, std::integral_constant<int, 4>());
      default: return f(family, std::integral_constant<int, 8>());
    }
  };
  switch (kernel.family) {
    case 0: return of_family(FamilyK());
    case 1: return of_family(FamilyQ8());
    case 2: return of_family(FamilyF16());
    default: return of_family(FamilyF32());
  }
}

}  // namespace

bool find_resident_kernel(const LaunchList& list, ResidentKernel* kernel, std::string* why) {
  std::string missing = list.missing();
  for (const BodyLaunch& launch : list.launches()) {
    if (const char* lacks = lacks_arguments(launch); lacks != nullptr && missing.empty()) missing = lacks;
  }
  if (!missing.empty()) {
    *why = "it launches " + missing;
    return false;
  }
  if (list.launches().empty()) {
    *why = "it launches nothing";
    return false;
  }
  // Of the family that supports the most of it: the message names what that one lacks.
  size_t most = 0;
  const BodyKey* lacks = nullptr;
  const bool found = any_family([&](auto family, uint32_t number) {
    size_t n = 0;
    while (n < list.launches().size() && has(family, list.tokens(), list.launches()[n].key)) n++;
    if (n == list.launches().size()) {
      *kernel = {number, list.tokens()};
      return true;
    }
    if (lacks == nullptr || n > most) {
      most = n;
      lacks = &list.launches()[n].key;
    }
    return false;
  });
  if (!found) {
    *why = std::string("there is no kernel with ") + name_of(lacks->body) + " of its types (" + std::to_string(lacks->type) + ", " +
           std::to_string(lacks->other) + ", " + std::to_string(lacks->shape) + ")";
  }
  return found;
}

uint32_t resident_blocks(const ResidentKernel& kernel) {
  return for_kernel(kernel, [](auto family, auto tokens) { return blocks_of_resident<decltype(family), decltype(tokens)::value>(); });
}

void launch_resident(const ResidentKernel& kernel, const ResidentArgs& args, uint32_t blocks, cudaStream_t stream) {
  for_kernel(kernel, [&](auto family, auto tokens) { launch_resident_of<decltype(family), decltype(tokens)::value>(args, blocks, stream); });
}

}  // namespace m40::cuda
