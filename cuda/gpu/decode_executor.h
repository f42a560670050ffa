// An executor that decodes in a way of its own, beside launches and graphs, which every program has. What a step's code
// knows of it is here; decode_executor.cu says which one the library has.
#ifndef M40_RUNTIME_DECODE_EXECUTOR_H
#define M40_RUNTIME_DECODE_EXECUTOR_H

#include <stdint.h>

#include <memory>
#include <string>

#include "../include/m40.h"
#include "../kernels/advance_run_args.cuh"
#include "../program/validate.h"
#include "step_input.h"

namespace m40::cuda {

// A program's.
class DecodeExecutor {
 public:
  virtual ~DecodeExecutor() = default;

  enum class Begun : uint8_t {
    kYes,
    kNotNow,  // the device has other work
    kNever,   // not a step of this shape: why() says it
  };

  // Asks for a step with its input in the program's own host memory. The sizes are those of the input and of the
  // results. No step may be running.
  virtual Begun begin(const StepShape& shape, uint64_t input_bytes, uint64_t result_bytes) = 0;
  // The same for the first step of a run. The run's state is in the device's memory already; the results go into the
  // ring.
  virtual Begun begin_run(const StepShape& shape, uint64_t input_bytes, const AdvanceRunArgs& advance) = 0;
  // Asks for the next step of the run; all but the last one that was asked for are done. False where it will not be
  // done: the executor has left the device to other work, perhaps before that last one (state() says so).
  virtual bool begin_next() = 0;

  enum class State : uint8_t {
    kRuns,
    kCalledBack,  // the same, but it had left ahead of the step
    kDone,
    kDisplaced,  // it will not be done: other work came onto the device first
    kRefused,    // it will not be done, nor any later one
  };

  // The state of the step that was asked for last, or so many steps earlier; all steps before that one are done. Throws
  // Failure where the device was lost.
  virtual State state(uint32_t before_last = 0) = 0;

  // Milliseconds that the step took which is done, by the device.
  virtual float milliseconds() const = 0;

  // Why steps of some shape are never done so; empty where all are.
  virtual std::string why() const = 0;
};

class DecodeExecutorKind {
 public:
  // Rows of a step, at most.
  virtual uint32_t most_rows() const = 0;
  // Whether a device has it; why it has not, where it is not nullptr.
  virtual bool runs_on(uint32_t device, std::string* why) const = 0;
  // Bytes of a program's memory that it wants (m40_program's plan.executor).
  virtual uint64_t memory_bytes(const ProgramDescription& program) const = 0;
  // Throws Failure where there is no memory or stream for it.
  virtual std::unique_ptr<DecodeExecutor> make(const m40_program& program) const = 0;

 protected:
  ~DecodeExecutorKind() = default;
};

// nullptr: the library has none.
const DecodeExecutorKind* decode_executor_kind();

// Whether a device has one; why it has not, where it is not nullptr.
bool has_decode_executor(uint32_t device, std::string* why);
// What it takes of a program's memory.
uint64_t decode_executor_bytes(const ProgramDescription& program);
// nullptr where the program has none, and why.
std::unique_ptr<DecodeExecutor> make_decode_executor(const m40_program& program, std::string* why);

}  // namespace m40::cuda

#endif
