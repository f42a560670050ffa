#include "thread_pool.h"

#include <string.h>
#include <time.h>

#include "../common/error.h"

namespace m40::reference {

namespace {

// Operations follow each other within microseconds, so a thread waits a little before it goes to sleep.
constexpr int64_t spin_ns = 50'000;

int64_t now_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

// Whether the condition came true within the time to spin.
template <class Condition>
bool spin_until(const Condition& condition) {
  const int64_t end = now_ns() + spin_ns;
  do {
    for (int i = 0; i < 16; i++) {
      if (condition()) return true;
      pause_briefly();
    }
  } while (now_ns() < end);
  return false;
}

}  // namespace

ThreadPool::ThreadPool(uint32_t n_threads) : n_threads_(n_threads), workers_(n_threads - 1) {
  for (size_t i = 0; i < workers_.size(); i++) {
    const int code = workers_[i].try_start([this, thread = static_cast<uint32_t>(i) + 1] { serve(thread); });
    if (code != 0) {
      stop();
      fail(M40_OUT_OF_MEMORY, "thread %zu of %u could not be started: %s", i + 2, n_threads, strerror(code));
    }
  }
}

ThreadPool::~ThreadPool() {
  stop();
  pthread_cond_destroy(&wake_caller_);
  pthread_cond_destroy(&wake_workers_);
  pthread_mutex_destroy(&mutex_);
}

void ThreadPool::stop() {
  stopping_ = true;
  pthread_mutex_lock(&mutex_);
  generation_++;
  pthread_cond_broadcast(&wake_workers_);
  pthread_mutex_unlock(&mutex_);
  for (Thread& worker : workers_) worker.join();
}

void ThreadPool::run(const Job& job) {
  if (workers_.empty() || job.n_items <= job.chunk) {
    for (uint64_t begin = 0; begin < job.n_items; begin += job.chunk) {
      const uint64_t rest = job.n_items - begin;
      job.call(job.function, begin, begin + (rest < job.chunk ? rest : job.chunk), 0);
    }
    return;
  }
  job_ = job;
  next_item_ = 0;
  n_working_ = static_cast<uint32_t>(workers_.size());
  generation_++;
  // A worker counts itself asleep before it reads the generation for the last time. So either it sees the new one, or
  // this thread sees that it sleeps.
  if (n_asleep_ > 0) {
    pthread_mutex_lock(&mutex_);
    pthread_cond_broadcast(&wake_workers_);
    pthread_mutex_unlock(&mutex_);
  }
  work(0);
  if (spin_until([&] { return n_working_ == 0; })) return;
  pthread_mutex_lock(&mutex_);
  caller_asleep_ = true;
  while (n_working_ != 0) pthread_cond_wait(&wake_caller_, &mutex_);
  caller_asleep_ = false;
  pthread_mutex_unlock(&mutex_);
}

void ThreadPool::work(uint32_t thread) {
  const Job job = job_;
  for (;;) {
    const uint64_t begin = next_item_.fetch_add(job.chunk, std::memory_order_relaxed);
    if (begin >= job.n_items) return;
    const uint64_t rest = job.n_items - begin;
    job.call(job.function, begin, begin + (rest < job.chunk ? rest : job.chunk), thread);
  }
}

void ThreadPool::serve(uint32_t thread) {
  uint64_t done = 0;
  for (;;) {
    if (!spin_until([&] { return generation_ != done; })) {
      pthread_mutex_lock(&mutex_);
      n_asleep_++;
      while (generation_ == done) pthread_cond_wait(&wake_workers_, &mutex_);
      n_asleep_--;
      pthread_mutex_unlock(&mutex_);
    }
    done = generation_;
    if (stopping_) return;
    work(thread);
    if (n_working_.fetch_sub(1) == 1 && caller_asleep_) {
      pthread_mutex_lock(&mutex_);
      pthread_cond_signal(&wake_caller_);
      pthread_mutex_unlock(&mutex_);
    }
  }
}

}  // namespace m40::reference
