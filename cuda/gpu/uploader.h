// The way of weights to the device: file -> page-locked memory -> device -> the layout that kernels read.
#ifndef M40_RUNTIME_UPLOADER_H
#define M40_RUNTIME_UPLOADER_H

#include <memory>

#include "device_objects.h"
#include "../common/tensor_slice.h"
#include "device_seat.h"

namespace m40::cuda {

// Two lanes of a page-locked buffer, a device buffer and a stream each: while one is copied and repacked, the other is
// read into. Copies may still run when upload() returns.
class Uploader {
 public:
  Uploader(DeviceWatch& watch, DeviceSeat& seat) : watch_(watch), seat_(seat) {}
  ~Uploader();
  Uploader(const Uploader&) = delete;
  Uploader& operator=(const Uploader&) = delete;

  // Blocks of desc.type to a packed weight.
  void upload(const m40_tensor_desc& desc, const PackedWeight& weight, const ReadData& read);
  // Blocks of desc.type to floats.
  void upload_vector(const m40_tensor_desc& desc, float* values, const ReadData& read);
  // Waits for all of it.
  void wait();
  // And gives the buffers back.
  void finish();
  bool busy() const { return busy_; }

 private:
  struct Lane {
    std::unique_ptr<HostMemory> host;
    uint8_t* device = nullptr;
    uint64_t device_bytes = 0;
    cudaStream_t stream = nullptr;
    cudaEvent_t done = nullptr;
    bool used = false;
  };

  // An idle lane with so much room.
  Lane& next_lane(uint64_t n_bytes);
  void wait_for_lanes();
  void free_lane(Lane& lane);

  DeviceWatch& watch_;
  DeviceSeat& seat_;
  LaunchedWork work_;  // while lanes are busy
  Lane lanes_[2];
  uint32_t next_ = 0;
  bool busy_ = false;
};

}  // namespace m40::cuda

#endif
