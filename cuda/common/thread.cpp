#include "thread.h"

#include <signal.h>
#include <string.h>

#include <utility>

#include "error.h"

// Built on a new system, these would be bound to versions that glibc 2.31 lacks; their old versions are the
// same functions.
#if defined(__x86_64__) && defined(__GLIBC__)
asm(".symver pthread_create, pthread_create@GLIBC_2.2.5");
asm(".symver pthread_join, pthread_join@GLIBC_2.2.5");
asm(".symver pthread_sigmask, pthread_sigmask@GLIBC_2.2.5");
#endif

namespace m40 {

int Thread::try_start(std::function<void()> body) {
  body_ = std::move(body);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int code = pthread_create(&handle_, nullptr, &Thread::run, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  running_ = code == 0;
  return code;
}

void Thread::start(std::function<void()> body) {
  const int code = try_start(std::move(body));
  if (code != 0) fail(M40_INTERNAL, "a thread cannot be started: %s", strerror(code));
}

void Thread::join() {
  if (running_) pthread_join(handle_, nullptr);
  running_ = false;
}

void* Thread::run(void* thread) {
  static_cast<Thread*>(thread)->body_();
  return nullptr;
}

}  // namespace m40
