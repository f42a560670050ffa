// The types whose weights packed arithmetic multiplies as integers, a struct each. Lanes are rows of the weight: a
// vector has what kLanes rows have at one place.
//
// A weight is scale * (q - kOffset), plus a minimum in some types; all of q - kOffset are within -8 and 8 (12: MXFP4).
// pairs() gives q, two columns a lane as 16-bit integers: those of word j of 16 bytes are columns 4j and 4j + 2, then
// 4j + 1 and 4j + 3. A minimum is what is added where q counts from kOffset: m + kOffset * scale, rounded once.
#ifndef M40_REFERENCE_PACKED_FORMATS_H
#define M40_REFERENCE_PACKED_FORMATS_H

#include "block_formats.h"
#include "fp4_formats.h"

namespace m40::reference {
namespace {

// ---- lanes that are rows ----------------------------------------------------------------------------

// A row of each lane, at the block that is unpacked.
struct Rows {
  const uint8_t* at[kLanes];

  M40_INLINE Rows from(size_t offset) const {
    Rows moved;
    M40_UNROLL for (int l = 0; l < kLanes; l++) moved.at[l] = at[l] + offset;
    return moved;
  }
};

// The 16 bytes at an offset of each row: words[j] has each row's word j.
M40_INLINE void load_words(const Rows& rows, size_t offset, Ints words[4]) {
#if defined(__SSE2__)
  const auto four = [&](int l) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows.at[l] + offset)); };
#if defined(__AVX512F__)
  __m512i v[4];
  M40_UNROLL for (int i = 0; i < 4; i++) {
    v[i] = _mm512_castsi128_si512(four(i));
    v[i] = _mm512_inserti32x4(v[i], four(i + 4), 1);
    v[i] = _mm512_inserti32x4(v[i], four(i + 8), 2);
    v[i] = _mm512_inserti32x4(v[i], four(i + 12), 3);
  }
  const __m512i a = _mm512_unpacklo_epi32(v[0], v[1]), b = _mm512_unpacklo_epi32(v[2], v[3]);
  const __m512i c = _mm512_unpackhi_epi32(v[0], v[1]), d = _mm512_unpackhi_epi32(v[2], v[3]);
  words[0] = (Ints)_mm512_unpacklo_epi64(a, b), words[1] = (Ints)_mm512_unpackhi_epi64(a, b);
  words[2] = (Ints)_mm512_unpacklo_epi64(c, d), words[3] = (Ints)_mm512_unpackhi_epi64(c, d);
#elif defined(__AVX2__)
  __m256i v[4];
  M40_UNROLL for (int i = 0; i < 4; i++) v[i] = _mm256_inserti128_si256(_mm256_castsi128_si256(four(i)), four(i + 4), 1);
  const __m256i a = _mm256_unpacklo_epi32(v[0], v[1]), b = _mm256_unpacklo_epi32(v[2], v[3]);
  const __m256i c = _mm256_unpackhi_epi32(v[0], v[1]), d = _mm256_unpackhi_epi32(v[2], v[3]);
  words[0] = (Ints)_mm256_unpacklo_epi64(a, b), words[1] = (Ints)_mm256_unpackhi_epi64(a, b);
  words[2] = (Ints)_mm256_unpacklo_epi64(c, d), words[3] = (Ints)_mm256_unpackhi_epi64(c, d);
#else
  __m128i out[kLanes / 4][4];
  M40_UNROLL for (int h = 0; h < kLanes / 4; h++) {
    const __m128i a = _mm_unpacklo_epi32(four(4 * h), four(4 * h + 1)), b = _mm_unpacklo_epi32(four(4 * h + 2), four(4 * h + 3));
    const __m128i c = _mm_unpackhi_epi32(four(4 * h), four(4 * h + 1)), d = _mm_unpackhi_epi32(four(4 * h + 2), four(4 * h + 3));
    out[h][0] = _mm_unpacklo_epi64(a, b), out[h][1] = _mm_unpackhi_epi64(a, b);
    out[h][2] = _mm_unpacklo_epi64(c, d), out[h][3] = _mm_unpackhi_epi64(c, d);
  }
  M40_UNROLL for (int j = 0; j < 4; j++) {
#if defined(__AVX__)
    words[j] = (Ints)_mm256_setr_m128i(out[0][j], out[1][j]);
#else
    words[j] = (Ints)out[0][j];
#endif
  }
#endif
#else
  M40_UNROLL for (int j = 0; j < 4; j++) {
    M40_UNROLL for (int l = 0; l < kLanes; l++) words[j][l] = static_cast<int32_t>(load_u32(rows.at[l] + offset + 4 * j));
  }
#endif
}

// One word of each row.
M40_INLINE Ints load_word(const Rows& rows, size_t offset) {
  int32_t words[kLanes];
  M40_UNROLL for (int l = 0; l < kLanes; l++) words[l] = static_cast<int32_t>(load_u32(rows.at[l] + offset));
  Ints v;
  memcpy(&v, words, sizeof v);
  return v;
}

// The half-precision number at an offset of each row.
M40_INLINE Floats load_halves(const Rows& rows, size_t offset) {
  uint16_t halves[kLanes];
  M40_UNROLL for (int l = 0; l < kLanes; l++) memcpy(halves + l, rows.at[l] + offset, 2);
  return load_f16(reinterpret_cast<const uint8_t*>(halves));
}

// Byte b of each lane's word.
M40_INLINE Ints byte_at(Ints words, int b) { return words >> (8 * b) & 255; }

// a * b + c of 16-bit integers, two products a lane.
M40_INLINE Ints multiply_pairs(Ints a, Ints b) {
#if defined(__AVX512BW__)
  return (Ints)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
  return (Ints)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#elif defined(__AVX__)
  const __m256i x = (__m256i)a, y = (__m256i)b;
  return (Ints)_mm256_setr_m128i(_mm_madd_epi16(_mm256_castsi256_si128(x), _mm256_castsi256_si128(y)),
                                 _mm_madd_epi16(_mm256_extractf128_si256(x, 1), _mm256_extractf128_si256(y, 1)));
#elif defined(__SSE2__)
  return (Ints)_mm_madd_epi16((__m128i)a, (__m128i)b);
#else
  return ((a << 16) >> 16) * ((b << 16) >> 16) + (a >> 16) * (b >> 16);
#endif
}

// a * b + c, rounded once, with any instruction set.
M40_INLINE float fused(float a, float b, float c) {
#if defined(__FMA__) || defined(__aarch64__)
  return __builtin_fmaf(a, b, c);
#else
  // The product is exact in double precision. A sum that was rounded is made odd, as the exact one's neighbour that is
  // odd: so the last rounding is that of the exact sum.
  const double product = static_cast<double>(a) * b, sum = product + c;
  const double rest = sum - product, error = (product - (sum - rest)) + (c - rest);
  uint64_t bits;
  memcpy(&bits, &sum, 8);
  const bool special = (bits >> 52 & 0x7FF) == 0x7FF;
  if (!special && error != 0 && (bits & 1) == 0) bits += (error > 0) == (sum > 0) ? 1 : uint64_t{0} - 1;
  double odd;
  memcpy(&odd, &bits, 8);
  return static_cast<float>(odd);
#endif
}

M40_INLINE Floats fused(Floats a, Floats b, Floats c) {
#if defined(__FMA__) || defined(__aarch64__)
  return multiply_add(a, b, c);
#else
  float x[kLanes], y[kLanes], z[kLanes];
  store(x, a), store(y, b), store(z, c);
  for (int l = 0; l < kLanes; l++) z[l] = fused(x[l], y[l], z[l]);
  return load(z);
#endif
}

M40_INLINE Ints all(int32_t value) { return Ints{} + value; }

// ---- quants of a run, out of 16 bytes of each row ----------------------------------------------------

// Quants of as many bits as the mask has, from bit `shift` of each byte on.
M40_INLINE void split_bytes(const Ints words[4], int shift, int32_t mask, Ints* pairs) {
  const Ints wide = all(mask | mask << 16);
  M40_UNROLL for (int j = 0; j < 4; j++) {
    pairs[2 * j] = words[j] >> shift & wide;
    pairs[2 * j + 1] = words[j] >> (shift + 8) & wide;
  }
}

// Of 16 bytes a run, the block's second run after its first.
M40_INLINE void split_runs(const Rows& rows, size_t offset, int shift, int32_t mask, Ints (*to)[8]) {
  M40_UNROLL for (int run = 0; run < 2; run++) {
    Ints words[4];
    load_words(rows, offset + 16 * run, words);
    split_bytes(words, shift, mask, to[run]);
  }
}

// Of nibbles: the first run has the low ones of 16 bytes, the second the high ones.
M40_INLINE void split_nibbles(const Rows& rows, size_t offset, Ints (*to)[8]) {
  Ints words[4];
  load_words(rows, offset, words);
  split_bytes(words, 0, 15, to[0]);
  split_bytes(words, 4, 15, to[1]);
}

// ---- the types --------------------------------------------------------------------------------------

// When the minimums are added: a block of 32 columns has one, or each of its runs.
enum class Minimums { kNone, kOfBlocks, kOfRuns };

// Of a block of 32 columns and kLanes rows.
struct PackedScales {
  Floats scale[2], minimum[2];
};

struct PackedQ4_0 {
  static constexpr int kBlocks = 1, kBytes = 18, kOffset = 8;
  static constexpr Minimums kMinimums = Minimums::kNone;
  static M40_INLINE void scales(const Rows& rows, PackedScales* to) { to->scale[0] = to->scale[1] = load_halves(rows, 0); }
  static M40_INLINE void pairs(const Rows& rows, int, Ints (*to)[8]) { split_nibbles(rows, 2, to); }
};

struct PackedQ4_1 {
  static constexpr int kBlocks = 1, kBytes = 20, kOffset = 8;
  static constexpr Minimums kMinimums = Minimums::kOfBlocks;
  static M40_INLINE void scales(const Rows& rows, PackedScales* to) {
    const Floats d = load_halves(rows, 0);
    to->scale[0] = to->scale[1] = d;
    to->minimum[0] = fused(d, broadcast(8), load_halves(rows, 2));
  }
  static M40_INLINE void pairs(const Rows& rows, int, Ints (*to)[8]) { split_nibbles(rows, 4, to); }
};

struct PackedQ4_K {
  static constexpr int kBlocks = 8, kBytes = 144, kOffset = 8;
  static constexpr Minimums kMinimums = Minimums::kOfBlocks;
  static M40_INLINE void scales(const Rows& rows, PackedScales* to) {
    // scales_and_minimums() in block_formats.h has the layout of the 12 bytes.
    const Floats d = load_halves(rows, 0), dmin = load_halves(rows, 2);
    Ints words[4];
    load_words(rows, 0, words);
    const Ints a = words[1], b = words[2], c = words[3], low = all(0x0F0F0F0F), high = all(0x30303030);
    const Ints scale[2] = {a & 0x3F3F3F3F, (c & low) | (a >> 2 & high)};
    const Ints minimum[2] = {b & 0x3F3F3F3F, (c >> 4 & low) | (b >> 2 & high)};
    M40_UNROLL for (int g = 0; g < 8; g++) {
      const Floats sc = d * to_floats(byte_at(scale[g / 4], g % 4));
      to[g].scale[0] = to[g].scale[1] = sc;
      to[g].minimum[0] = fused(sc, broadcast(8), -(dmin * to_floats(byte_at(minimum[g / 4], g % 4))));
    }
  }
  static M40_INLINE void pairs(const Rows& rows, int group, Ints (*to)[8]) { split_runs(rows, 16 + group / 2 * 32, group % 2 * 4, 15, to); }
};

struct PackedQ2_K {
  static constexpr int kBlocks = 8, kBytes = 84, kOffset = 2;
  static constexpr Minimums kMinimums = Minimums::kOfRuns;
  static M40_INLINE void scales(const Rows& rows, PackedScales* to) {
    const Floats d = load_halves(rows, 80), dmin = load_halves(rows, 82);
    Ints words[4];
    load_words(rows, 0, words);
    M40_UNROLL for (int run = 0; run < 16; run++) {
      const Ints both = byte_at(words[run / 4], run % 4);
      const Floats sc = d * to_floats(both & 15);
      to[run / 2].scale[run % 2] = sc;
      to[run / 2].minimum[run % 2] = fused(sc, broadcast(2), -dmin * to_floats(both >> 4));
    }
  }
  static M40_INLINE void pairs(const Rows& rows, int group, Ints (*to)[8]) { split_runs(rows, 16 + group / 4 * 32, group % 4 * 2, 3, to); }
};

struct PackedQ3_K {
  static constexpr int kBlocks = 8, kBytes = 110, kOffset = 4;
  static constexpr Minimums kMinimums = Minimums::kNone;
  static M40_INLINE void scales(const Rows& rows, PackedScales* to) {
    // Q3_K in block_formats.h has the layout of the 12 bytes, which are those after the first four here.
    Ints words[4];
    load_words(rows, 92, words);
    const Floats d = load_halves(rows, 108);
    const Ints x = words[1], y = words[2], z = words[3], low = all(0x0F0F0F0F), high = all(0x30303030);
    const Ints scale[4] = {
        (x & low) | (z << 4 & high),
        (y & low) | (z << 2 & high),
        (x >> 4 & low) | (z & high),
        (y >> 4 & low) | (z >> 2 & high),
    };
    M40_UNROLL for (int run = 0; run < 16; run++) to[run / 2].scale[run % 2] = d * to_floats(byte_at(scale[run / 4], run % 4) - 32);
  }
  static M40_INLINE void pairs(const Rows& rows, int group, Ints (*to)[8]) {
    Ints high[2][8];
    split_runs(rows, 0, group, 1, high);
    split_runs(rows, 32 + group / 4 * 32, group % 4 * 2, 3, to);
    M40_UNROLL for (int run = 0; run < 2; run++) {
      M40_UNROLL for (int p = 0; p < 8; p++) to[run][p] |= high[run][p] << 2;
    }
  }
};

struct PackedTQ2_0 {
  static constexpr int kBlocks = 8, kBytes = 66, kOffset = 1;
  static constexpr Minimums kMinimums = Minimums::kNone;
  static M40_INLINE void scales(const Rows& rows, PackedScales* to) {
    const Floats d = load_halves(rows, 64);
    M40_UNROLL for (int g = 0; g < 8; g++) to[g].scale[0] = to[g].scale[1] = d;
  }
  static M40_INLINE void pairs(const Rows& rows, int group, Ints (*to)[8]) { split_runs(rows, group / 4 * 32, group % 4 * 2, 3, to); }
};

// ternary_formats.h says what a byte is. 16-bit lanes have room for a byte times 81.
struct PackedTQ1_0 {
  static constexpr int kBlocks = 8, kBytes = 54, kOffset = 1;
  static constexpr Minimums kMinimums = Minimums::kNone;
  static M40_INLINE void scales(const Rows& rows, PackedScales* to) {
    const Floats d = load_halves(rows, 52);
    M40_UNROLL for (int g = 0; g < 8; g++) to[g].scale[0] = to[g].scale[1] = d;
  }
  static M40_INLINE void pairs(const Rows& rows, int group, Ints (*to)[8]) {
    constexpr int32_t powers[5] = {1, 3, 9, 27, 81};
    M40_UNROLL for (int run = 0; run < 2; run++) {
      const int number = 2 * group + run;
      Ints words[4];
      int32_t factors[4];
      if (number == 15) {  // the last four bytes have four digits each
        const Ints last = load_word(rows, 48);
        M40_UNROLL for (int j = 0; j < 4; j++) words[j] = last, factors[j] = powers[j];
      } else {
        load_words(rows, number < 10 ? number % 2 * 16 : 32, words);
        M40_UNROLL for (int j = 0; j < 4; j++) factors[j] = powers[number < 10 ? number / 2 : number - 10];
      }
      M40_UNROLL for (int j = 0; j < 4; j++) {
        to[run][2 * j] = digits(words[j], factors[j]);
        to[run][2 * j + 1] = digits(words[j] >> 8, factors[j]);
      }
    }
  }

 private:
  // Products of both halves of a word at once: none reaches the other half.
  static M40_INLINE Ints digits(Ints words, int32_t factor) {
    typedef uint32_t Unsigned __attribute__((vector_size(kLanes * 4)));
    const Unsigned low = Unsigned{} + 0x00FF00FFu, bytes = (Unsigned)words & low;
    const Unsigned starts = bytes * static_cast<uint32_t>(factor) & low;
    return (Ints)(starts * 3u >> 8 & (Unsigned{} + 0x00030003u));
  }
};

struct PackedMXFP4 {
  static constexpr int kBlocks = 1, kBytes = 17, kOffset = 0;
  static constexpr Minimums kMinimums = Minimums::kNone;
  static M40_INLINE void scales(const Rows& rows, PackedScales* to) {
    // As half_of_e8m0().
    uint8_t codes[kLanes];
    M40_UNROLL for (int l = 0; l < kLanes; l++) codes[l] = rows.at[l][0];
    const Ints e = load_u8(codes), subnormal = e < 2;
    to->scale[0] = to->scale[1] = as_floats((subnormal & (e + 1) << 21) | (~subnormal & (e - 1) << 23));
  }
  static M40_INLINE void pairs(const Rows& rows, int, Ints (*to)[8]) {
    Ints words[4];
    load_words(rows, 1, words);
    M40_UNROLL for (int run = 0; run < 2; run++) {
      M40_UNROLL for (int j = 0; j < 4; j++) {
        const Halves both = (Halves)levels(words[j] >> (4 * run) & 0x0F0F0F0F);
        to[run][2 * j] = (Ints)(both << 8 >> 8);
        to[run][2 * j + 1] = (Ints)(both >> 8);
      }
    }
  }

 private:
  typedef int16_t Halves __attribute__((vector_size(kLanes * 4)));

  // Twice the E2M1 number of the code in each byte.
  static M40_INLINE Ints levels(Ints codes) {
#if defined(__AVX512BW__)
    const __m128i table = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kTwiceE2M1));
    return (Ints)_mm512_shuffle_epi8(_mm512_broadcast_i32x4(table), (__m512i)codes);
#elif defined(__AVX2__)
    const __m128i table = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kTwiceE2M1));
    return (Ints)_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), (__m256i)codes);
#else
    // Of the magnitudes 0 to 7, those from 4 on are further apart.
    const Ints magnitude = codes & 0x07070707, low = codes & 0x01010101, large = codes >> 2 & 0x01010101;
    const Ints largest = large & codes >> 1, negative = codes >> 3 & 0x01010101;
    const Ints level = magnitude + (large & low) + (largest << 1) + ((largest & low) << 1);
    typedef int8_t Bytes8 __attribute__((vector_size(kLanes * 4)));
    const Bytes8 sign = -(Bytes8)negative;
    return (Ints)(((Bytes8)level ^ sign) - sign);
#endif
  }
};

}  // namespace
}  // namespace m40::reference

#endif
