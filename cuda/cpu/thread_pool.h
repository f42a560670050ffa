// Threads that share the rows of an operation. The calling thread works too. Which thread computes what is
// left to chance; operations are written so that it cannot be seen in the results.
#ifndef M40_REFERENCE_THREAD_POOL_H
#define M40_REFERENCE_THREAD_POOL_H

#include <pthread.h>
#include <stdint.h>

#include <atomic>
#include <vector>

#include "../common/thread.h"

namespace m40::reference {

class ThreadPool {
 public:
  // n_threads counts the calling thread; at least 1. Throws Failure where the system has no threads left.
  explicit ThreadPool(uint32_t n_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  uint32_t n_threads() const { return n_threads_; }

  // Calls body(begin, end, thread) over [0, n_items) in chunks, thread < n_threads(), and returns when all of
  // it is done. body must not throw.
  template <class Body>
  void parallel(uint64_t n_items, uint64_t chunk, const Body& body) {
    const Job job = {[](const void* function, uint64_t begin, uint64_t end, uint32_t thread) noexcept {
                       (*static_cast<const Body*>(function))(begin, end, thread);
                     },
                     &body, n_items, chunk == 0 ? 1 : chunk};
    run(job);
  }

 private:
  struct Job {
    void (*call)(const void* function, uint64_t begin, uint64_t end, uint32_t thread) noexcept;
    const void* function;
    uint64_t n_items;
    uint64_t chunk;
  };

  void run(const Job& job);
  void work(uint32_t thread);
  void serve(uint32_t thread);
  void stop();  // those that were started

  const uint32_t n_threads_;
  std::vector<Thread> workers_;
  Job job_ = {};
  std::atomic<uint64_t> next_item_{0};
  std::atomic<uint64_t> generation_{0};  // of the job; a new value is the call to work
  std::atomic<uint32_t> n_working_{0};   // workers that have not finished the job
  std::atomic<uint32_t> n_asleep_{0};    // workers that must be woken
  std::atomic<bool> caller_asleep_{false};
  std::atomic<bool> stopping_{false};
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t wake_workers_ = PTHREAD_COND_INITIALIZER;
  pthread_cond_t wake_caller_ = PTHREAD_COND_INITIALIZER;
};

}  // namespace m40::reference

#endif
