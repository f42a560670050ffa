#include "fiber.h"

#include <stdlib.h>
#include <sys/mman.h>

#include <new>

#if defined(__SANITIZE_ADDRESS__)
#define M40_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define M40_ADDRESS_SANITIZER 1
#endif
#endif

#ifdef M40_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <ucontext.h>
#endif

namespace m40::emulation {

// Only KV blocks that are touched take memory; instrumented code needs large frames.
constexpr size_t stack_bytes = size_t{256} << 10;
constexpr size_t guard_bytes = 4096;

namespace {

// Notifies AddressSanitizer before and after the stack pointer moves to another stack.
void before_switch([[maybe_unused]] void** fake_stack, [[maybe_unused]] const void* bottom, [[maybe_unused]] size_t bytes) {
#ifdef M40_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(fake_stack, bottom, bytes);
#endif
}

void after_switch([[maybe_unused]] void* fake_stack, [[maybe_unused]] const void** bottom, [[maybe_unused]] size_t* bytes) {
#ifdef M40_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(fake_stack, bottom, bytes);
#endif
}

}  // namespace

#if defined(__x86_64__)

// Saves the registers that a call must keep and the stack pointer, and takes up where the other stack left off.
extern "C" void m40_switch_stack(void** save, void* to);
__asm__(
    ".text\n"
    ".local m40_switch_stack\n"
    ".type m40_switch_stack, @function\n"
    "m40_switch_stack:\n"
    "  pushq %rbp\n"
    "  pushq %rbx\n"
    "  pushq %r12\n"
    "  pushq %r13\n"
    "  pushq %r14\n"
    "  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  popq %r15\n"
    "  popq %r14\n"
    "  popq %r13\n"
    "  popq %r12\n"
    "  popq %rbx\n"
    "  popq %rbp\n"
    "  ret\n"
    ".size m40_switch_stack, .-m40_switch_stack\n"
    // The first switch to a stack returns to here, with the fiber in rbx.
    ".local m40_start_stack\n"
    ".type m40_start_stack, @function\n"
    "m40_start_stack:\n"
    "  movq %rbx, %rdi\n"
    "  call *%r12\n"
    "  ud2\n"
    ".size m40_start_stack, .-m40_start_stack\n");
extern "C" void m40_start_stack(void);

static void* first_frame(uint8_t* top, void (*function)(Fiber*), Fiber* fiber) {
  void** frame = reinterpret_cast<void**>(top) - 9;  // r15, r14, r13, r12, rbx, rbp, return address, two for alignment
  for (int i = 0; i < 9; i++) frame[i] = nullptr;
  frame[3] = reinterpret_cast<void*>(function);
  frame[4] = fiber;
  frame[6] = reinterpret_cast<void*>(&m40_start_stack);
  return frame;
}

#elif defined(__aarch64__)

extern "C" void m40_switch_stack(void** save, void* to);
__asm__(
    ".text\n"
    ".local m40_switch_stack\n"
    ".type m40_switch_stack, %function\n"
    "m40_switch_stack:\n"
    "  sub sp, sp, #160\n"
    "  stp x19, x20, [sp]\n"
    "  stp x21, x22, [sp, #16]\n"
    "  stp x23, x24, [sp, #32]\n"
    "  stp x25, x26, [sp, #48]\n"
    "  stp x27, x28, [sp, #64]\n"
    "  stp x29, x30, [sp, #80]\n"
    "  stp d8, d9, [sp, #96]\n"
    "  stp d10, d11, [sp, #112]\n"
    "  stp d12, d13, [sp, #128]\n"
    "  stp d14, d15, [sp, #144]\n"
    "  mov x9, sp\n"
    "  str x9, [x0]\n"
    "  mov sp, x1\n"
    "  ldp x19, x20, [sp]\n"
    "  ldp x21, x22, [sp, #16]\n"
    "  ldp x23, x24, [sp, #32]\n"
    "  ldp x25, x26, [sp, #48]\n"
    "  ldp x27, x28, [sp, #64]\n"
    "  ldp x29, x30, [sp, #80]\n"
    "  ldp d8, d9, [sp, #96]\n"
    "  ldp d10, d11, [sp, #112]\n"
    "  ldp d12, d13, [sp, #128]\n"
    "  ldp d14, d15, [sp, #144]\n"
    "  add sp, sp, #160\n"
    "  ret\n"
    ".size m40_switch_stack, .-m40_switch_stack\n"
    // The first switch to a stack returns to here, with the fiber in x19.
    ".local m40_start_stack\n"
    ".type m40_start_stack, %function\n"
    "m40_start_stack:\n"
    "  mov x0, x19\n"
    "  blr x20\n"
    "  brk #1\n"
    ".size m40_start_stack, .-m40_start_stack\n");
extern "C" void m40_start_stack(void);

static void* first_frame(uint8_t* top, void (*function)(Fiber*), Fiber* fiber) {
  void** frame = reinterpret_cast<void**>(top) - 20;
  for (int i = 0; i < 20; i++) frame[i] = nullptr;
  frame[0] = fiber;
  frame[1] = reinterpret_cast<void*>(function);
  frame[11] = reinterpret_cast<void*>(&m40_start_stack);
  return frame;
}

#else

struct Fiber::Contexts {
  ucontext_t fiber;
  ucontext_t caller;
};

// makecontext passes integers alone.
static void enter_by_halves(unsigned high, unsigned low) {
  start(reinterpret_cast<Fiber*>(static_cast<uintptr_t>(uint64_t{high} << 32 | low)));
}

#endif

void start(Fiber* fiber) { Fiber::enter(fiber); }

Fiber::Fiber(Work work, void* argument)
    : work_(work), argument_(argument), pointer_(nullptr), caller_(nullptr), fake_stack_(nullptr), caller_bottom_(nullptr), caller_bytes_(0) {
  void* memory = mmap(nullptr, guard_bytes + stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  // A stack that overflows hits a KV block that may not be touched.
  mprotect(memory, guard_bytes, PROT_NONE);
  stack_ = static_cast<uint8_t*>(memory) + guard_bytes;
#if defined(__x86_64__) || defined(__aarch64__)
  pointer_ = first_frame(stack_ + stack_bytes, &start, this);
#else
  contexts_ = new Contexts;
  getcontext(&contexts_->fiber);
  contexts_->fiber.uc_stack.ss_sp = stack_;
  contexts_->fiber.uc_stack.ss_size = stack_bytes;
  contexts_->fiber.uc_link = nullptr;
  const uint64_t self = reinterpret_cast<uintptr_t>(this);
  makecontext(&contexts_->fiber, reinterpret_cast<void (*)()>(&enter_by_halves), 2, static_cast<unsigned>(self >> 32),
              static_cast<unsigned>(self));
#endif
}

Fiber::~Fiber() {
#ifdef M40_ADDRESS_SANITIZER
  // A fiber that was given up in the middle of a kernel leaves its frames' marks.
  __asan_unpoison_memory_region(stack_, stack_bytes);
#endif
#if !defined(__x86_64__) && !defined(__aarch64__)
  delete contexts_;
#endif
  munmap(stack_ - guard_bytes, guard_bytes + stack_bytes);
}

void Fiber::resume() {
  void* fake_stack = nullptr;
  before_switch(&fake_stack, stack_, stack_bytes);
#if defined(__x86_64__) || defined(__aarch64__)
  m40_switch_stack(&caller_, pointer_);
#else
  swapcontext(&contexts_->caller, &contexts_->fiber);
#endif
  after_switch(fake_stack, nullptr, nullptr);
}

void Fiber::suspend() {
  before_switch(&fake_stack_, caller_bottom_, caller_bytes_);
#if defined(__x86_64__) || defined(__aarch64__)
  m40_switch_stack(&pointer_, caller_);
#else
  swapcontext(&contexts_->fiber, &contexts_->caller);
#endif
  after_switch(fake_stack_, &caller_bottom_, &caller_bytes_);
}

void Fiber::enter(Fiber* self) {
  after_switch(nullptr, &self->caller_bottom_, &self->caller_bytes_);
  self->body();
}

void Fiber::body() {
  for (;;) {
    work_(argument_);
    suspend();
  }
}

}  // namespace m40::emulation
