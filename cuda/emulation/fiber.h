// A stack of its own for every thread of a block, and the switch between them.
#ifndef M40_EMULATION_FIBER_H
#define M40_EMULATION_FIBER_H

#include <stddef.h>
#include <stdint.h>

namespace m40::emulation {

// Runs work() again and again, once a resume(): a fiber that has finished waits for the next.
class Fiber {
 public:
  using Work = void (*)(void*);

  Fiber(Work work, void* argument);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs the fiber until it suspends itself.
  void resume();
  // To be called on the fiber: goes back to where resume() was called.
  void suspend();

 private:
  static void enter(Fiber* self);
  void body();
#if !defined(__x86_64__) && !defined(__aarch64__)
  struct Contexts;
  Contexts* contexts_;
#endif
  friend void start(Fiber* fiber);

  Work work_;
  void* argument_;
  uint8_t* stack_;
  void* pointer_;         // the fiber's stack pointer while it does not run
  void* caller_;          // the stack pointer of its resumer
  void* fake_stack_;      // AddressSanitizer's
  const void* caller_bottom_;
  size_t caller_bytes_;
};

}  // namespace m40::emulation

#endif
