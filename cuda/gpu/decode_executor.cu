#include "decode_executor.h"

#include "device_objects.h"
#include "persistent/persistent_kernel.h"

namespace m40::cuda {

// Without the folder persistent/, and its header above, this is nullptr.
const DecodeExecutorKind* decode_executor_kind() { return &persistent_kernel(); }

bool has_decode_executor(uint32_t device, std::string* why) {
  const DecodeExecutorKind* const kind = decode_executor_kind();
  if (kind != nullptr) return kind->runs_on(device, why);
  if (why != nullptr) *why = "the library has none";
  return false;
}

uint64_t decode_executor_bytes(const ProgramDescription& program) {
  const DecodeExecutorKind* const kind = decode_executor_kind();
  return kind == nullptr ? 0 : kind->memory_bytes(program);
}

std::unique_ptr<DecodeExecutor> make_decode_executor(const m40_program& program, std::string* why) {
  const m40_context& context = *program.context;
  const bool main_lane = program.limits.limits.lane == M40_LANE_MAIN;
  if (program.exchange.n_operations() != 0) {
    *why = "the program exchanges rows with other cards";
  } else if (!main_lane) {
    // A program that computes concurrently with others leaves them room.
    *why = "the program is of the lane of prompts";
  } else if (context.executor != M40_EXECUTOR_AUTO && context.executor != M40_EXECUTOR_RESIDENT) {
    *why = "another executor was asked for";
  } else if (has_decode_executor(context.device, why)) {
    return decode_executor_kind()->make(program);
  }
  return nullptr;
}

}  // namespace m40::cuda
