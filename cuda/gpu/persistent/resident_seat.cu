#include "resident_seat.h"

#include <map>
#include <memory>

#include "../cuda_check.h"
#include "resident.h"

namespace m40::cuda {

ResidentSeat& ResidentSeat::of(uint32_t device) {
  // Never destroyed: a thread may hold it when the process ends.
  static std::mutex* const mutex = new std::mutex;
  static auto* const seats = new std::map<uint32_t, std::unique_ptr<ResidentSeat>>;
  const std::lock_guard<std::mutex> lock(*mutex);
  std::unique_ptr<ResidentSeat>& seat = (*seats)[device];
  if (seat == nullptr) seat.reset(new ResidentSeat);
  return *seat;
}

void ResidentSeat::clear_locked(ResidentDecoder* but) {
  if (hangs_) fail(M40_DEVICE_LOST, "the device hangs: its persistent kernel has not left");
  ResidentDecoder* const sits = sits_;
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

void ResidentSeat::clear() {
  if (sits_ == nullptr && !hangs_) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  clear_locked(nullptr);
}

void ResidentSeat::begin_work() {
  const std::lock_guard<std::mutex> lock(mutex_);
  clear_locked(nullptr);
  n_works_++;
}

void ResidentSeat::end_work() {
  const std::lock_guard<std::mutex> lock(mutex_);
  n_works_--;
}

bool ResidentSeat::sit(ResidentDecoder* decoder) {
  if (n_works_ != 0) return false;
  clear_locked(decoder);
  sits_ = decoder;
  return true;
}

void ResidentSeat::forget(ResidentDecoder* decoder) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (sits_ == decoder) sits_ = nullptr;
}

}  // namespace m40::cuda
