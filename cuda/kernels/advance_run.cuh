// Runs between two steps of a run: the sampled tokens go into the ring, and become the next step's input.
#ifndef M40_KERNELS_ADVANCE_RUN_CUH
#define M40_KERNELS_ADVANCE_RUN_CUH

#include "advance_run_args.cuh"
#include "block.cuh"

namespace m40::cuda {

// One block. It writes all entries of a step and the next step's input, makes them visible to the host, then marks the
// entries as complete. An entry's number is its last word to be written; the host may give the device another run then.
__device__ __forceinline__ void advance_run(const AdvanceRunArgs& args) {
  const uint32_t step = args.state->step;
  const uint32_t number = args.state->number;
  const bool faulty = args.state->fault != 0 || *args.fault != 0 || *args.exchange_fault != 0;
  __syncthreads();
  if (faulty) {
    if (threadIdx.x == 0) args.state->fault = 1;
    return;
  }
  constexpr uint32_t sample_words = sizeof(m40_sample) / sizeof(uint32_t);
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (uint32_t row = warp; row < args.n_rows; row += advance_run_threads / 32) {
    m40_ring_entry& entry = args.entries[(number + row) & (args.n_entries - 1)];
    const bool ended = args.left[row] == 0;
    const uint32_t status = ended ? uint32_t{M40_OUTPUT_ENDED} : args.statuses[row];
    const uint32_t* sample = reinterpret_cast<const uint32_t*>(args.samples + row);
    volatile uint32_t* to = reinterpret_cast<volatile uint32_t*>(&entry.sample);
    for (uint32_t i = lane; i < sample_words; i += 32) to[i] = sample[i];
    __syncwarp();
    if (lane != 0) continue;
    SequenceRows* const states = args.sequence_rows == nullptr ? nullptr : args.sequence_rows + row;
    const RunRowSlots slots = states == nullptr ? RunRowSlots{nullptr, nullptr} : RunRowSlots{&states->from, &states->to};
    const bool goes_on = advance_row(args.rows[row], args.end_tokens, step, args.statuses[row], args.samples[row].token, args.left + row,
                                     {args.tokens + row, args.positions + row, args.sampling + row, slots});
    volatile m40_ring_entry& head = entry;
    head.step = step;
    head.row = row;
    head.status = status;
    head.goes_on = goes_on ? 1 : 0;
  }
  if (threadIdx.x == 0) {
    args.state->step = step + 1;
    args.state->number = number + args.n_rows;
  }
  __threadfence_system();
  __syncthreads();
  for (uint32_t row = threadIdx.x; row < args.n_rows; row += advance_run_threads) {
    volatile m40_ring_entry& entry = args.entries[(number + row) & (args.n_entries - 1)];
    entry.number = number + row + 1;
  }
}

}  // namespace m40::cuda

#endif
