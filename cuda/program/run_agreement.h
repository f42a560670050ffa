// How cards that exchange rows agree on the number of steps of a run. Whether there is another step depends on the
// sampled tokens, which are the same on all cards. It also depends on when the host asks for a stop, and when each card
// reads that. So card 0 decides, and the others follow.
//
// Card 0 counts its decisions in a word of the shared memory, from m40_program_exchange on. Each run has one for every
// step after the first, and one that there are no more. All cards have the same runs one after the other, and none
// begins until the previous one is over on all. So each card knows how many decisions precede a run, and decision s of
// it is on step s.
#ifndef M40_RUNTIME_RUN_AGREEMENT_H
#define M40_RUNTIME_RUN_AGREEMENT_H

#include <stdint.h>

#include <atomic>

namespace m40 {

// Of one card. Without memory it decides alone and notifies no card.
class RunAgreement {
 public:
  // word: 2 * decisions + (1: the last one was that there are no more), 0 now. give_up: not 0, nobody is waited for any
  // more.
  void begin(std::atomic<uint32_t>* word, const std::atomic<uint32_t>* give_up, uint32_t card);
  void forget() { word_ = nullptr; }

  // Whether another card decides.
  bool follows() const { return word_ != nullptr && card_ != 0; }

  // A run begins.
  void open() { n_steps_ = 1; }
  // On the deciding card: there is another step.
  void say_next();
  // On the other cards: waits for the decision on a step of the run, from 1 on, and returns whether there is one. False
  // as well where the cards give up or `ends` is set meanwhile. Throws Failure where card 0 takes longer than a card
  // waits for another.
  bool has_next(uint32_t step, const std::atomic<bool>& ends);
  // The run is over: the deciding card says so.
  void close();

 private:
  std::atomic<uint32_t>* word_ = nullptr;
  const std::atomic<uint32_t>* give_up_ = nullptr;
  uint32_t card_ = 0;
  uint32_t before_ = 0;   // decisions that precede the run
  uint32_t n_steps_ = 0;  // of the run so far
};

}  // namespace m40

#endif
