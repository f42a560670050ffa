// CUDA's vector types, with CUDA's alignments: a sanitizer then notices a 16-byte load that is not aligned.
#ifndef M40_EMULATION_TYPES_H
#define M40_EMULATION_TYPES_H

#define M40_VECTOR2(T, N, A)                                   \
  struct alignas(A) N {                                        \
    T x, y;                                                    \
  };                                                           \
  inline N make_##N(T x, T y) { return N{x, y}; }
#define M40_VECTOR3(T, N, A)                                   \
  struct alignas(A) N {                                        \
    T x, y, z;                                                 \
  };                                                           \
  inline N make_##N(T x, T y, T z) { return N{x, y, z}; }
#define M40_VECTOR4(T, N, A)                                   \
  struct alignas(A) N {                                        \
    T x, y, z, w;                                              \
  };                                                           \
  inline N make_##N(T x, T y, T z, T w) { return N{x, y, z, w}; }

M40_VECTOR2(signed char, char2, 2)
M40_VECTOR4(signed char, char4, 4)
M40_VECTOR2(unsigned char, uchar2, 2)
M40_VECTOR4(unsigned char, uchar4, 4)
M40_VECTOR2(short, short2, 4)
M40_VECTOR4(short, short4, 8)
M40_VECTOR2(unsigned short, ushort2, 4)
M40_VECTOR4(unsigned short, ushort4, 8)
M40_VECTOR2(int, int2, 8)
M40_VECTOR3(int, int3, 4)
M40_VECTOR4(int, int4, 16)
M40_VECTOR2(unsigned, uint2, 8)
M40_VECTOR3(unsigned, uint3, 4)
M40_VECTOR4(unsigned, uint4, 16)
M40_VECTOR2(float, float2, 8)
M40_VECTOR3(float, float3, 4)
M40_VECTOR4(float, float4, 16)
M40_VECTOR2(double, double2, 16)
M40_VECTOR2(long long, longlong2, 16)
M40_VECTOR2(unsigned long long, ulonglong2, 16)

#undef M40_VECTOR2
#undef M40_VECTOR3
#undef M40_VECTOR4

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

#endif
