// One step: its input in one copy, the program, its results in one copy.
#include <string.h>

#include "../ops/ops.h"
#include "decode_executor.h"
#include "device_objects.h"
#include "executor.h"
#include "operation_times.h"
#include "../program/step_functions.h"
#include "step_executors.h"
#include "step_input.h"
#include "step_launch.h"
#include "step_progress.h"
#include "uploader.h"

using m40::fail;
using m40::ResultMemory;
using m40::Step;
using m40::cuda::check;
using m40::cuda::Clock;
using m40::cuda::DecodeExecutor;
using m40::cuda::decodes;
using m40::cuda::OperationTimes;
using m40::cuda::StepResults;
using m40::cuda::StepForecast;
using m40::cuda::StepShape;
using m40::cuda::StepProgress;

namespace {

// How long the serving thread may poll for a step's end; it was woken shortly before.
constexpr Clock::duration finish_patience = std::chrono::milliseconds(2);

// Bytes of the results that the host reads; 0 where there are none.
uint64_t result_bytes(const m40_program& program, const Step& step) {
  const bool sampled = program.limits.samples && step.n_outputs != 0;
  if (sampled) return StepResults::n_bytes(program.limits.limits, step.n_outputs);
  return m40::cuda::has_fixed_results(program) ? sizeof(StepResults) : 0;
}

// Of a step, which may leave a part of the device to others.
Clock::duration patience(const m40_program* program) { return m40::cuda::longest_step(program->progress->shape.prefill_share); }

// Puts the step's input, which lies in the program's host memory, the program and the copy of its results on the
// program's stream. times: to be marked, or nullptr.
void launch_step(m40_program* program, const Step& step, const StepShape& shape, OperationTimes* times) {
  StepProgress& progress = *program->progress;
  progress.work.begin(program->context->seat);
  uint8_t* device_results = program->memory + program->plan.results;
  progress.measures = false;
  if (decodes(shape) && program->executors->measures_launched(shape.n_tokens)) progress.timer.start(program->stream);
  check(cudaMemcpyAsync(program->memory + program->plan.input, program->input->data(), progress.input_bytes, cudaMemcpyHostToDevice, program->stream), "a step");
  if (m40::cuda::has_fixed_results(*program)) check(cudaMemsetAsync(device_results, 0, sizeof(StepResults), program->stream), "a step");
  if (times != nullptr) {
    m40::cuda::launch_program(*program, shape, [times](size_t i) { times->mark(i); });
    times->mark(program->ops.size());
    m40::cuda::check_launches("a step");
    progress.executor = M40_EXECUTOR_LAUNCHES;
  } else {
    m40::cuda::launch_operations(program, shape);
  }
  if (const uint64_t n_bytes = result_bytes(*program, step); n_bytes != 0) {
    check(cudaMemcpyAsync(program->results->data(), device_results, n_bytes, cudaMemcpyDeviceToHost, program->stream), "a step");
  }
  if (progress.measures) progress.timer.stop(program->stream);
}

// Waits for the program's stream. The next call reports a lost or hung device.
void settle(const m40_program* program) {
  if (program->context->watch.hangs()) return;
  try {
    program->context->watch.wait(program->stream, "a step", Clock::now(), patience(program));
  } catch (const m40::Failure&) {
  }
}

// Whether the decode executor has been asked for the step.
bool begin_by_decoder(m40_program* program, const Step& step, const StepShape& shape) {
  StepProgress& progress = *program->progress;
  switch (program->decoder->begin(shape, progress.input_bytes, result_bytes(*program, step))) {
    case DecodeExecutor::Begun::kYes: break;
    case DecodeExecutor::Begun::kNotNow: return false;
    case DecodeExecutor::Begun::kNever:
      // Another step of so many rows may be one that it does.
      if (!shape.shaped && !shape.hidden) program->executors->have_no_decoder(shape.n_tokens);
      return false;
  }
  progress.executor = M40_EXECUTOR_RESIDENT;
  progress.measures = program->executors->measures(shape.n_tokens);
  return true;
}

void give_step(m40_program* program, const void* block, const Step& step, OperationTimes* times = nullptr) {
  StepProgress& progress = *program->progress;
  const m40_context* context = program->context;
  context->use_for_steps();
  if (context->uploader->busy()) context->uploader->wait();
  program->step = step;
  const StepShape& shape = progress.shape = m40::cuda::shape_of(step, program->limits);
  m40_step_header header;
  memcpy(&header, block, sizeof(header));
  progress.input_bytes = m40::cuda::input_bytes(step, shape, header);
  // parse_step leaves nothing that is larger than the limits.
  if (progress.input_bytes > program->plan.input_bytes) fail(M40_INTERNAL, "a step's input is larger than what was planned for it");
  m40::cuda::write_input(step, shape, header, program->input->data());
  const bool by_decoder = times == nullptr && decodes(shape) && program->executors->next(shape.n_tokens) == M40_EXECUTOR_RESIDENT;
  try {
    if (!by_decoder || !begin_by_decoder(program, step, shape)) launch_step(program, step, shape, times);
  } catch (...) {
    // What has been put on the stream still reads the input's memory.
    settle(program);
    progress.work.end();
    throw;
  }
  progress.woken = false;
  progress.timed = false;
  progress.begun = Clock::now();
}

// Whether the step is done: cudaSuccess, or cudaErrorNotReady.
cudaError_t state_of_step(m40_program* program) {
  StepProgress& progress = *program->progress;
  if (progress.executor != M40_EXECUTOR_RESIDENT) return cudaStreamQuery(program->stream);
  switch (program->decoder->state()) {
    case DecodeExecutor::State::kDone: return cudaSuccess;
    case DecodeExecutor::State::kRuns:
    case DecodeExecutor::State::kCalledBack: return cudaErrorNotReady;
    case DecodeExecutor::State::kDisplaced: break;
    case DecodeExecutor::State::kRefused: program->executors->have_no_decoder(); break;
  }
  launch_step(program, program->step, progress.shape, nullptr);
  progress.measures = false;
  return cudaErrorNotReady;
}

// Does what waits for the step. Where that fails, none of it runs any more, or the device is lost.
template <class Wait>
auto watched(m40_program* program, const Wait& wait) {
  try {
    return wait();
  } catch (...) {
    settle(program);
    program->progress->work.end();
    throw;
  }
}

void wait_to_end(m40_program* program) {
  watched(program, [program] {
    program->context->watch.wait([program] { return state_of_step(program); }, "a step", program->progress->begun, patience(program));
  });
}

// Whether the step is done, or so near its end that it is worth looking until then.
bool ends_soon(m40_program* program) {
  const m40_context* context = program->context;
  StepProgress& progress = *program->progress;
  const Clock::time_point start = Clock::now();
  const auto state = [program] { return state_of_step(program); };
  if (context->watch.is_done(state, "a step", Clock::duration::zero())) {
    if (!progress.timed) progress.forecast.woke_late(progress.shape);
    return true;
  }
  if (!context->watch.is_done(state, "a step", finish_patience)) return false;
  progress.forecast.woke_in_time(progress.shape, progress.begun, Clock::now() - start);
  return true;
}

// What lies in the device's memory of a step that is done. A copy to memory that is not page-locked waits for the
// device, however long that takes.
void read_values(const m40_program* program, const m40_op_sample& sample, float* values) {
  const Step& step = program->step;
  const m40_context* context = program->context;
  m40::for_each_run_of_values(sample, step, values, [&](uint32_t kind, uint32_t first, uint32_t n, float* to) {
    const uint32_t buffer = kind == M40_OUTPUT_LOGITS ? sample.logits : sample.hidden;
    const uint64_t stride = uint64_t{program->buffers[buffer].columns} * sizeof(float);
    const uint64_t width = m40::output_values(sample, kind) * sizeof(float);
    const uint8_t* from = program->memory + program->plan.buffers[buffer] + first * stride;
    check(cudaMemcpy2DAsync(to, width, from, stride, width, n, cudaMemcpyDeviceToHost, program->stream), "a step's values");
  });
  context->watch.wait(program->stream, "a step's values");
}

// The results of a step that is done.
void take_results(m40_program* program, const ResultMemory& memory) {
  const Step& step = program->step;
  const uint8_t* results = program->results->data();
  m40::cuda::note_time(program);
  m40::cuda::check_fixed_results(*program);
  const m40_op_sample* sample = m40::find_sample(program->ops);
  if (sample == nullptr || step.n_outputs == 0) return;
  if (memory.values != nullptr) read_values(program, *sample, memory.values);
  m40::write_results(*sample, step, reinterpret_cast<const uint32_t*>(results + StepResults::statuses_offset()),
                     reinterpret_cast<const m40_sample*>(results + StepResults::samples_offset(program->limits.limits)), memory);
}

// However the step ends, its work on the device is over, or the device lost.
class EndsWork {
 public:
  explicit EndsWork(m40_program* program) : work_(program->progress->work) {}
  ~EndsWork() { work_.end(); }
  EndsWork(const EndsWork&) = delete;
  EndsWork& operator=(const EndsWork&) = delete;

 private:
  m40::cuda::LaunchedWork& work_;
};

}  // namespace

void m40::run_step(m40_program* program, const void* block, const Step& step, const ResultMemory& memory) {
  give_step(program, block, step);
  const EndsWork ends(program);
  wait_to_end(program);
  take_results(program, memory);
}

void m40::profile_step(m40_program* program, const void* block, const Step& step, float* times) {
  program->context->use();
  OperationTimes marks(*program);
  give_step(program, block, step, &marks);
  const EndsWork ends(program);
  wait_to_end(program);
  cuda::check_fixed_results(*program);
  marks.read(times);
}

void m40::begin_step(m40_program* program, const void* block, const Step& step) { give_step(program, block, step); }

// Sleeps until shortly before the end, where it is known, so that no processor spins. The next call watches a step that
// takes longer than the forecast to its end.
void m40::wait_for_step(m40_program* program) {
  StepProgress& progress = *program->progress;
  if (!progress.woken && progress.forecast.knows(progress.shape)) {
    progress.woken = true;
    Clock::sleep_until(progress.forecast.wake_time(progress.shape, progress.begun));
    return;
  }
  program->step_under_way = false;  // where the device fails
  program->context->use_for_steps();
  wait_to_end(program);
  progress.forecast.took(progress.shape, Clock::now() - progress.begun);
  progress.timed = program->step_under_way = true;
}

void m40::finish_step(m40_program* program, const ResultMemory& memory) {
  program->step_under_way = false;  // however it ends, but for this:
  program->context->use_for_steps();
  if (!watched(program, [program] { return ends_soon(program); })) {
    program->step_under_way = true;
    fail(M40_NOT_READY, "the step is not over: wanted m40_step_wait again");
  }
  const EndsWork ends(program);
  check_result_memory(find_sample(program->ops), program->step, memory);
  take_results(program, memory);
}
