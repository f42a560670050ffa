// What programs and their arenas are in every library: records, limits, and the state of the running step.
#ifndef M40_RUNTIME_PROGRAM_H
#define M40_RUNTIME_PROGRAM_H

#include <stdint.h>

#include <vector>

#include "../include/m40.h"
#include "../common/error.h"
#include "exchange.h"
#include "step.h"
#include "validate.h"

namespace m40 {

// A block of memory that things are placed in one after the other.
struct Arena {
  uint8_t* memory = nullptr;  // nullptr once destroyed
  uint64_t n_bytes = 0;
  uint64_t used_bytes = 0;

  bool alive() const { return memory != nullptr; }
  // The memory of the next placed_bytes (a multiple of the library's alignment), which are taken by take() only, so
  // that an upload that fails leaves the arena as it was. Throws where there is no room.
  uint8_t* next(uint64_t placed_bytes, const char* what) const;
  void take(uint64_t placed_bytes) { used_bytes += placed_bytes; }
};

// Answers what a context's tensors are. Indices are those of tensors that exist.
class TensorArenas {
 public:
  virtual const Arena* arena_of(uint32_t tensor) const = 0;

 protected:
  ~TensorArenas() = default;
};

struct ProgramBase {
  StepLimits limits = {};
  std::vector<m40_buffer_desc> buffers;
  std::vector<m40_op> ops;
  std::vector<const Arena*> arenas;  // of all that the program reads and writes
  std::vector<uint32_t> seen;        // parse_step's scratch
  Step step = {};                    // the running one, or the last
  Exchange exchange;                 // of a program with exchanges
  bool step_under_way = false;       // begun, and not finished
  bool run_under_way = false;        // begun, and its end not yet reported

  bool uses_cache() const { return limits.kv_block_tokens != 0 || limits.n_slots != 0; }
};

// Throws where a pointer is missing.
ProgramDescription describe_program(const m40_limits* limits, const m40_cache_desc* cache, const m40_buffer_desc* buffers,
                                    uint32_t n_buffers, const m40_op* ops, uint32_t n_ops);

// Fills in a program that validate_program has accepted. arena: its own; cache_arena: of the cache in the description.
void fill_program(ProgramBase& program, const ProgramDescription& description, const TensorLookup& tensors, const TensorArenas& arenas,
                  const Arena* arena, const Arena* cache_arena);

// Throws where the program is nullptr, or an arena that it uses has been destroyed.
void check_alive(const ProgramBase* program);

// Throws where the program is not alive, or a step or a run is not over.
void check_idle(const ProgramBase* program);

// Throws where the program is not alive, has no such buffer, or the buffer not n_bytes.
void check_buffer_access(const ProgramBase* program, uint32_t buffer, const void* data, uint64_t n_bytes);

// Parses the block of the next step. Throws where a step or a run is not over; that one continues.
Step parse_next_step(ProgramBase* program, const void* block, uint64_t block_bytes);

// Throws where there is not one time for each of the program's operations.
void check_times(const ProgramBase* program, const float* times, uint32_t n_times);

// Throws where no step or run has begun.
void require_step(const ProgramBase* program);
void require_run(const ProgramBase* program);

}  // namespace m40

#endif
