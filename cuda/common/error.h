// How a failure leaves the library: fail() throws it from wherever it is noticed, and guarded(), which
// every extern "C" function that can fail is wrapped in, turns it into a status and a message.
#ifndef M40_RUNTIME_ERROR_H
#define M40_RUNTIME_ERROR_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <exception>
#include <new>
#include <stdexcept>

#include "../include/m40.h"

namespace m40 {

// Plain memory, so that reporting a lack of memory takes none.
struct Failure {
  m40_error error;
};

// Cuts a message that did not fit back to whole UTF-8 characters.
inline void trim_to_characters(char* text, size_t length) {
  size_t end = length;
  size_t back = 0;
  while (end > 0 && back < 4 && (static_cast<unsigned char>(text[end - 1]) & 0xC0) == 0x80) {
    end--;
    back++;
  }
  if (end == 0) return;
  const unsigned char lead = static_cast<unsigned char>(text[end - 1]);
  const size_t following = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;
  if (back < following) text[end - 1] = '\0';
}

inline void write_error(m40_error* error, m40_status status, const char* message) {
  if (error == nullptr) return;
  error->status = status;
  const size_t room = sizeof(error->message) - 1;
  const size_t length = strnlen(message, room + 1);
  const size_t copied = length < room ? length : room;
  memcpy(error->message, message, copied);
  error->message[copied] = '\0';
  if (length > room) trim_to_characters(error->message, copied);
}

[[noreturn]] inline void fail(m40_status status, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

[[noreturn]] inline void fail(m40_status status, const char* format, ...) {
  char message[sizeof(m40_error::message) + 1];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof(message), format, arguments);
  va_end(arguments);
  Failure failure;
  write_error(&failure.error, status, message);
  throw failure;
}

// Runs the body of an extern "C" function; no exception passes.
template <class Body>
m40_status guarded(m40_error* error, Body body) noexcept {
  try {
    body();
    return M40_OK;
  } catch (const Failure& failure) {
    if (error != nullptr) *error = failure.error;
    return failure.error.status;
  } catch (const std::bad_alloc&) {
    write_error(error, M40_OUT_OF_MEMORY, "the host has no memory left for the library's own records");
    return M40_OUT_OF_MEMORY;
  } catch (const std::length_error&) {
    write_error(error, M40_OUT_OF_MEMORY, "a list would be longer than the host's memory");
    return M40_OUT_OF_MEMORY;
  } catch (const std::exception& exception) {
    write_error(error, M40_INTERNAL, exception.what());
    return M40_INTERNAL;
  } catch (...) {
    write_error(error, M40_INTERNAL, "an exception of unknown type");
    return M40_INTERNAL;
  }
}

// For pointers that a caller must not leave out.
inline void require(const void* pointer, const char* name) {
  if (pointer == nullptr) fail(M40_INVALID_ARGUMENT, "%s is NULL", name);
}

}  // namespace m40

#endif
