// Checks the products of packed weights against float64 and times them.
//
//   matmul_bench check packed     products with packed pairs, bit for bit against sums of integers
//   matmul_bench check [prompt]   every tensor type, awkward shapes, 1 to 33 tokens, bit for bit across token counts and
//                                 runs; only the kernels of prompts
//   matmul_bench time [TYPE...]   the matrices of a 7B layer, in graphs over weights larger than any L2
//   matmul_bench prompt [TYPE...] the same with the kernels of prompts, from 16 tokens on
//   matmul_bench experts [TYPE...] products with the experts of a layer, of decoded tokens and of prompts
//   matmul_bench packed [TYPE...] products with packed pairs beside those in FP32
//   matmul_bench mix [TOKENS...]  a whole stack of layers at matmul cost alone, for Q4_K_M, Q8_0 and F16
//
// Needs the reference library's unpacking: link kernels.cpp and the four kernels_*.cpp beside it.
#include "matmul_check.h"
#include "matmul_packed_check.h"
#ifndef M40_EMULATED
#include "matmul_packed_times.h"
#include "matmul_times.h"
#endif

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "check";
  if (what == "check") {
    if (argc <= 2 || std::string(argv[2]) != "packed") check_prompts();
    if (argc <= 2) check_decode();
    if (argc <= 2 || std::string(argv[2]) == "packed") check_all_packed();
    printf("%d checks, %d failed\n", checks, failures);
    return failures != 0;
  }
#ifndef M40_EMULATED
  const Buffers b = make_buffers();
  if (what == "time" || what == "prompt" || what == "experts" || what == "packed") {
    const bool prompt = what == "prompt";
    const std::vector<uint32_t> counts = prompt ? std::vector<uint32_t>{16, 32, 64, 128, 256, 512, 1024} : std::vector<uint32_t>{1, 2, 4, 8, 16, 32, 512, 2048};
    std::vector<uint32_t> types = {M40_TYPE_Q4_K, M40_TYPE_Q6_K, M40_TYPE_Q8_0, M40_TYPE_Q4_0, M40_TYPE_F16};
    if (argc > 2) types.clear();
    for (int i = 2; i < argc; i++) {
      for (const TensorType& t : tensor_types) {
        if (t.name == std::string(argv[i])) types.push_back(t.id);
      }
    }
    for (uint32_t type : types) {
      if (what == "packed") {
        if (has_packed_pairs(type)) time_packed(b, type, {1, 2, 4, 8, 16, 64, 128, 512});
        continue;
      }
      if (what != "experts") time_type(b, type, counts, prompt);
      for (const ExpertLayer& l : expert_layers) {
        if (what != "experts") continue;
        for (bool packed : {false, true}) {
          if (packed && !has_packed_pairs(type)) continue;
          time_experts(b, type, l, {1, 2, 4, 8, 16, 32}, false, packed);
          time_experts(b, type, l, {16, 64, 512}, true, packed);
        }
      }
    }
  }
  if (what == "mix") {
    std::vector<uint32_t> counts = {1, 2, 4, 8, 16, 32, 512};
    if (argc > 2) counts.clear();
    for (int i = 2; i < argc; i++) counts.push_back(static_cast<uint32_t>(atoi(argv[i])));
    // Q4_K_M keeps attn_v and ffn_down of half the layers, and the logits, in Q6_K.
    time_mix(b, "Q4_K_M", [](int l, const std::string& t) {
      const bool more = l < 4 || l >= 28 || (l - 4) % 3 == 2;
      return t == "logits" || ((t == "v" || t == "down") && more) ? uint32_t{M40_TYPE_Q6_K} : uint32_t{M40_TYPE_Q4_K};
    }, counts);
    time_mix(b, "Q8_0", [](int, const std::string&) { return uint32_t{M40_TYPE_Q8_0}; }, counts);
    time_mix(b, "F16", [](int, const std::string&) { return uint32_t{M40_TYPE_F16}; }, counts);
  }
#endif
  return 0;
}
