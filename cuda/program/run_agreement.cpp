#include "run_agreement.h"

#include <sched.h>

#include <chrono>

#include "../common/error.h"
#include "exchange.h"
#include "../common/futex.h"

namespace m40 {

namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t decisions_most = 1u << 31;  // of the word's bits; they begin at 0 again
// A decision comes within microseconds of the wait for it: to sleep takes longer.
constexpr auto awake = std::chrono::microseconds(200);
// A card that gives up wakes no other card.
constexpr uint32_t look_ms = 5;

}  // namespace

void RunAgreement::begin(std::atomic<uint32_t>* word, const std::atomic<uint32_t>* give_up, uint32_t card) {
  word_ = word;
  give_up_ = give_up;
  card_ = card;
  before_ = 0;
}

void RunAgreement::say_next() {
  n_steps_++;
  if (word_ == nullptr || follows()) return;
  // A further run may follow a run that is over.
  word_->store((before_ + n_steps_ - 1) % decisions_most * 2, std::memory_order_release);
  wake_all(*word_);
}

bool RunAgreement::has_next(uint32_t step, const std::atomic<bool>& ends) {
  const Clock::time_point begun = Clock::now();
  for (;;) {
    const uint32_t word = word_->load(std::memory_order_acquire);
    const uint32_t decided = (word / 2 - before_) % decisions_most;
    if (decided >= step) {
      // The end is the last decision of a run.
      const bool goes_on = decided > step || word % 2 == 0;
      if (goes_on) n_steps_ = step + 1;
      return goes_on;
    }
    if (ends || *give_up_ != 0) return false;
    const Clock::duration waited = Clock::now() - begun;
    if (waited > std::chrono::microseconds(exchange_patience_us)) {
      fail(M40_INTERNAL, "card 0 has not said within %u seconds whether a run has a step %u", exchange_patience_us / 1'000'000, step);
    }
    if (waited < awake) {
      sched_yield();
    } else {
      sleep_on(*word_, word, look_ms);
    }
  }
}

void RunAgreement::close() {
  if (word_ == nullptr) return;
  before_ = (before_ + n_steps_) % decisions_most;
  if (follows()) return;
  word_->store(before_ * 2 + 1, std::memory_order_release);
  wake_all(*word_);
}

}  // namespace m40
