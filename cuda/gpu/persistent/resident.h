// The host's side of decode steps by a persistent kernel (kernels/resident.cuh). The launches of a step are recorded
// once for each shape. The host asks for a step by a word in mapped memory, and the results come back there. It asks
// for the steps of a run likewise, each before the previous one is done.
#ifndef M40_RUNTIME_RESIDENT_H
#define M40_RUNTIME_RESIDENT_H

#include <map>
#include <string>
#include <utility>

#include "../../ops/advance_run.h"
#include "../../ops/resident.h"
#include "../device_objects.h"
#include "resident_seat.h"
#include "../step_input.h"

namespace m40::cuda {

// Lists of nodes that a program's memory has room for at a time.
constexpr uint32_t resident_lists = 4;

// Nodes that a step of so many operations has at most: there is no room for more.
constexpr uint64_t most_resident_nodes(uint64_t n_ops) { return 2 * n_ops + 16; }

// Whether a device has kernels that stay; why it has not, where it is not nullptr.
bool device_has_resident(uint32_t device, std::string* why);

// A program's. The functions take the mutex of ResidentSeat, except where they say otherwise.
class ResidentDecoder {
 public:
  // Throws Failure where mapped memory or a stream cannot be allocated.
  explicit ResidentDecoder(const m40_program& program);
  ~ResidentDecoder();
  ResidentDecoder(const ResidentDecoder&) = delete;
  ResidentDecoder& operator=(const ResidentDecoder&) = delete;

  enum class Begun : uint8_t {
    kYes,
    kNotNow,  // the device has other work
    kNever,   // not a step of this shape: why() says it
  };

  // Asks for a step with its input in the program's own host memory. The sizes are those of the input and of the
  // results. No step may be running. May have to record the step's launches, to put them into the device's memory, and
  // to launch the kernel.
  Begun begin(const StepShape& shape, uint64_t input_bytes, uint64_t result_bytes);

  // The same for the first step of a run. The run's state is in the device's memory already; the results go into the
  // ring.
  Begun begin_run(const StepShape& shape, uint64_t input_bytes, const AdvanceRunArgs& advance);
  // Asks for the next step of the run; all but the last one that was asked for are done. False where it will not be
  // done: the kernel has left for other work, perhaps before that last one (state() says so).
  bool begin_next();

  enum class State : uint8_t {
    kRuns,
    kCalledBack,  // the same, but it had left ahead of the step
    kDone,
    kDisplaced,  // it will not be done: the kernel had to leave before it saw the step, and other work uses the device
    kRefused,    // it will not be done: not all of the kernel's thread blocks came onto the device. So it is from now on
  };

  // The state of the step that was asked for last, or so many steps earlier; all steps before that one are done. Throws
  // Failure where the device was lost.
  State state(uint32_t before_last = 0);

  // Milliseconds that the step took which is done, by the device.
  float milliseconds() const;

  // Why steps of some shape are never done so; empty where all are.
  std::string why() const {
    const std::lock_guard<std::mutex> lock(seat_.mutex());
    return why_;
  }

  // Has the kernel leave, if it is there, and waits until it is gone. With the mutex held.
  void leave();
  // Whether a wait for it was given up.
  bool hangs() const { return program_.context->watch.hangs(); }

 private:
  struct Entry {
    bool known = false;
    bool usable = false;
    ResidentKernel kernel = {};
    std::vector<ResidentNode> nodes;
    uint32_t most_blocks = 0;  // of a node
    uint32_t place = resident_lists;  // of the list in the device's memory; resident_lists: it is not there
    uint64_t last_use = 0;
  };

  // A step's shape, and whether it is one of a run.
  using Key = std::pair<StepShape, bool>;

  Begun ask(const StepShape& shape, uint64_t input_bytes, uint64_t result_bytes, const AdvanceRunArgs* advance);
  Entry& entry_of(const StepShape& shape, const AdvanceRunArgs* advance);
  void write_down(const StepShape& shape, const AdvanceRunArgs* advance, Entry& entry);
  void say_advance(const AdvanceRunArgs& advance, Entry& entry);
  void place_list(Entry& entry);
  ResidentNode* list_at(uint32_t place) const;
  void launch(uint32_t first);
  bool has_left();
  bool is_done(uint32_t number) const;

  const m40_program& program_;
  ResidentSeat& seat_;
  HostMemory mailbox_memory_;
  ResidentMailbox* mailbox_;
  cudaStream_t stream_ = nullptr;
  std::map<Key, Entry> entries_;
  Entry* placed_[resident_lists] = {};
  uint64_t n_uses_ = 0;
  std::string why_;
  ResidentKernel kernel_ = {};  // the one that is there
  uint32_t most_blocks_ = 0;
  uint32_t life_ = 0;           // the number of its life
  uint32_t most_life_ = UINT32_MAX;  // how long it stays at most: microseconds
  bool alive_ = false;          // it was launched, and has not been seen to leave
  bool refused_ = false;
  uint32_t asked_ = 0;          // the number of the last step
  uint32_t n_looks_ = 0;
};

}  // namespace m40::cuda

#endif
