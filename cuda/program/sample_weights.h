// The arithmetic of shaped sampling (see m40_sampling), the same in every library.
//
// The sampled token follows from sums over all tokens, and each library has its own order of additions. So the addends
// are whole numbers. They are computed here by sums, products and quotients of IEEE 754 alone, none of them fused:
// every library gets the same bits, and samples the same token.
#ifndef M40_RUNTIME_SAMPLE_WEIGHTS_H
#define M40_RUNTIME_SAMPLE_WEIGHTS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "../include/m40.h"

#ifdef __CUDACC__
#define M40_ANYWHERE __host__ __device__ __forceinline__
#else
#define M40_ANYWHERE inline
#endif

namespace m40 {

// The vocabulary of which sums still fit 64 bits.
constexpr uint32_t most_shaped_tokens = 1u << 22;

M40_ANYWHERE bool is_shaped(const m40_sampling& s) {
  return s.temperature != 0 && (s.typical_p < 1 || s.xtc_probability > 0 || s.dynatemp_range > 0 || s.mirostat != 0);
}

namespace exact {

// Sources of the CPU library and of the host are compiled without contraction (build_kernels.ts).
#ifdef __CUDA_ARCH__
#define M40_ON_DEVICE(device, host) device
#else
#define M40_ON_DEVICE(device, host) host
#endif
M40_ANYWHERE double plus(double a, double b) { return M40_ON_DEVICE(__dadd_rn(a, b), a + b); }
M40_ANYWHERE double times(double a, double b) { return M40_ON_DEVICE(__dmul_rn(a, b), a * b); }
M40_ANYWHERE double over(double a, double b) { return M40_ON_DEVICE(__ddiv_rn(a, b), a / b); }
M40_ANYWHERE double to_double(uint64_t a) { return M40_ON_DEVICE(__ull2double_rn(a), static_cast<double>(a)); }
// Of what is below 2^63.
M40_ANYWHERE uint64_t to_whole(double a) { return M40_ON_DEVICE(__double2ull_rz(a), static_cast<uint64_t>(a)); }
M40_ANYWHERE uint64_t high_product(uint64_t a, uint64_t b) {
  return M40_ON_DEVICE(__umul64hi(a, b), static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b >> 64));
}
#undef M40_ON_DEVICE

M40_ANYWHERE uint64_t bits_of(double a) {
  uint64_t bits;
  memcpy(&bits, &a, sizeof bits);
  return bits;
}
M40_ANYWHERE double of_bits(uint64_t bits) {
  double a;
  memcpy(&a, &bits, sizeof a);
  return a;
}

constexpr double ln2 = 0.693147180559945309417;

// e^-x for x from 0 to 700, to within 2^-50 of it.
M40_ANYWHERE double exp_of_minus(double x) {
  // The nearest whole number of ln 2, which is in two parts; the first times any such number is exact.
  constexpr double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
  const double n = floor(plus(times(x, 1 / ln2), 0.5));
  const double rest = plus(times(n, ln2_low), plus(times(n, ln2_high), -x));
  // e^rest, |rest| <= 0.35, by its series.
  double sum = 1;
  for (int i = 12; i > 0; i--) sum = plus(1, times(sum, times(rest, 1.0 / i)));
  return times(sum, of_bits(static_cast<uint64_t>(1023 - static_cast<int>(n)) << 52));
}

// ln x for x that is normal, to within 2^-50 of the larger of it and 1.
M40_ANYWHERE double log(double x) {
  const uint64_t bits = bits_of(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double mantissa = of_bits((bits & 0x000FFFFFFFFFFFFFull) | 0x3FF0000000000000ull);
  if (mantissa > 1.4142135623730951) {
    mantissa = times(mantissa, 0.5);
    exponent++;
  }
  // 2 artanh((m - 1) / (m + 1)) by its series; the quotient is at most 0.172.
  const double s = over(plus(mantissa, -1), plus(mantissa, 1));
  const double square = times(s, s);
  double sum = 0;
  for (int i = 23; i > 0; i -= 2) sum = plus(1.0 / i, times(sum, square));
  return plus(times(exponent, ln2), times(times(2, s), sum));
}

}  // namespace exact

// How likely tokens are relative to the likeliest, as whole numbers: that one has `unit`.
struct ShapedWeights {
  static constexpr uint64_t unit = 1ull << 41;
  double best;         // its logit
  double temperature;  // above 0

  // By how many nats a token is less likely.
  M40_ANYWHERE double depth(float logit) const { return exact::over(exact::plus(best, -static_cast<double>(logit)), temperature); }
  M40_ANYWHERE static uint64_t of_depth(double depth) {
    if (!(depth < 30)) return 0;  // it would be less than a half
    return exact::to_whole(exact::plus(exact::times(exact::exp_of_minus(depth), static_cast<double>(unit)), 0.5));
  }
  M40_ANYWHERE uint64_t of(float logit) const { return of_depth(depth(logit)); }
  // weight * depth, of which the entropy is made.
  M40_ANYWHERE static uint64_t moment(uint64_t weight, double depth) {
    return weight == 0 ? 0 : exact::to_whole(exact::plus(exact::times(exact::to_double(weight), depth), 0.5));
  }
};

// What tokens come to together.
struct ShapedSums {
  uint64_t weight;
  uint64_t moment;
  uint32_t n_tokens;
};

// Weights from this on pass min_p. Those of 0 never do.
M40_ANYWHERE uint64_t least_weight(float min_p) {
  const double least = ceil(exact::times(static_cast<double>(min_p), static_cast<double>(ShapedWeights::unit)));
  return least < 1 ? 1 : exact::to_whole(least);
}

// What a sum has to be more than to reach a share above 0 of a total.
M40_ANYWHERE uint64_t below_share(uint64_t total, float share) {
  const double wanted = ceil(exact::times(exact::to_double(total), static_cast<double>(share)));
  const uint64_t whole = exact::to_whole(wanted);
  return (whole < total ? whole : total) - 1;
}

// The bound that the running sum has to exceed at the sampled token.
M40_ANYWHERE uint64_t draw_target(uint64_t total, uint32_t random) { return exact::high_product(total, static_cast<uint64_t>(random) << 32); }

// The order in which locally typical sampling keeps tokens: by how far their surprise is from the one expected. Both
// have the logarithm of the sum of all in them, so depths do as well.
struct TypicalOrder {
  uint64_t expected;  // whole 2^-24ths of a nat

  M40_ANYWHERE static uint64_t fixed(double depth) { return exact::to_whole(exact::plus(exact::times(depth, 16777216.0), 0.5)); }
  M40_ANYWHERE static TypicalOrder among(const ShapedSums& sums) {
    return {fixed(exact::over(exact::to_double(sums.moment), exact::to_double(sums.weight)))};
  }
  // Of a token with a weight other than 0. Rises from the tokens that are kept first on.
  M40_ANYWHERE uint64_t key(double depth, uint32_t token) const {
    const uint64_t at = fixed(depth);
    const uint64_t distance = at > expected ? at - expected : expected - at;
    return distance << 32 | token;
  }
};

// Whether XTC leaves out the likeliest tokens this time.
M40_ANYWHERE bool xtc_acts(const m40_sampling& s, uint32_t random) {
  return exact::times(random, 1.0 / 4294967296.0) < static_cast<double>(s.xtc_probability);
}
// The weight from which on tokens count as the likeliest.
M40_ANYWHERE bool xtc_reaches(const m40_sampling& s, uint64_t weight, uint64_t total) {
  return exact::to_double(weight) >= exact::times(static_cast<double>(s.xtc_threshold), exact::to_double(total));
}

// Nats: the logarithm of all tokens' weight over the likeliest's.
M40_ANYWHERE double log_of_sum(uint64_t weight) { return exact::log(exact::over(exact::to_double(weight), static_cast<double>(ShapedWeights::unit))); }

// The temperature that follows from what the tokens that are left come to at temperature 1.
M40_ANYWHERE double dynamic_temperature(const m40_sampling& s, const ShapedSums& sums) {
  const double middle = static_cast<double>(s.temperature), range = static_cast<double>(s.dynatemp_range);
  const double low = middle > range ? exact::plus(middle, -range) : 0;
  if (sums.n_tokens < 2) return low;
  const double entropy = exact::plus(log_of_sum(sums.weight), exact::over(exact::to_double(sums.moment), exact::to_double(sums.weight)));
  double share = exact::over(entropy, exact::log(sums.n_tokens));
  share = share < 0 ? 0 : share > 1 ? 1 : share;
  if (s.dynatemp_exponent != 1 && share > 0) {
    const double less = exact::times(static_cast<double>(s.dynatemp_exponent), -exact::log(share));
    share = less > 700 ? 0 : exact::exp_of_minus(less);
  }
  return exact::plus(low, exact::times(exact::plus(exact::plus(middle, range), -low), share));
}

// The depth down to which a token's surprise is at most mu bits, among tokens of that weight. Below 0 where no token's
// is.
M40_ANYWHERE double mirostat_depth(const m40_sampling& s, uint64_t weight) {
  return exact::plus(exact::times(static_cast<double>(s.mirostat_mu), exact::ln2), -log_of_sum(weight));
}
// In bits.
M40_ANYWHERE float surprise(uint64_t weight, double depth) { return static_cast<float>(exact::over(exact::plus(log_of_sum(weight), depth), exact::ln2)); }

}  // namespace m40

#endif
