// How long the operations of a step take, by marks on the stream between them.
#ifndef M40_RUNTIME_OPERATION_TIMES_H
#define M40_RUNTIME_OPERATION_TIMES_H

#include <algorithm>
#include <vector>

#include "cuda_check.h"
#include "device_objects.h"

namespace m40::cuda {

// Made and used with the program's context current.
class OperationTimes {
 public:
  explicit OperationTimes(const m40_program& program) : stream_(program.stream), events_(program.ops.size() + 1), marked_(events_.size()) {
    try {
      for (cudaEvent_t& event : events_) check(cudaEventCreateWithFlags(&event, cudaEventDefault), "a step's times");
    } catch (...) {
      destroy();
      throw;
    }
  }
  ~OperationTimes() { destroy(); }
  OperationTimes(const OperationTimes&) = delete;
  OperationTimes& operator=(const OperationTimes&) = delete;

  // Work on the stream from here on is of operation i; the number after the last one ends that.
  void mark(size_t i) {
    check(cudaEventRecord(events_[i], stream_), "a step's times");
    marked_[i] = true;
  }

  // Of a step that is done, in microseconds; -1 of an operation without a mark.
  void read(float* times) const {
    std::vector<float> read(marked_.size() - 1, -1.0f);
    for (size_t i = 0, next; i + 1 < marked_.size(); i = next) {
      for (next = i + 1; !marked_[next];) next++;  // the last one is
      check(cudaEventElapsedTime(&read[i], events_[i], events_[next]), "a step's times");
      read[i] *= 1000;
    }
    std::copy(read.begin(), read.end(), times);
  }

 private:
  void destroy() {
    for (cudaEvent_t event : events_) {
      if (event != nullptr) cudaEventDestroy(event);
    }
  }

  cudaStream_t stream_;
  std::vector<cudaEvent_t> events_;
  std::vector<bool> marked_;
};

}  // namespace m40::cuda

#endif
