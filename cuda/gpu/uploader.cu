#include "uploader.h"

#include <string.h>

#include <algorithm>

#include "../ops/ops.h"

namespace m40::cuda {

namespace {

// Large enough for a disk's full speed, small enough to be allocated.
constexpr uint64_t lane_bytes = uint64_t{16} << 20;

}  // namespace

Uploader::~Uploader() {
  for (Lane& lane : lanes_) free_lane(lane);
}

void Uploader::free_lane(Lane& lane) {
  if (lane.stream != nullptr) cudaStreamDestroy(lane.stream);
  if (lane.done != nullptr) cudaEventDestroy(lane.done);
  if (lane.device != nullptr) cudaFree(lane.device);
  lane = Lane();
}

Uploader::Lane& Uploader::next_lane(uint64_t n_bytes) {
  work_.begin(seat_);
  Lane& lane = lanes_[next_];
  next_ = 1 - next_;
  if (lane.stream == nullptr) check(cudaStreamCreateWithFlags(&lane.stream, cudaStreamNonBlocking), "an upload");
  if (lane.done == nullptr) check(cudaEventCreateWithFlags(&lane.done, cudaEventDisableTiming), "an upload");
  if (lane.used) watch_.wait(lane.done, "an upload");
  lane.used = false;
  if (lane.device_bytes < n_bytes) {
    // Allocating and freeing wait for the device themselves, without a bound.
    wait_for_lanes();
    const uint64_t wanted = std::max(n_bytes, lane_bytes);
    if (lane.device != nullptr) check(cudaFree(lane.device), "an upload");
    lane.device = nullptr;
    lane.device_bytes = 0;
    lane.host.reset();
    lane.host.reset(new HostMemory(watch_, wanted));
    void* memory = nullptr;
    check(cudaMalloc(&memory, wanted), "device memory for uploads");
    lane.device = static_cast<uint8_t*>(memory);
    lane.device_bytes = wanted;
  }
  return lane;
}

void Uploader::upload(const m40_tensor_desc& desc, const PackedWeight& weight, const ReadData& read) {
  const uint64_t row_bytes = checked_row_bytes(desc.type, desc.columns);
  const uint64_t n_rows = uint64_t{desc.n_experts} * desc.rows;
  // Rows that a lane holds: whole tiles, so that no two lanes write to one.
  const uint64_t tile = packed_tile_rows;
  const uint64_t chunk = std::max<uint64_t>(lane_bytes / row_bytes / tile * tile, tile);
  for (uint64_t expert = 0; expert < desc.n_experts; expert++) {
    for (uint64_t row = 0; row < desc.rows; row += chunk) {
      const uint64_t first = expert * desc.rows + row;
      // Small experts go together, as many as fit.
      const bool whole = desc.rows <= chunk / 2;
      uint64_t rows = std::min<uint64_t>(chunk, desc.rows - row);
      if (whole) {
        const uint64_t experts = std::min<uint64_t>(std::max<uint64_t>(lane_bytes / row_bytes / desc.rows, 1), desc.n_experts - expert);
        rows = experts * desc.rows;
        expert += experts - 1;
      }
      Lane& lane = next_lane(rows * row_bytes);
      read(first * row_bytes, lane.host->data(), rows * row_bytes);
      check(cudaMemcpyAsync(lane.device, lane.host->data(), rows * row_bytes, cudaMemcpyHostToDevice, lane.stream), "an upload");
      launch_repack(lane.device, weight, first, rows, lane.stream);
      check_launches("an upload");
      check(cudaEventRecord(lane.done, lane.stream), "an upload");
      lane.used = true;
      busy_ = true;
      if (first + rows == n_rows) return;
    }
  }
}

void Uploader::upload_vector(const m40_tensor_desc& desc, float* values, const ReadData& read) {
  const uint64_t data_bytes = checked_tensor_bytes(desc);
  const bool converts = desc.type != M40_TYPE_F32;
  const uint64_t raw_bytes = align_up(data_bytes);
  Lane& lane = next_lane(raw_bytes + (converts ? packed_bytes(desc.type, 1, 1, desc.columns) : 0));
  read(0, lane.host->data(), data_bytes);
  if (!converts) {
    check(cudaMemcpyAsync(values, lane.host->data(), data_bytes, cudaMemcpyHostToDevice, lane.stream), "an upload");
  } else {
    check(cudaMemcpyAsync(lane.device, lane.host->data(), data_bytes, cudaMemcpyHostToDevice, lane.stream), "an upload");
    const PackedWeight packed = packed_view(desc.type, 1, 1, desc.columns, lane.device + raw_bytes);
    launch_repack(lane.device, packed, 0, 1, lane.stream);
    launch_read_rows(packed, 0, 1, values, lane.stream);
    check_launches("an upload");
  }
  check(cudaEventRecord(lane.done, lane.stream), "an upload");
  lane.used = true;
  busy_ = true;
}

void Uploader::wait_for_lanes() {
  for (Lane& lane : lanes_) {
    if (lane.stream != nullptr) watch_.wait(lane.stream, "an upload");
    lane.used = false;
  }
  busy_ = false;
}

void Uploader::wait() {
  wait_for_lanes();
  work_.end();
}

void Uploader::finish() {
  wait_for_lanes();
  for (Lane& lane : lanes_) free_lane(lane);
  // Freeing waits for the device as well.
  work_.end();
}

}  // namespace m40::cuda
