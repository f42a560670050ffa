// The selective scan of Mamba-2: a thread block has some columns (values of x) of a head's state and goes through a
// sequence's tokens. Three multiply-adds a value and token.
#ifndef M40_KERNELS_SELECTIVE_SCAN_CUH
#define M40_KERNELS_SELECTIVE_SCAN_CUH

#include "recurrence.cuh"

namespace m40::cuda {

// B and C; x; and the factors exp(d * decay), d and skip.
template <class Shape>
__device__ __forceinline__ void stage_selective_scan(const SelectiveScanArgs& args, uint32_t head, uint32_t first_column, size_t first_row, uint32_t n,
                                                     RecurrenceShared<Shape>& shared) {
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = head / args.group_heads;
  if (threadIdx.x < n) {
    const float d = softplus(args.steps[(first_row + threadIdx.x) * args.steps_stride + head] + __ldg(args.dt_bias + head));
    shared.factors[threadIdx.x] = make_float4(expf(d * __ldg(args.decay + head)), d, __ldg(args.skip + head), 0);
  }
#pragma unroll 2
  for (uint32_t t = warp; t < n; t += recurrence_warps) {
    const size_t row = (first_row + t) * args.stride;
    const float* b_row = args.b + row + group * args.state_dim;
    const float* c_row = args.c + row + group * args.state_dim;
    const float* x_row = args.x + row + head * args.head_dim + first_column;
#pragma unroll
    for (uint32_t key = lane; key < Shape::keys; key += 32) {
      reinterpret_cast<float*>(shared.k[t])[key] = key < args.state_dim ? b_row[key] : 0.0f;
      reinterpret_cast<float*>(shared.q[t])[key] = key < args.state_dim ? c_row[key] : 0.0f;
    }
#pragma unroll
    for (uint32_t c = lane; c < Shape::columns; c += 32) shared.values[t][c] = first_column + c < args.head_dim ? x_row[c] : 0.0f;
  }
}

// Grid: heads times the blocks of a head's columns, sequences.
template <class Shape>
__device__ __forceinline__ void selective_scan(const SelectiveScanArgs& args, BlockIndex block, RecurrenceShared<Shape>& shared) {
  const SequenceRows rows = args.state.sequences[block.y];
  if (rows.n == 0) return;
  const uint32_t head = block.x / args.head_tiles, first_column = block.x % args.head_tiles * Shape::columns;
  const RecurrenceLane<Shape> lane;
  const size_t head_state = size_t{head} * args.state_dim * args.head_dim;
  StateTile<Shape> state;
  state.load(rows.from == M40_NONE ? nullptr : args.state.data + rows.from * args.state.slot_values + head_state, lane, args.state_dim, args.head_dim,
             first_column);
  const uint32_t finished = first_column + lane.finished_column();
  const bool puts = lane.finishes() && finished < args.head_dim;
  float* output = args.output + head * args.head_dim + finished + size_t{rows.first} * args.output_stride;
  for_each_token(
      rows.n, [&](uint32_t first, uint32_t n) { stage_selective_scan(args, head, first_column, size_t{rows.first} + first, n, shared); },
      [&](uint32_t t) {
        const float4* bs = shared.k[t] + lane.part;
        const float4* cs = shared.q[t] + lane.part;
        const float4 factors = shared.factors[t];
        const float x[2] = {shared.values[t][lane.column], shared.values[t][lane.column + Shape::groups]};
        const float update[2] = {factors.y * x[0], factors.y * x[1]};
        float chains[2][2] = {};
#pragma unroll
        for (int i = 0; i < Shape::fours; i++) {
          const float4 b = bs[i * Shape::lanes], c = cs[i * Shape::lanes];
#pragma unroll
          for (int column = 0; column < 2; column++) {
            state.values[column][i] = updated(state.values[column][i], factors.x, b, update[column]);
            add_products(c, state.values[column][i], chains[column]);
          }
        }
        const float sums[2] = {chains[0][0] + chains[0][1], chains[1][0] + chains[1][1]};
        const float sum = sum_finished(sums, lane);
        if (puts) *output = fmaf(factors.z, (lane.part & 1) != 0 ? x[1] : x[0], sum);
        output += args.output_stride;
      });
  state.store(args.state.data + rows.to * args.state.slot_values + head_state, lane, args.state_dim, args.head_dim, first_column);
}

constexpr uint32_t selective_scan_residency = 4;

template <int kFours, int kLanes, bool kRagged>
__global__ void __launch_bounds__(recurrence_threads, selective_scan_residency) selective_scan_kernel(SelectiveScanArgs args) {
  using Shape = RecurrenceShape<kFours, kLanes, kRagged>;
  __shared__ RecurrenceShared<Shape> shared;
  selective_scan<Shape>(args, launched_block(), shared);
}

// The same by fewer thread blocks than its grid has.
template <int kFours, int kLanes, bool kRagged>
__global__ void __launch_bounds__(recurrence_threads, selective_scan_residency) selective_scan_part_kernel(SelectiveScanArgs args, GridSize grid) {
  using Shape = RecurrenceShape<kFours, kLanes, kRagged>;
  __shared__ RecurrenceShared<Shape> shared;
  __shared__ BlockIndex place;
  __shared__ uint32_t at;
  walk_grid(grid, at, place, [&] { selective_scan<Shape>(args, place, shared); });
}

}  // namespace m40::cuda

#endif
