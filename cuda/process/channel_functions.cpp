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
constexpr Function entry(const char* name, decltype(Function::invoke) invoke, const char* what, Lane lane, P... parameters) {
  static_assert(sizeof...(P) == arity(function) && sizeof...(P) <= max_arguments, "each parameter is described");
  return {name, what, lane, sizeof...(P), {parameters...}, invoke};
}

// The words of channel_functions.generated.h: what a parameter is.
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

constexpr Function functions[] = {
#define FUNCTION(index, name, ...) entry<&name>(#name, __VA_ARGS__),
    M40_CHANNEL_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

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
