// Written by `deno task abi` out of cuda/include/m40.h: change that, not this.
#define M40_TENSOR_TYPES(TYPE) \
  TYPE(F32, 1, 4) \
  TYPE(F16, 1, 2) \
  TYPE(Q4_0, 32, 18) \
  TYPE(Q4_1, 32, 20) \
  TYPE(Q5_0, 32, 22) \
  TYPE(Q5_1, 32, 24) \
  TYPE(Q8_0, 32, 34) \
  TYPE(Q2_K, 256, 84) \
  TYPE(Q3_K, 256, 110) \
  TYPE(Q4_K, 256, 144) \
  TYPE(Q5_K, 256, 176) \
  TYPE(Q6_K, 256, 210) \
  TYPE(IQ2_XXS, 256, 66) \
  TYPE(IQ2_XS, 256, 74) \
  TYPE(IQ3_XXS, 256, 98) \
  TYPE(IQ1_S, 256, 50) \
  TYPE(IQ4_NL, 32, 18) \
  TYPE(IQ3_S, 256, 110) \
  TYPE(IQ2_S, 256, 82) \
  TYPE(IQ4_XS, 256, 136) \
  TYPE(IQ1_M, 256, 56) \
  TYPE(BF16, 1, 2) \
  TYPE(TQ1_0, 256, 54) \
  TYPE(TQ2_0, 256, 66) \
  TYPE(MXFP4, 32, 17) \
  TYPE(NVFP4, 64, 36)
