// A thread that leaves all signals to the host program's own.
#ifndef M40_RUNTIME_THREAD_H
#define M40_RUNTIME_THREAD_H

#include <pthread.h>

#include <functional>

namespace m40 {

class Thread {
 public:
  Thread() = default;
  ~Thread() { join(); }
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  // Nothing may be thrown by body. Returns 0, or the system's error where it has no thread left.
  int try_start(std::function<void()> body);
  // Fails where the system has no thread left.
  void start(std::function<void()> body);
  void join();

 private:
  static void* run(void* thread);

  std::function<void()> body_;
  pthread_t handle_ = {};
  bool running_ = false;
};

}  // namespace m40

#endif
