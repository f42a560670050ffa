#include "channel_functions.h"

#include <string.h>

#include <type_traits>
#include <utility>

#include "../common/error.h"

namespace m40::channel {

namespace {

template <class A>
A from_word(uint64_t word) {
  if constexpr (std::is_pointer_v<A>) {
    return reinterpret_cast<A>(word);
  } else {
    return static_cast<A>(word);
  }
}

template <class R, class... A, size_t... i>
m40_status invoke_as(R (*function)(A...), const uint64_t* words, m40_error* error, uint64_t* value, std::index_sequence<i...>) {
  const auto argument = [&](auto tag, size_t index) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, m40_error*>) {
      return error;
    } else {
      return from_word<T>(words[index]);
    }
  };
  if constexpr (std::is_same_v<R, m40_status>) {
    return function(argument(std::common_type<A>{}, i)...);
  } else if constexpr (std::is_void_v<R>) {
    function(argument(std::common_type<A>{}, i)...);
    return M40_OK;
  } else {
    *value = function(argument(std::common_type<A>{}, i)...);
    return M40_OK;
  }
}

template <class R, class... A>
constexpr uint32_t arity(R (*)(A...)) {
  return sizeof...(A) - (std::is_same_v<R, m40_status> ? 1 : 0);
}

template <class R, class... A>
constexpr std::index_sequence_for<A...> indices(R (*)(A...)) {
  return {};
}

template <auto function>
m40_status invoke(const uint64_t* words, m40_error* error, uint64_t* value) {
  return invoke_as(function, words, error, value, indices(function));
}

template <auto function, class... P>
constexpr Function entry(const char* name, const char* what, Lane lane, P... parameters) {
  static_assert(sizeof...(P) == arity(function) && sizeof...(P) <= max_arguments, "each parameter is described");
  return {name, what, lane, sizeof...(P), {parameters...}, &invoke<function>};
}

constexpr Parameter number32 = {Kind::kNumber, {}, 4, -1};
constexpr Parameter number64 = {Kind::kNumber, {}, 8, -1};
constexpr Parameter text = {Kind::kText, {}, 1, -1};

constexpr Parameter context = {Kind::kHandle, Handle::kContext, 0, -1};
constexpr Parameter arena = {Kind::kHandle, Handle::kArena, 0, -1};
constexpr Parameter cache = {Kind::kHandle, Handle::kCache, 0, -1};
constexpr Parameter program = {Kind::kHandle, Handle::kProgram, 0, -1};

constexpr Parameter made(Handle kind) { return {Kind::kMade, kind, 8, -1}; }

template <class T>
constexpr Parameter in(int8_t count = -1) {
  return {Kind::kIn, {}, sizeof(T), count};
}
template <class T>
constexpr Parameter out(int8_t count = -1) {
  return {Kind::kOut, {}, sizeof(T), count};
}

#define ENTRY(function, ...) entry<&function>(#function, __VA_ARGS__)

// Those of FunctionIndex first, in its order.
constexpr Function functions[] = {
    ENTRY(m40_context_destroy, "a context", kCalls, context),
    ENTRY(m40_arena_destroy, "an arena", kCalls, arena),
    ENTRY(m40_program_destroy, "a program", kCalls, program),
    ENTRY(m40_host_alloc, "host memory", kCalls, context, number64, made({})),
    ENTRY(m40_host_free, "host memory", kCalls, context, number64),
    ENTRY(m40_step_begin, "a step", kSteps, program, in<uint8_t>(2), number64),
    ENTRY(m40_step_wait, "a step", kSteps, program),
    ENTRY(m40_step_finish, "a step", kSteps, program, out<m40_result>(2), number32),
    ENTRY(m40_step, "a step", kCalls, program, in<uint8_t>(2), number64, out<m40_result>(4), number32, out<float>(6), number64),
    ENTRY(m40_program_create, "a program", kCalls, arena, in<m40_limits>(), cache, in<m40_buffer_desc>(4), number32, in<m40_op>(6), number32,
          made(Handle::kProgram)),
    ENTRY(m40_run_begin, "a run", kSteps, program, in<uint8_t>(2), number64, in<uint8_t>(4), number64, out<uint8_t>(6), number64),
    ENTRY(m40_run_wait, "a run", kSteps, program),
    // The shared memory is the caller's: what arrives is a message of kHostAlloc.
    {"m40_host_share", "host memory", kCalls, 3, {context, number64, made({})}, nullptr},

    ENTRY(m40_device_count, "the devices", kCalls, out<uint32_t>()),
    ENTRY(m40_get_device_info, "a device", kCalls, number32, out<m40_device_info>()),
    ENTRY(m40_get_device_state, "a device's state", kState, number32, out<m40_device_state>()),
    ENTRY(m40_get_management, "the driver", kState, out<m40_management>()),
    ENTRY(m40_get_device_health, "a device's state", kState, number32, out<m40_device_health>()),
    ENTRY(m40_set_power_limit, "the power limit", kState, number32, number32, out<m40_power_limit>()),
    ENTRY(m40_context_create, "a context", kCalls, in<m40_context_options>(), made(Handle::kContext)),
    ENTRY(m40_arena_create, "an arena", kCalls, context, number64, made(Handle::kArena)),
    ENTRY(m40_arena_used_bytes, "an arena", kCalls, arena),
    ENTRY(m40_tensor_bytes, "a tensor", kCalls, context, in<m40_tensor_desc>(), out<uint64_t>()),
    ENTRY(m40_tensor_from_file, "an upload", kCalls, arena, in<m40_tensor_desc>(), text, number64, out<uint32_t>()),
    ENTRY(m40_tensor_from_memory, "an upload", kCalls, arena, in<m40_tensor_desc>(), in<uint8_t>(3), number64, out<uint32_t>()),
    ENTRY(m40_upload_finish, "an upload", kCalls, context),
    ENTRY(m40_tensor_read, "a tensor", kCalls, context, number32, number64, number64, out<float>(5), number64),
    ENTRY(m40_cache_bytes, "a KV cache", kCalls, context, in<m40_cache_desc>(), out<uint64_t>(), out<uint64_t>(), out<uint64_t>()),
    ENTRY(m40_cache_create, "a KV cache", kCalls, arena, in<m40_cache_desc>(), made(Handle::kCache)),
    ENTRY(m40_cache_copy_pages, "pages of the KV cache", kCalls, cache, in<uint32_t>(3), in<uint32_t>(3), number32),
    ENTRY(m40_cache_save_pages, "pages of the KV cache", kCalls, cache, in<uint32_t>(2), number32, out<uint8_t>(4), number64),
    ENTRY(m40_cache_restore_pages, "pages of the KV cache", kCalls, cache, in<uint32_t>(2), number32, in<uint8_t>(4), number64),
    ENTRY(m40_cache_save_slots, "slots of states", kCalls, cache, in<uint32_t>(2), number32, out<uint8_t>(4), number64),
    ENTRY(m40_cache_restore_slots, "slots of states", kCalls, cache, in<uint32_t>(2), number32, in<uint8_t>(4), number64),
    ENTRY(m40_program_bytes, "a program", kCalls, context, in<m40_limits>(), in<m40_cache_desc>(), in<m40_buffer_desc>(4), number32, in<m40_op>(6), number32,
          out<uint64_t>()),
    ENTRY(m40_program_exchange_bytes, "a program", kCalls, program, out<uint64_t>()),
    ENTRY(m40_program_inbox, "a program", kCalls, program, out<m40_inbox>()),
    ENTRY(m40_program_exchange, "a program", kCalls, program, out<uint8_t>(2), number64, in<m40_inbox>(4), number32),
    ENTRY(m40_program_executors, "a program", kCalls, program, out<uint32_t>(2), number32, out<char>(4), number32),
    ENTRY(m40_buffer_write, "a buffer", kCalls, program, number32, in<uint8_t>(3), number64),
    ENTRY(m40_buffer_read, "a buffer", kCalls, program, number32, out<uint8_t>(3), number64),
    ENTRY(m40_step_profile, "a step", kCalls, program, in<uint8_t>(2), number64, out<float>(4), number32),
};

#undef ENTRY

static_assert(functions[kRunWait].invoke == &invoke<&m40_run_wait> && functions[kHostAlloc].invoke == &invoke<&m40_host_alloc> &&
                  functions[kProgramCreate].invoke == &invoke<&m40_program_create>,
              "FunctionIndex has the order of the table");

}  // namespace

const char* handle_name(Handle kind) {
  switch (kind) {
    case Handle::kContext: return "a context";
    case Handle::kArena: return "an arena";
    case Handle::kCache: return "a cache";
    case Handle::kProgram: return "a program";
  }
  return "";
}

uint32_t n_functions() { return sizeof(functions) / sizeof(functions[0]); }

const Function& function_at(uint32_t index) {
  if (index >= n_functions()) fail(M40_INVALID_ARGUMENT, "function %u of a channel: there are %u", index, n_functions());
  return functions[index];
}

uint64_t checked_memory_bytes(const Function& function, uint32_t index, uint64_t n_elements) {
  uint64_t n_bytes;
  if (__builtin_mul_overflow(n_elements, uint64_t{function.parameters[index].element_bytes}, &n_bytes) || n_bytes > channel_bytes) {
    fail(M40_INVALID_ARGUMENT, "%s: parameter %u has %llu elements: more than a channel can hand over", function.name, index,
         static_cast<unsigned long long>(n_elements));
  }
  return n_bytes;
}

}  // namespace m40::channel

extern "C" uint32_t m40_channel_function(const char* name) {
  for (uint32_t i = 0; name != nullptr && i < m40::channel::n_functions(); i++) {
    if (strcmp(m40::channel::function_at(i).name, name) == 0) return i;
  }
  return M40_NONE;
}
