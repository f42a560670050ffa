// The gated delta rule: a thread block has some columns of a head's state and walks over a sequence's tokens.
//
// With the state S before a token, one pass sums S^T k and S^T q. Both the output and the new state follow from the old
// state: with u = beta * (v - g * S^T k), S' = g * S + k u^T and S'^T q = g * S^T q + (q . k) * u. So a token costs
// four multiply-adds a value, and waits for shuffles once.
#ifndef M40_KERNELS_DELTA_RULE_CUH
#define M40_KERNELS_DELTA_RULE_CUH

#include "elementwise.cuh"
#include "recurrence.cuh"
#include "reduce.cuh"

namespace m40::cuda {

struct DeltaRuleHead {
  uint32_t head, k_head, first_column, gate;

  __device__ __forceinline__ DeltaRuleHead(const DeltaRuleArgs& args, BlockIndex block, uint32_t columns) {
    head = block.x / args.head_tiles;
    first_column = block.x % args.head_tiles * columns;
    k_head = args.k_head_group == 0 ? head % args.n_k_heads : head / args.k_head_group;
    gate = head / args.gate_heads * args.gate_step + head % args.gate_heads;
  }
};

// Keys lie in shared memory with neighbours exchanged. A load of four of them takes four registers, one of each bank, and
// so did the load of the state. As they lie in the state, a key and its state would be in the same bank, and each product
// would cost a clock more. (The selective scan has no registers left for it.)
__device__ __forceinline__ void put_key(float4* row, uint32_t key, float value) { reinterpret_cast<float*>(row)[key ^ 1] = value; }
__device__ __forceinline__ float4 four_keys(const float4* at) {
  const float4 exchanged = *at;
  return make_float4(exchanged.y, exchanged.x, exchanged.w, exchanged.z);
}

// q and k divided by their lengths, q times the scale as well; v; and the factors g, beta, beta * g and q . k.
template <class Shape>
__device__ __forceinline__ void stage_delta_rule(const DeltaRuleArgs& args, const DeltaRuleHead& of, size_t first_row, uint32_t n,
                                                 RecurrenceShared<Shape>& shared) {
  constexpr int lane_keys = (Shape::keys + 31) / 32;
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x < n) {
    const size_t at = (first_row + threadIdx.x) * args.gates_stride + of.gate;
    const float decay = expf(__ldg(args.decay + of.head) * softplus(args.a[at] + __ldg(args.a_bias + of.head)));
    const float beta = sigmoid(args.b[at]);
    shared.factors[threadIdx.x].x = decay;
    shared.factors[threadIdx.x].y = beta;
    shared.factors[threadIdx.x].z = beta * decay;
  }
  for (uint32_t t = warp; t < n; t += recurrence_warps) {
    const size_t row = (first_row + t) * args.stride;
    const float* q_row = args.q + row + of.k_head * args.key_dim;
    const float* k_row = args.k + row + of.k_head * args.key_dim;
    const float* v_row = args.v + row + of.head * args.value_dim + of.first_column;
    float q[lane_keys], k[lane_keys];
    float q_squares = 0, k_squares = 0, product = 0;
#pragma unroll
    for (int i = 0; i < lane_keys; i++) {
      const uint32_t key = i * 32 + lane;
      q[i] = key < args.key_dim ? q_row[key] : 0.0f;
      k[i] = key < args.key_dim ? k_row[key] : 0.0f;
    }
    for (uint32_t c = lane; c < Shape::columns; c += 32) shared.values[t][c] = of.first_column + c < args.value_dim ? v_row[c] : 0.0f;
#pragma unroll
    for (int i = 0; i < lane_keys; i++) {
      q_squares = fmaf(q[i], q[i], q_squares);
      k_squares = fmaf(k[i], k[i], k_squares);
      product = fmaf(q[i], k[i], product);
    }
    const float q_scale = args.scale * rsqrtf(warp_sum(q_squares) + args.epsilon);
    const float k_scale = rsqrtf(warp_sum(k_squares) + args.epsilon);
    product = warp_sum(product) * q_scale * k_scale;
#pragma unroll
    for (int i = 0; i < lane_keys; i++) {
      const uint32_t key = i * 32 + lane;
      if (key >= Shape::keys) continue;
      put_key(shared.q[t], key, q[i] * q_scale);
      put_key(shared.k[t], key, k[i] * k_scale);
    }
    if (lane == 0) shared.factors[t].w = product;
  }
}

// Grid: heads times the blocks of a head's columns, sequences.
template <class Shape>
__device__ __forceinline__ void delta_rule(const DeltaRuleArgs& args, BlockIndex block, RecurrenceShared<Shape>& shared) {
  const SequenceRows rows = args.state.sequences[block.y];
  if (rows.n == 0) return;
  const DeltaRuleHead of(args, block, Shape::columns);
  const RecurrenceLane<Shape> lane;
  const size_t head_state = size_t{of.head} * args.key_dim * args.value_dim;
  StateTile<Shape> state;
  state.load(rows.from == M40_NONE ? nullptr : args.state.data + rows.from * args.state.slot_values + head_state, lane, args.key_dim, args.value_dim,
             of.first_column);
  const uint32_t finished = of.first_column + lane.finished_column();
  const bool puts = lane.finishes() && finished < args.value_dim;
  float* output = args.output + of.head * args.value_dim + finished + size_t{rows.first} * args.output_stride;
  for_each_token(
      rows.n, [&](uint32_t first, uint32_t n) { stage_delta_rule(args, of, size_t{rows.first} + first, n, shared); },
      [&](uint32_t t) {
        const float4* ks = shared.k[t] + lane.part;
        const float4* qs = shared.q[t] + lane.part;
        float4 k[Shape::fours];
        float with_k[2][2] = {}, with_q[2][2] = {};
#pragma unroll
        for (int i = 0; i < Shape::fours; i++) {
          k[i] = four_keys(ks + i * Shape::lanes);
          const float4 q = four_keys(qs + i * Shape::lanes);
#pragma unroll
          for (int c = 0; c < 2; c++) {
            add_products(k[i], state.values[c][i], with_k[c]);
            add_products(q, state.values[c][i], with_q[c]);
          }
        }
        float k_sums[2] = {with_k[0][0] + with_k[0][1], with_k[1][0] + with_k[1][1]};
        const float q_sums[2] = {with_q[0][0] + with_q[0][1], with_q[1][0] + with_q[1][1]};
        sum_columns<Shape>(k_sums);
        const float q_sum = sum_finished(q_sums, lane);
        const float4 factors = shared.factors[t];
        float update[2];
#pragma unroll
        for (int c = 0; c < 2; c++) {
          update[c] = fmaf(-factors.z, k_sums[c], factors.y * shared.values[t][lane.column + c * Shape::groups]);
#pragma unroll
          for (int i = 0; i < Shape::fours; i++) state.values[c][i] = updated(state.values[c][i], factors.x, k[i], update[c]);
        }
        if (puts) *output = fmaf(factors.w, (lane.part & 1) != 0 ? update[1] : update[0], factors.x * q_sum);
        output += args.output_stride;
      });
  state.store(args.state.data + rows.to * args.state.slot_values + head_state, lane, args.key_dim, args.value_dim, of.first_column);
}

constexpr uint32_t delta_rule_residency = 3;

template <int kFours, int kLanes, bool kRagged>
__global__ void __launch_bounds__(recurrence_threads, delta_rule_residency) delta_rule_kernel(DeltaRuleArgs args) {
  using Shape = RecurrenceShape<kFours, kLanes, kRagged>;
  __shared__ RecurrenceShared<Shape> shared;
  delta_rule<Shape>(args, launched_block(), shared);
}

// The same by fewer thread blocks than its grid has.
template <int kFours, int kLanes, bool kRagged>
__global__ void __launch_bounds__(recurrence_threads, delta_rule_residency) delta_rule_part_kernel(DeltaRuleArgs args, GridSize grid) {
  using Shape = RecurrenceShape<kFours, kLanes, kRagged>;
  __shared__ RecurrenceShared<Shape> shared;
  __shared__ BlockIndex place;
  __shared__ uint32_t at;
  walk_grid(grid, at, place, [&] { delta_rule<Shape>(args, place, shared); });
}

}  // namespace m40::cuda

#endif
