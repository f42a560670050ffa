// The host's side of decode steps by a persistent kernel (kernel.cuh). The launches of a step are recorded
// once for each shape. The host asks for a step by a word in mapped memory, and the results come back there. It asks
// for the steps of a run likewise, each before the previous one is done.
#ifndef M40_PERSISTENT_DECODER_H
#define M40_PERSISTENT_DECODER_H

#include <map>
#include <string>
#include <utility>

#include "../decode_executor.h"
#include "../device_objects.h"
#include "../device_seat.h"
#include "families.h"

namespace m40::cuda {

// Lists of nodes that a program's memory has room for at a time.
constexpr uint32_t resident_lists = 4;

// A program's. The functions take the mutex of DeviceSeat, except where they say otherwise.
class ResidentDecoder final : public DecodeExecutor, public Occupant {
 public:
  // Throws Failure where mapped memory or a stream cannot be allocated.
  explicit ResidentDecoder(const m40_program& program);
  ~ResidentDecoder() override;
  ResidentDecoder(const ResidentDecoder&) = delete;
  ResidentDecoder& operator=(const ResidentDecoder&) = delete;

  // May have to record the step's launches, to put them into the device's memory, and to launch the kernel.
  Begun begin(const StepShape& shape, uint64_t input_bytes, uint64_t result_bytes) override;
  Begun begin_run(const StepShape& shape, uint64_t input_bytes, const AdvanceRunArgs& advance) override;
  bool begin_next() override;
  // kDisplaced: the kernel had to leave before it saw the step. kRefused: not all of its thread blocks came onto the
  // device.
  State state(uint32_t before_last) override;
  float milliseconds() const override;
  std::string why() const override {
    const std::lock_guard<std::mutex> lock(seat_.mutex());
    return why_;
  }

  void leave() override;
  bool hangs() const override { return program_.context->watch.hangs(); }

 private:
  struct Entry {
    bool known = false;
    bool usable = false;
    ResidentKernel kernel = {};
    std::vector<BodyLaunch> nodes;
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
  BodyLaunch* list_at(uint32_t place) const;
  void launch(uint32_t first);
  bool has_left();
  bool is_done(uint32_t number) const;

  const m40_program& program_;
  DeviceSeat& seat_;
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
