// Runs: steps on the stream, one after the other, or steps that the decode executor is asked for. Between two of them
// the device makes the sampled tokens the next step's input, so it needs no host. A thread here queues the next step
// shortly before the running one ends, and notifies the host of new entries in the ring.
//
// No step is queued further ahead: a queued step is always computed, and a stop that comes before it costs nothing.
// Where the decode executor had to leave for other work, the step that it has not done is launched, and so are the
// later ones. Where it has done all, the run is over. Where a token ends the last row, the next step may be queued
// already: its entries say that all rows have ended. The host gets the samples before that step, but the run is over
// after it. That step still uses the KV blocks and slots of its sequences, which another lane may get then.
#include <string.h>

#include <memory>
#include <utility>

#include "../ops/advance_run.h"
#include "decode_executor.h"
#include "device_objects.h"
#include "../program/run_functions.h"
#include "run_state.h"
#include "step_executors.h"
#include "step_input.h"
#include "step_launch.h"
#include "step_progress.h"
#include "uploader.h"

namespace m40::cuda {

namespace {

// So soon after a step was asked for, a decode executor that has left is called back; on old devices it leaves often.
constexpr Clock::duration first_look = std::chrono::microseconds(200);

// Gives the device the steps of a run. The program and its lane are its alone.
class RunQueue {
 public:
  RunQueue(m40_program* program, const RunInput& input, void* ring)
      : program_(*program), n_steps_(input.n_steps), shape_(program->progress->shape) {
    const RunPlaces places(shape_.n_tokens, input.n_end_tokens);
    uint8_t* state = program->memory + program->plan.run;
    uint8_t* input_memory = program->memory + program->plan.input;
    uint8_t* results = program->memory + program->plan.results;
    const StepView view = view_input(shape_, program->limits.limits, input_memory);
    args_.state = reinterpret_cast<RunState*>(state);
    args_.rows = reinterpret_cast<const m40_run_row*>(state + places.rows);
    args_.left = reinterpret_cast<uint32_t*>(state + places.left);
    args_.end_tokens = reinterpret_cast<const int32_t*>(state + places.end_tokens);
    args_.n_rows = shape_.n_tokens;
    args_.n_entries = program->run.ring().n_entries();
    void* on_device = nullptr;
    check(cudaHostGetDevicePointer(&on_device, ring, 0), "a run's ring");
    args_.entries = reinterpret_cast<m40_ring_entry*>(static_cast<m40_ring*>(on_device) + 1);
    // Of the step's input these alone are written by the device.
    args_.tokens = const_cast<int32_t*>(view.tokens);
    args_.positions = const_cast<uint32_t*>(view.positions);
    args_.sampling = const_cast<m40_sampling*>(view.sampling);
    // All have one token, so they are in the order of their tokens.
    args_.sequence_rows = shape_.states ? const_cast<SequenceRows*>(view.sequence_rows) : nullptr;
    const bool has_faults = has_fixed_results(*program);
    args_.fault = has_faults ? &reinterpret_cast<const StepResults*>(results)->expert_fault_token : &args_.state->fault;
    args_.exchange_fault = has_faults ? &reinterpret_cast<const StepResults*>(results)->exchange_fault : &args_.state->fault;
    args_.statuses = reinterpret_cast<const uint32_t*>(results + StepResults::statuses_offset());
    args_.samples = reinterpret_cast<const m40_sample*>(results + StepResults::samples_offset(program->limits.limits));
  }

  // The input of the first step, and the step.
  void begin(const void* block, const RunInput& input) {
    write_inputs(block, input);
    by_decoder_ = begin_by_decoder();
    if (by_decoder_) return;
    program_.progress->work.begin(program_.context->seat);
    upload_state();
    upload_input();
    put_step();
  }

  // From the first step, which the device has, to the last.
  void go_on() {
    program_.context->use_for_steps();
    for (uint32_t step = 0;; step++) {
      const bool goes_on = compute(step);
      // The other cards may have to compute a step that card 0 queued before it knew that all rows had ended.
      const bool wants_next = goes_on || program_.run.follows();
      // The end of the run is news as well.
      if (!ahead_ && !(wants_next && put_next(step))) return;
      program_.run.notify();
      if (goes_on) continue;
      program_.context->watch.wait([this] { return state_of_last(); }, "a run", ended_, longest_work);
      return;
    }
  }

 private:
  // Into the host's memory.
  void write_inputs(const void* block, const RunInput& input) {
    m40_step_header header;
    memcpy(&header, block, sizeof(header));
    const Step& step = program_.step;
    input_bytes_ = input_bytes(step, shape_, header);
    // parse_step and parse_run leave nothing that is larger than the limits.
    const RunPlaces places(shape_.n_tokens, input.n_end_tokens);
    if (input_bytes_ > program_.plan.input_bytes || places.end > run_state_bytes(program_.limits.limits)) {
      fail(M40_INTERNAL, "a run's input is larger than what was planned for it");
    }
    write_input(step, shape_, header, program_.input->data());
    uint8_t* memory = program_.run_input->data();
    const RunState state = {0, program_.run.number(0, 0), 0, 0};
    memcpy(memory, &state, sizeof(state));
    for (uint32_t i = 0; i < shape_.n_tokens; i++) {
      memcpy(memory + places.rows + i * sizeof(m40_run_row), &input.rows[i], sizeof(m40_run_row));
      memcpy(memory + places.left + i * sizeof(uint32_t), &input.rows[i].n_tokens, sizeof(uint32_t));
    }
    if (input.n_end_tokens != 0) memcpy(memory + places.end_tokens, input.end_tokens, input.n_end_tokens * sizeof(int32_t));
    state_bytes_ = places.end;
  }

  void upload_state() {
    check(cudaMemcpyAsync(program_.memory + program_.plan.run, program_.run_input->data(), state_bytes_, cudaMemcpyHostToDevice, program_.stream), "a run");
  }

  void upload_input() {
    cudaStream_t stream = program_.stream;
    check(cudaMemcpyAsync(program_.memory + program_.plan.input, program_.input->data(), input_bytes_, cudaMemcpyHostToDevice, stream), "a run");
    if (has_fixed_results(program_)) check(cudaMemsetAsync(program_.memory + program_.plan.results, 0, sizeof(StepResults), stream), "a run");
  }

  // Asks the decode executor for the first step, where it is the chosen one of such steps.
  bool begin_by_decoder() {
    StepExecutors& executors = *program_.executors;
    if (executors.chosen(shape_.n_tokens) != M40_EXECUTOR_RESIDENT) return false;
    upload_state();
    program_.context->watch.wait(program_.stream, "a run");
    const DecodeExecutor::Begun begun = program_.decoder->begin_run(shape_, input_bytes_, args_);
    // Another step of so many rows may be one that it does.
    if (begun == DecodeExecutor::Begun::kNever && !shape_.shaped) executors.have_no_decoder(shape_.n_tokens);
    if (begun != DecodeExecutor::Begun::kYes) return false;
    program_.progress->executor = M40_EXECUTOR_RESIDENT;
    program_.progress->measures = false;
    return true;
  }

  // The decode executor had to leave ahead of this step, and does not return in this run.
  void launch_from(uint32_t step) {
    by_decoder_ = ahead_ = false;
    program_.progress->work.begin(program_.context->seat);
    if (step == 0) upload_input();
    put_step();
    given_again();
  }

  // The device has the step only now.
  void given_again() {
    begun_ = Clock::now();
    repeated_ = true;
  }

  void put_step() {
    const Clock::time_point start = Clock::now();
    cudaStream_t stream = program_.stream;
    StepProgress& progress = *program_.progress;
    if (program_.executors->measures_launched(shape_.n_tokens)) progress.timer.start(stream);
    launch_operations(&program_, shape_);
    launch_advance_run(args_, stream);
    check_launches("a run");
    if (progress.measures) progress.timer.stop(stream);
    put_time_ = Clock::now() - start;
  }

  // Gives the device the step after this one, if there is one. A queued step is computed even after a stop.
  bool put_next(uint32_t step) {
    if (step + 1 >= n_steps_ || !program_.run.next(step + 1)) return false;
    if (by_decoder_) return ahead_ = program_.decoder->begin_next();
    put_step();
    return ahead_ = true;
  }

  // Whether the device has done the step, will do nothing more, or was given the step again: cudaSuccess, or
  // cudaErrorNotReady.
  cudaError_t state_of(uint32_t step) {
    if (program_.run.has_step(step)) return cudaSuccess;
    if (!by_decoder_) return cudaStreamQuery(program_.stream);
    switch (program_.decoder->state(ahead_ ? 1 : 0)) {
      case DecodeExecutor::State::kDone: return cudaSuccess;
      case DecodeExecutor::State::kRuns: return cudaErrorNotReady;
      case DecodeExecutor::State::kCalledBack: given_again(); return cudaSuccess;
      case DecodeExecutor::State::kDisplaced: break;
      case DecodeExecutor::State::kRefused: program_.executors->have_no_decoder(); break;
    }
    launch_from(step);
    return cudaSuccess;
  }

  // The same of the last step that it was given, whose results are not needed.
  cudaError_t state_of_last() {
    if (!by_decoder_) return cudaStreamQuery(program_.stream);
    const DecodeExecutor::State state = program_.decoder->state();
    return state == DecodeExecutor::State::kRuns || state == DecodeExecutor::State::kCalledBack ? cudaErrorNotReady : cudaSuccess;
  }

  // Whether the step was given again. The time before that does not count against the device: the process may have been
  // stopped.
  bool wait_for(uint32_t step) {
    bool any = repeated_;
    do {
      repeated_ = false;
      program_.context->watch.wait([&] { return state_of(step); }, "a run", begun_, longest_work);
      any = any || repeated_;
    } while (repeated_);
    return any;
  }

  // Waits for a step to end, and queues the next one in time; returns whether there is to be one.
  bool compute(uint32_t step) {
    const Run& run = program_.run;
    StepProgress& progress = *program_.progress;
    StepForecast& forecast = progress.run_forecast;
    begun_ = std::exchange(ended_, Clock::time_point{});
    ahead_ = repeated_ = false;
    // A step that is to be timed is alone.
    const bool measures = progress.measures;
    const bool known = forecast.knows(shape_);
    if (!measures && known) {
      const auto wake_time = [&] { return forecast.wake_time(shape_, begun_) - put_time_; };
      if (by_decoder_ && begun_ + first_look < wake_time()) {
        Clock::sleep_until(begun_ + first_look);
        state_of(step);
      }
      Clock::sleep_until(wake_time());
    }
    const bool late = run.has_step(step);
    if (!measures) put_next(step);
    const Clock::time_point woken = Clock::now();
    const bool repeated = wait_for(step);
    if (!run.has_step(step)) explain_silence(step);
    ended_ = Clock::now();
    if (measures) {
      program_.context->watch.wait(program_.stream, "a run", begun_);
      note_time(&program_);
    } else if (repeated) {
      // What it took is not what the next one will.
    } else if (late) {
      forecast.woke_late(shape_);
    } else if (known) {
      forecast.woke_in_time(shape_, begun_, ended_ - woken);
    } else {
      forecast.took(shape_, ended_ - begun_);
    }
    return run.goes_on(step);
  }

  // The device has done all that it was given, and the step has no entries.
  [[noreturn]] void explain_silence(uint32_t step) const {
    const m40_context* context = program_.context;
    check(cudaMemcpyAsync(program_.results->data(), program_.memory + program_.plan.results, sizeof(StepResults), cudaMemcpyDeviceToHost,
                          program_.stream),
          "a run");
    context->watch.wait(program_.stream, "a run");
    check_fixed_results(program_);
    fail(M40_INTERNAL, "step %u of a run is done and has put nothing into the ring", step);
  }

  m40_program& program_;
  const uint32_t n_steps_;
  const StepShape shape_;
  uint64_t input_bytes_ = 0, state_bytes_ = 0;
  AdvanceRunArgs args_ = {};
  bool by_decoder_ = false;         // by the decode executor
  bool ahead_ = false;              // the device has the next step
  bool repeated_ = false;               // the awaited step was given again
  Clock::time_point begun_ = {};    // that one
  Clock::time_point ended_ = Clock::now();  // the previous step, or when the first one was given
  Clock::duration put_time_ = {};   // what it takes to put a step on the stream
};

// The device's queued work still writes to the ring. The next call reports a lost or hung device.
void settle(const m40_program* program) {
  if (program->context->watch.hangs()) return;
  try {
    program->context->seat.clear();
    program->context->watch.wait(program->stream, "a run");
  } catch (const Failure&) {
  }
}

}  // namespace

}  // namespace m40::cuda

void m40::begin_run(m40_program* program, const GivenRun& given) {
  const m40_context* context = program->context;
  context->use_for_steps();
  if (context->uploader->busy()) context->uploader->wait();
  program->step = given.step;
  program->progress->shape = cuda::shape_of(given.step, program->limits);
  const std::shared_ptr<cuda::RunQueue> queue(new cuda::RunQueue(program, given.input, given.ring));
  try {
    queue->begin(given.block, given.input);
    program->run.start([queue, program] {
      try {
        queue->go_on();
      } catch (...) {
        cuda::settle(program);
        program->progress->work.end();
        throw;
      }
      program->progress->work.end();
    });
  } catch (...) {
    cuda::settle(program);
    program->progress->work.end();
    throw;
  }
}
