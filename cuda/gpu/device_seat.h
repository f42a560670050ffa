// Which kernel of a process may stay on a device: one at a time, and none while launches have work to do.
//
// Such a kernel takes all of a device's registers: other launches wait until it leaves. So a caller with other work for
// the device makes it leave first, and none starts while other work runs. Decoding is then launched as well, and the
// two share the device.
#ifndef M40_RUNTIME_DEVICE_SEAT_H
#define M40_RUNTIME_DEVICE_SEAT_H

#include <stdint.h>

#include <atomic>
#include <mutex>

namespace m40::cuda {

// What has such a kernel.
class Occupant {
 public:
  // Has the kernel leave, if it is there, and waits until it is gone. With the seat's mutex held.
  virtual void leave() = 0;
  // Whether a wait for it was given up.
  virtual bool hangs() const = 0;

 protected:
  ~Occupant() = default;
};

class DeviceSeat {
 public:
  // A device's; lives as long as the process.
  static DeviceSeat& of(uint32_t device);

  // Makes the occupant leave, and returns when it has left. Throws Failure where the device is lost or hangs.
  void clear();
  // The same, and none comes until end_work().
  void begin_work();
  void end_work();

  // Whether a kernel was asked to leave and the wait for it was given up. Then all contexts of the device are forbidden
  // what DeviceWatch::hangs() forbids.
  bool hangs() const { return hangs_; }

  std::mutex& mutex() { return mutex_; }
  // With the mutex held: makes any other occupant leave. False while there is other work.
  bool sit(Occupant* occupant);
  // Never to be called by it again.
  void forget(Occupant* occupant);

 private:
  void clear_locked(Occupant* but);

  std::mutex mutex_;
  std::atomic<Occupant*> sits_{nullptr};
  std::atomic<bool> hangs_{false};
  uint32_t n_works_ = 0;
};

// Work of launches on a device, from begin() to end() or its own end.
class LaunchedWork {
 public:
  LaunchedWork() = default;
  ~LaunchedWork() { end(); }
  LaunchedWork(const LaunchedWork&) = delete;
  LaunchedWork& operator=(const LaunchedWork&) = delete;

  void begin(DeviceSeat& seat) {
    if (seat_ != nullptr) return;
    seat.begin_work();
    seat_ = &seat;
  }
  void end() {
    if (seat_ != nullptr) seat_->end_work();
    seat_ = nullptr;
  }

 private:
  DeviceSeat* seat_ = nullptr;
};

}  // namespace m40::cuda

#endif
