// How cards that exchange rows come to the same number of steps in a run. Whether there is another one follows from what each
// of them has drawn alike, but also from when the host wants no more, and when each looks: so card 0 decides, and the others do
// as it has decided.
//
// It counts its decisions in a word of the memory that they share, from m40_program_exchange on: of each run one for every step
// behind the first, and one that there are no more. All cards have the same runs one after the other, and none begins before
// the one before it is over on all: so each knows how many decisions came before a run, and decision s of it is on step s.
#ifndef M40_RUNTIME_RUN_AGREEMENT_H
#define M40_RUNTIME_RUN_AGREEMENT_H

#include <stdint.h>

#include <atomic>

namespace m40 {

// Of one card. Without memory it decides alone, and tells nobody.
class RunAgreement {
 public:
  // word: 2 * decisions + (1: the last one was that there are no more), 0 now. give_up: not 0, nobody is waited for any more.
  void begin(std::atomic<uint32_t>* word, const std::atomic<uint32_t>* give_up, uint32_t card);
  void forget() { word_ = nullptr; }

  // Whether another card decides.
  bool follows() const { return word_ != nullptr && card_ != 0; }

  // A run begins.
  void open() { n_steps_ = 1; }
  // Of who decides: there is another step.
  void say_next();
  // Of who follows: waits for the decision on a step of the run, from 1 on, and says whether there is one; false as well where
  // the cards give up or `ends` is set meanwhile. Throws Failure where card 0 is waited for longer than a card waits for another.
  bool has_next(uint32_t step, const std::atomic<bool>& ends);
  // The run is over: who decides says so.
  void close();

 private:
  std::atomic<uint32_t>* word_ = nullptr;
  const std::atomic<uint32_t>* give_up_ = nullptr;
  uint32_t card_ = 0;
  uint32_t before_ = 0;   // decisions before the run
  uint32_t n_steps_ = 0;  // of the run so far
};

}  // namespace m40

#endif
