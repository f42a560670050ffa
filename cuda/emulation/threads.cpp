// The scheduler of a block's fibers. Threads run one at a time, each until it waits for others, so a kernel without the
// synchronisation that it needs computes something else here; and something else again where M40_EMULATION_ORDER is
// "reverse", which runs threads and blocks from the last to the first. Where M40_EMULATION_KERNELS names a file, each
// kernel's name is added to it as a line when it is launched for the first time.
#include "threads.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "fiber.h"

namespace m40::emulation {

Indices indices;
void* dynamic_shared;

namespace {

constexpr uint32_t warp_lanes = 32;

enum class State : uint8_t { kReady, kBlock, kWarp, kYield, kDone };

struct Thread {
  std::unique_ptr<Fiber> fiber;
  uint3 index;
  State state;
  WarpOperation operation;
  Site site;
  uint32_t mask;
  uint32_t source;
  int predicate;
  uint64_t value;
  uint64_t result;
};

class Block;
Block* running = nullptr;  // the block of the running threads

// What a grid's blocks have in common.
struct Grid {
  const char* kernel;
  dim3 size, block_size;
  const std::function<void()>& work;
  bool reverse;

  uint64_t n_blocks() const { return uint64_t{size.x} * size.y * size.z; }
  uint3 index(uint64_t block) const {
    return {static_cast<uint32_t>(block % size.x), static_cast<uint32_t>(block / size.x % size.y), static_cast<uint32_t>(block / size.x / size.y)};
  }
};

class Block {
 public:
  enum class Progress : uint8_t {
    kDone,
    kYielded,  // a thread waits for another block, for the host or another device; the others for it
    kFailed,
  };

  // Before a grid's block begins. shared: its dynamic shared memory.
  void begin(const Grid& grid, uint3 index, void* shared) {
    grid_ = &grid;
    index_ = index;
    shared_ = shared;
    n_threads_ = grid.block_size.x * grid.block_size.y * grid.block_size.z;
    prepare(grid.block_size);
  }

  // As far as its threads come by themselves.
  Progress advance() {
    running = this;
    indices.block = index_;
    indices.block_size = grid_->block_size;
    indices.grid_size = grid_->size;
    dynamic_shared = shared_;
    waits_for_devices_ = false;
    const Progress progress = run_threads();
    // What was given up in the middle of a kernel cannot be used again.
    if (progress == Progress::kFailed) threads_.clear();
    return progress;
  }

  // What is wrong, where advance() failed.
  const char* failure() const { return failure_; }
  // Whether a thread came any further, the last time.
  bool moved() const { return moved_; }
  // Whether it waits for another device.
  bool waits_for_devices() const { return waits_for_devices_; }
  void wait_for_devices() { waits_for_devices_ = true; }
  // Ends a block in the middle.
  void give_up() { threads_.clear(); }

  Thread& current() { return threads_[current_]; }

  void wait(State state) {
    Thread& thread = current();
    thread.state = state;
    thread.fiber->suspend();
  }

 private:
  static void work_of_thread(void* block) {
    Block* self = static_cast<Block*>(block);
    self->grid_->work();
    self->current().state = State::kDone;
  }

  void prepare(dim3 size) {
    if (threads_.size() < n_threads_) {
      const size_t had = threads_.size();
      threads_.resize(n_threads_);
      for (size_t i = had; i < n_threads_; i++) threads_[i].fiber.reset(new Fiber(&work_of_thread, this));
    }
    uint32_t i = 0;
    for (uint32_t z = 0; z < size.z; z++) {
      for (uint32_t y = 0; y < size.y; y++) {
        for (uint32_t x = 0; x < size.x; x++, i++) {
          threads_[i].index = {x, y, z};
          threads_[i].state = State::kReady;
        }
      }
    }
  }

  Progress run_threads() {
    const uint32_t n_warps = (n_threads_ + warp_lanes - 1) / warp_lanes;
    moved_ = false;
    if (yielded_) {
      for (uint32_t i = 0; i < n_threads_; i++) {
        if (threads_[i].state == State::kYield) threads_[i].state = State::kReady;
      }
    }
    for (;;) {
      yielded_ = false;
      for (uint32_t i = 0; i < n_warps; i++) {
        const uint32_t warp = grid_->reverse ? n_warps - 1 - i : i;
        if (!run_warp(warp)) return Progress::kFailed;
      }
      if (yielded_) return Progress::kYielded;
      if (!pass_barrier()) return Progress::kFailed;
      if (n_ready_ == 0) return Progress::kDone;
    }
  }

  // Until each of the warp's threads is done or waits for the block; or one of them yields.
  bool run_warp(uint32_t warp) {
    const uint32_t first = warp * warp_lanes;
    const uint32_t n = n_threads_ - first < warp_lanes ? n_threads_ - first : warp_lanes;
    for (;;) {
      bool waits = false, yields = false;
      for (uint32_t i = 0; i < n; i++) {
        current_ = first + (grid_->reverse ? n - 1 - i : i);
        Thread& thread = threads_[current_];
        if (thread.state == State::kReady) {
          indices.thread = thread.index;
          thread.fiber->resume();
          moved_ |= thread.state != State::kYield;
        }
        waits |= thread.state == State::kWarp;
        yields |= thread.state == State::kYield;
      }
      yielded_ |= yields;
      if (!waits || yields) return true;
      if (!exchange(first, n)) return false;
    }
  }

  // Resumes the lanes for which the whole mask has arrived.
  bool exchange(uint32_t first, uint32_t n) {
    bool progress = false;
    uint32_t seen = 0;
    for (uint32_t i = 0; i < n; i++) {
      Thread& thread = threads_[first + i];
      if (thread.state != State::kWarp || (seen >> i & 1)) continue;
      const uint32_t mask = thread.mask & (n == warp_lanes ? ~0u : (1u << n) - 1);
      if (!(mask >> i & 1)) return reject(thread, "lane %u waits for mask 0x%x, which does not have it", i, thread.mask);
      bool complete = true;
      for (uint32_t j = 0; j < n; j++) {
        if (!(mask >> j & 1)) continue;
        const Thread& other = threads_[first + j];
        if (other.state != State::kWarp) {
          return reject(thread, "lane %u waits for lane %u, which %s (thread %u)", i, j,
                        other.state == State::kDone ? "has returned" : "waits at a barrier of the block", first + j);
        }
        if (other.mask != thread.mask || other.operation != thread.operation) complete = false;
      }
      if (!complete) continue;
      seen |= mask;
      progress = true;
      if (!complete_exchange(first, mask)) return false;
    }
    if (progress) return true;
    for (uint32_t i = 0; i < n; i++) {
      Thread& thread = threads_[first + i];
      if (thread.state == State::kWarp) {
        return reject(thread, "the warp's lanes wait for one another in different operations or with different masks (lane %u: mask 0x%x)",
                      i, thread.mask);
      }
    }
    return true;
  }

  bool complete_exchange(uint32_t first, uint32_t mask) {
    uint64_t votes = 0;
    for (uint32_t j = 0; j < warp_lanes; j++) {
      if ((mask >> j & 1) && threads_[first + j].value != 0) votes |= uint64_t{1} << j;
    }
    for (uint32_t j = 0; j < warp_lanes; j++) {
      if (!(mask >> j & 1)) continue;
      Thread& lane = threads_[first + j];
      if (lane.operation == WarpOperation::kVote) {
        lane.result = votes;
      } else if (lane.operation == WarpOperation::kShuffle) {
        if (!(mask >> lane.source & 1)) {
          return reject(lane, "lane %u takes the value of lane %u, which is not in the mask 0x%x", j, lane.source, mask);
        }
        lane.result = threads_[first + lane.source].value;
      }
    }
    for (uint32_t j = 0; j < warp_lanes; j++) {
      if (mask >> j & 1) threads_[first + j].state = State::kReady;
    }
    return true;
  }

  bool pass_barrier() {
    n_ready_ = 0;
    Thread* waiting = nullptr;
    uint32_t done = 0;
    int predicates = 0;
    for (uint32_t i = 0; i < n_threads_; i++) {
      Thread& thread = threads_[i];
      if (thread.state == State::kDone) {
        done++;
        continue;
      }
      if (waiting != nullptr && (waiting->site.line != thread.site.line || strcmp(waiting->site.file, thread.site.file) != 0)) {
        return reject(thread, "thread %u waits here for the block, another one at %s:%d", i, waiting->site.file, waiting->site.line);
      }
      waiting = &thread;
      predicates += thread.predicate != 0;
    }
    if (waiting == nullptr) return true;
    if (done != 0) return reject(*waiting, "%u of the block's %u threads have returned before this barrier", done, n_threads_);
    for (uint32_t i = 0; i < n_threads_; i++) {
      threads_[i].result = static_cast<uint64_t>(predicates);
      threads_[i].state = State::kReady;
    }
    n_ready_ = n_threads_;
    return true;
  }

  bool reject(const Thread& thread, const char* format, ...) __attribute__((format(printf, 3, 4))) {
    char reason[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof(reason), format, arguments);
    va_end(arguments);
    snprintf(failure_, sizeof(failure_), "%s, block (%u, %u, %u), %s:%d: %s", grid_->kernel, indices.block.x, indices.block.y, indices.block.z,
             thread.site.file, thread.site.line, reason);
    return false;
  }

  std::vector<Thread> threads_;
  const Grid* grid_ = nullptr;
  uint3 index_ = {};
  void* shared_ = nullptr;
  uint32_t n_threads_ = 0;
  uint32_t n_ready_ = 0;
  uint32_t current_ = 0;
  bool yielded_ = false;
  bool moved_ = false;
  bool waits_for_devices_ = false;
  char failure_[512] = {};
};

// Shared memory and indices are global: one grid runs at a time.
std::mutex grid_mutex;

// Blocks that no grid has: their threads' stacks are kept. Never destroyed: a thread may be in one when the process
// ends.
std::vector<Block*>& free_blocks() {
  static std::vector<Block*>* instance = new std::vector<Block*>;
  return *instance;
}

Block* take_block() {
  std::vector<Block*>& blocks = free_blocks();
  if (blocks.empty()) return new Block;
  Block* block = blocks.back();
  blocks.pop_back();
  return block;
}

// Memory of exactly so many bytes, for the address sanitizer; of values that are not numbers.
struct SharedMemory {
  explicit SharedMemory(size_t n_bytes) : data(nullptr) {
    if (posix_memalign(&data, 128, n_bytes == 0 ? 1 : n_bytes) != 0) data = nullptr;
    if (data != nullptr) memset(data, 0xFF, n_bytes);
  }
  ~SharedMemory() { free(data); }
  void* data;
};

void record_kernel(const char* kernel) {
  static std::set<std::string>* const recorded = new std::set<std::string>;
  const char* path = getenv("M40_EMULATION_KERNELS");
  if (path == nullptr || !recorded->insert(kernel).second) return;
  FILE* file = fopen(path, "a");
  if (file == nullptr) return;
  fprintf(file, "%s\n", kernel);
  fclose(file);
}

}  // namespace

int sync_block(Site site, int predicate) {
  Block* const block = running;
  Thread& thread = block->current();
  thread.site = site;
  thread.predicate = predicate;
  block->wait(State::kBlock);
  return static_cast<int>(thread.result);
}

uint64_t sync_warp(WarpOperation operation, Site site, uint32_t mask, uint64_t value, uint32_t source) {
  Block* const block = running;
  Thread& thread = block->current();
  thread.operation = operation;
  thread.site = site;
  thread.mask = mask;
  thread.value = value;
  thread.source = source;
  block->wait(State::kWarp);
  return thread.result;
}

void yield() { running->wait(State::kYield); }

void yield_to_devices() {
  running->wait_for_devices();
  running->wait(State::kYield);
}

uint64_t nanoseconds() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

namespace {

bool runs_in_reverse() {
  const char* order = getenv("M40_EMULATION_ORDER");
  return order != nullptr && strcmp(order, "reverse") == 0;
}

const char* failure_of(const Block& block) {
  static char text[512];
  snprintf(text, sizeof(text), "%s", block.failure());
  return text;
}

}  // namespace

const char* run_grid(const char* kernel, dim3 size, dim3 block_size, size_t shared_bytes, const std::function<void()>& thread) {
  std::unique_lock<std::mutex> lock(grid_mutex);
  record_kernel(kernel);
  const Grid grid = {kernel, size, block_size, thread, runs_in_reverse()};
  const char* spoiled = getenv("M40_EMULATION_SPOIL");
  const bool spoil = spoiled != nullptr && *spoiled != '\0' && strstr(kernel, spoiled) != nullptr;
  Block* const block = take_block();
  const char* failure = nullptr;
  for (uint64_t i = 0; i < grid.n_blocks() && failure == nullptr; i++) {
    const uint64_t b = grid.reverse ? grid.n_blocks() - 1 - i : i;
    if (spoil && b == 0) continue;
    const SharedMemory shared(shared_bytes);
    if (shared.data == nullptr) {
      failure = "no memory for a block's shared memory";
      break;
    }
    block->begin(grid, grid.index(b), shared.data);
    Block::Progress progress = block->advance();
    while (progress == Block::Progress::kYielded && block->waits_for_devices()) {
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::microseconds(20));
      lock.lock();
      progress = block->advance();
    }
    switch (progress) {
      case Block::Progress::kDone: break;
      case Block::Progress::kFailed: failure = failure_of(*block); break;
      case Block::Progress::kYielded:
        block->give_up();
        failure = "a thread waits for another block: wanted a launch of all blocks together";
        break;
    }
  }
  free_blocks().push_back(block);
  return failure;
}

const char* run_grid_together(const char* kernel, dim3 size, dim3 block_size, size_t shared_bytes, uint64_t late, const std::function<void()>& thread) {
  std::unique_lock<std::mutex> lock(grid_mutex);
  record_kernel(kernel);
  const Grid grid = {kernel, size, block_size, thread, runs_in_reverse()};
  std::vector<Block*> blocks;
  std::vector<std::unique_ptr<SharedMemory>> shared;
  for (uint64_t b = 0; b < grid.n_blocks(); b++) {
    shared.emplace_back(new SharedMemory(shared_bytes));
    if (shared.back()->data == nullptr) return "no memory for a block's shared memory";
    blocks.push_back(take_block());
    blocks.back()->begin(grid, grid.index(b), shared.back()->data);
  }
  const char* failure = nullptr;
  std::vector<Block*> left = blocks, later;
  while (late > 0 && left.size() > 1) {
    later.push_back(left.back());
    left.pop_back();
    late--;
  }
  if (grid.reverse) std::reverse(left.begin(), left.end());
  while (failure == nullptr) {
    if (left.empty()) left.swap(later);
    if (left.empty()) break;
    bool moved = false;
    std::vector<Block*> still;
    for (Block* block : left) {
      const Block::Progress progress = block->advance();
      moved |= block->moved();
      if (progress == Block::Progress::kFailed) failure = failure_of(*block);
      if (progress == Block::Progress::kYielded) still.push_back(block);
    }
    left.swap(still);
    if (moved || failure != nullptr) continue;
    // All wait for the host: its threads, and other grids, have their turn.
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    lock.lock();
  }
  if (failure != nullptr) {
    for (Block* block : blocks) block->give_up();
  }
  free_blocks().insert(free_blocks().end(), blocks.begin(), blocks.end());
  return failure;
}

}  // namespace m40::emulation
