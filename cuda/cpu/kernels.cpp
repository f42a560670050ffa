// Which instruction sets there are, and half precision one number at a time.
#include "kernels.h"

#include <string.h>

#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace m40::reference {

// A build for one processor leaves out those that it does not run: their addresses are null.
#define M40_WEAK __attribute__((weak, visibility("hidden")))
extern const Kernels kernels_baseline M40_WEAK;
#if defined(__x86_64__)
extern const Kernels kernels_avx M40_WEAK, kernels_avx2 M40_WEAK, kernels_avx512 M40_WEAK;
#endif

namespace {

struct InstructionSet {
  const char* name;
  const Kernels* kernels;  // nullptr where the build lacks it
};

// Best first.
const InstructionSet kInstructionSets[] = {
#if defined(__x86_64__)
    {"avx512", &kernels_avx512}, {"avx2", &kernels_avx2}, {"avx", &kernels_avx},
#endif
    {"baseline", &kernels_baseline},
};

#if defined(__x86_64__)
// Not a name that every compiler's __builtin_cpu_supports knows.
bool has_f16c() {
  unsigned a, b, c = 0, d;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

bool processor_has(const Kernels* kernels) {
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
  if (kernels == &kernels_avx) return __builtin_cpu_supports("avx");
  if (kernels == &kernels_avx2) return avx2;
  if (kernels == &kernels_avx512) {
    return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  }
#endif
  return kernels == &kernels_baseline;
}

}  // namespace

const Kernels* kernels_by_name(const char* name) {
  for (const InstructionSet& set : kInstructionSets) {
    const bool wanted = name[0] == 0 || strcmp(name, set.name) == 0;
    if (wanted && set.kernels != nullptr && processor_has(set.kernels)) return set.kernels;
  }
  return nullptr;
}

std::string kernels_in_build() {
  std::string names;
  for (const InstructionSet& set : kInstructionSets) {
    if (set.kernels != nullptr) names += (names.empty() ? "" : ", ") + std::string(set.name);
  }
  return names;
}

size_t scratch_floats(size_t) { return kScratchFloats; }

float half_to_float(uint16_t half) {
  // The exponent moves from bias 15 to 127. A subnormal half is a normal float: give it the exponent of 2^-14
  // and its hidden bit, then subtract 2^-14. The largest exponent stands for infinity.
  const uint32_t exponent = half & 0x7C00u;
  uint32_t word = (half & 0x7FFFu) << 13;
  word += (exponent == 0x7C00 ? 224u : exponent == 0 ? 113u : 112u) << 23;
  float value;
  memcpy(&value, &word, 4);
  if (exponent == 0) value -= 6.103515625e-05f;
  return half & 0x8000 ? -value : value;
}

uint16_t float_to_half(float value) {
  uint32_t word;
  memcpy(&word, &value, 4);
  const uint16_t sign = static_cast<uint16_t>(word >> 16 & 0x8000);
  word &= 0x7FFFFFFF;
  if (word > 0x7F800000) return static_cast<uint16_t>(sign | 0x7E00 | (word >> 13 & 0x1FF));  // not a number
  if (word >= 0x477FF000) return static_cast<uint16_t>(sign | 0x7C00);  // 65520 and more round to infinity
  if (word < 0x38800000) {  // below 2^-14: adding 0.5 leaves multiples of 2^-24, rounded as the addition rounds
    float magnitude;
    memcpy(&magnitude, &word, 4);
    magnitude += 0.5f;
    memcpy(&word, &magnitude, 4);
    return static_cast<uint16_t>(sign | (word - 0x3F000000));
  }
  word += 0xFFF + (word >> 13 & 1);
  return static_cast<uint16_t>(sign | ((word - (112u << 23)) >> 13));
}

float bfloat16_to_float(uint16_t value) {
  const uint32_t word = static_cast<uint32_t>(value) << 16;
  float result;
  memcpy(&result, &word, 4);
  return result;
}

}  // namespace m40::reference
