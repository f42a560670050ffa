// Written by `deno task abi` out of cuda/include/m40.h: change that, not this.
#define M40_OPERATIONS(OPERATION) \
  OPERATION(EMBED, embed) \
  OPERATION(NORM, norm) \
  OPERATION(MATMUL, matmul) \
  OPERATION(ROPE_STORE, rope_store) \
  OPERATION(ATTENTION, attention) \
  OPERATION(ACTIVATION, activation) \
  OPERATION(ADD, add) \
  OPERATION(SELECT, select) \
  OPERATION(SOFTCAP, softcap) \
  OPERATION(ROUTE, route) \
  OPERATION(EXPERT_MATMUL, expert_matmul) \
  OPERATION(EXPERT_SUM, expert_sum) \
  OPERATION(SAMPLE, sample) \
  OPERATION(HEAD_MATMUL, head_matmul) \
  OPERATION(CONV, conv) \
  OPERATION(DELTA_RULE, delta_rule) \
  OPERATION(SELECTIVE_SCAN, selective_scan) \
  OPERATION(COPY, copy) \
  OPERATION(EXCHANGE, exchange)
