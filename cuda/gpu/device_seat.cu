#include "device_seat.h"

#include <map>
#include <memory>

#include "../common/error.h"

namespace m40::cuda {

DeviceSeat& DeviceSeat::of(uint32_t device) {
  // Never destroyed: a thread may hold it when the process ends.
  static std::mutex* const mutex = new std::mutex;
  static auto* const seats = new std::map<uint32_t, std::unique_ptr<DeviceSeat>>;
  const std::lock_guard<std::mutex> lock(*mutex);
  std::unique_ptr<DeviceSeat>& seat = (*seats)[device];
  if (seat == nullptr) seat.reset(new DeviceSeat);
  return *seat;
}

void DeviceSeat::clear_locked(Occupant* but) {
  if (hangs_) fail(M40_DEVICE_LOST, "the device hangs: its persistent kernel has not left");
  Occupant* const sits = sits_;
  if (sits == nullptr || sits == but) return;
  try {
    sits->leave();
  } catch (const Failure&) {
    hangs_ = sits->hangs();
    sits_ = nullptr;
    throw;
  }
  // Not earlier: without a persistent kernel, no lock is needed.
  sits_ = nullptr;
}

void DeviceSeat::clear() {
  if (sits_ == nullptr && !hangs_) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  clear_locked(nullptr);
}

void DeviceSeat::begin_work() {
  const std::lock_guard<std::mutex> lock(mutex_);
  clear_locked(nullptr);
  n_works_++;
}

void DeviceSeat::end_work() {
  const std::lock_guard<std::mutex> lock(mutex_);
  n_works_--;
}

bool DeviceSeat::sit(Occupant* occupant) {
  if (n_works_ != 0) return false;
  clear_locked(occupant);
  sits_ = occupant;
  return true;
}

void DeviceSeat::forget(Occupant* occupant) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (sits_ == occupant) sits_ = nullptr;
}

}  // namespace m40::cuda
