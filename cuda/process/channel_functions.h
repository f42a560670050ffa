// The functions of m40.h that a channel serves: what their parameters are, which memory goes there and back, and how
// much of it. Both ends go by this.
#ifndef M40_RUNTIME_CHANNEL_FUNCTIONS_H
#define M40_RUNTIME_CHANNEL_FUNCTIONS_H

#include <stdint.h>

#include "channel.h"
#include "channel_functions.generated.h"

namespace m40::channel {

enum class Handle : uint8_t { kContext, kArena, kCache, kProgram };
const char* handle_name(Handle kind);

enum class Kind : uint8_t {
  kNumber,  // of element_bytes
  kHandle,
  kIn,      // memory that is read
  kText,    // zero-terminated; read
  kOut,     // memory that is written
  kMade,    // where a new handle is written
};

struct Parameter {
  Kind kind;
  Handle handle;           // of kHandle and kMade
  uint32_t element_bytes;  // of a number, and of memory
  int8_t count;            // the parameter that says how many elements the memory has; -1: it has one
};

struct Function {
  const char* name;
  const char* what;  // it is about, for errors
  Lane lane;
  uint32_t n_parameters;  // the error is not counted
  Parameter parameters[max_arguments];
  // words: a number, a handle or an address each. value: what it gives that is no status. nullptr where a channel sends
  // another function instead: what m40_host_share is given is the caller's, and arrives as a message of kHostAlloc.
  m40_status (*invoke)(const uint64_t* words, m40_error* error, uint64_t* value);
};

enum FunctionIndex : uint32_t {
#define FUNCTION(index, ...) index,
  M40_CHANNEL_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

// Those that a second thread may call, for programs of M40_LANE_PROMPTS: in Lane kPrompts then.
constexpr bool is_step(uint32_t index) { return index == kStepBegin || index == kStepWait || index == kStepFinish || index == kStep; }

uint32_t n_functions();
const Function& function_at(uint32_t index);

// Bytes of the memory of a parameter. number(i): the value of parameter i. Throws where there are too many.
template <class Number>
uint64_t memory_bytes(const Function& function, uint32_t index, const Number& number);

uint64_t checked_memory_bytes(const Function& function, uint32_t index, uint64_t n_elements);

template <class Number>
uint64_t memory_bytes(const Function& function, uint32_t index, const Number& number) {
  const int8_t count = function.parameters[index].count;
  return checked_memory_bytes(function, index, count < 0 ? 1 : number(static_cast<uint32_t>(count)));
}

constexpr bool is_memory(Kind kind) { return kind != Kind::kNumber && kind != Kind::kHandle; }
constexpr bool is_written(Kind kind) { return kind == Kind::kOut || kind == Kind::kMade; }

}  // namespace m40::channel

#endif
