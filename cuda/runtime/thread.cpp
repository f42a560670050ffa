#include "thread.h"

#include <signal.h>
#include <string.h>

#include <utility>

#include "error.h"

// reference/thread_pool.cpp says why.
#if defined(__x86_64__) && defined(__GLIBC__)
asm(".symver pthread_create, pthread_create@GLIBC_2.2.5");
asm(".symver pthread_join, pthread_join@GLIBC_2.2.5");
asm(".symver pthread_sigmask, pthread_sigmask@GLIBC_2.2.5");
#endif

namespace m40 {

void Thread::start(std::function<void()> body) {
  body_ = std::move(body);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int code = pthread_create(&handle_, nullptr, &Thread::run, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (code != 0) fail(M40_INTERNAL, "a thread cannot be started: %s", strerror(code));
  running_ = true;
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
