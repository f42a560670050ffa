#include "run.h"

#include <string.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "results.h"
#include "sample_weights.h"

namespace m40 {

namespace {

constexpr uint32_t look_ms = 1000;

using Long = unsigned long long;

// The step's rows are those that a run can continue.
void check_step(const Step& step, const StepLimits& limits) {
  if (!limits.samples) fail(M40_UNSUPPORTED, "a run of a program without a sample operation");
  if (step.n_decode != step.n_tokens || step.n_outputs != step.n_tokens) {
    fail(M40_INVALID_ARGUMENT, "a run of %u tokens, %u of them decoded, with %u outputs: wanted decoded ones alone, with an output each", step.n_tokens,
         step.n_decode, step.n_outputs);
  }
  check_all_samples(step);
  for (uint32_t i = 0; i < step.n_tokens; i++) {
    if (i > 0 && step.sequences[i] == step.sequences[i - 1]) {
      fail(M40_INVALID_ARGUMENT, "token %u of a run is of sequence %u, as is the one before it: wanted one token a sequence", i, step.sequences[i]);
    }
    const m40_sampling& sampling = step.sampling[i];
    if (sampling.n_token_counts != 0 || sampling.mirostat != 0) {
      fail(M40_INVALID_ARGUMENT, "row %u of a run has %s, which change with each token: wanted steps", i,
           sampling.mirostat != 0 ? "mirostat's surprises" : "counts of tokens");
    }
  }
}

class RunParser {
 public:
  RunParser(const void* run, uint64_t n_bytes) : run_(static_cast<const uint8_t*>(run)), n_bytes_(n_bytes) {}

  RunInput parse(const Step& step, const StepLimits& limits) {
    require(run_, "run");
    if (n_bytes_ < sizeof(m40_run_header)) {
      fail(M40_INVALID_ARGUMENT, "a run of %llu bytes: wanted at least the header's %zu", Long{n_bytes_}, sizeof(m40_run_header));
    }
    if (reinterpret_cast<uintptr_t>(run_) % 4 != 0) fail(M40_INVALID_ARGUMENT, "the run starts at %p: wanted a multiple of 4", static_cast<const void*>(run_));
    m40_run_header header;
    memcpy(&header, run_, sizeof(header));
    if (header.n_steps == 0) fail(M40_INVALID_ARGUMENT, "a run of 0 steps: wanted at least 1");
    if (header.n_end_tokens > M40_MAX_RUN_END_TOKENS) {
      fail(M40_INVALID_ARGUMENT, "a run with %u end tokens: wanted at most %d", header.n_end_tokens, M40_MAX_RUN_END_TOKENS);
    }
    RunInput input = {};
    input.rows = array<m40_run_row>("rows", header.rows, step.n_tokens);
    input.end_tokens = array<int32_t>("end_tokens", header.end_tokens, header.n_end_tokens);
    input.n_end_tokens = header.n_end_tokens;
    for (uint32_t i = 0; i < step.n_tokens; i++) {
      const m40_run_row& row = input.rows[i];
      if (row.n_tokens == 0) fail(M40_INVALID_ARGUMENT, "row %u of a run samples 0 tokens: wanted at least 1", i);
      if (row.n_end_tokens != 0 && uint64_t{row.first_end_token} + row.n_end_tokens > header.n_end_tokens) {
        fail(M40_INVALID_ARGUMENT, "row %u of a run: end tokens %u to %llu: the run has %u", i, row.first_end_token,
             Long{uint64_t{row.first_end_token} + row.n_end_tokens}, header.n_end_tokens);
      }
      const uint32_t n_steps = std::min(row.n_tokens, header.n_steps);
      const bool ends_all = limits.n_slots != 0 && i > 0;
      input.n_steps = ends_all ? std::min(input.n_steps, n_steps) : std::max(input.n_steps, n_steps);
      check_last(step, limits, i, n_steps);
    }
    if (limits.n_slots != 0) check_later_slots(step, limits, input.rows);
    return input;
  }

 private:
  // All elements are of 4 bytes, or of fields of 4.
  template <class T>
  const T* array(const char* name, uint32_t offset, uint64_t n) const {
    static_assert(alignof(T) == 4);
    if (n == 0) return nullptr;
    if (offset % 4 != 0 || uint64_t{offset} + n * sizeof(T) > n_bytes_) {
      fail(M40_INVALID_ARGUMENT, "%s: %llu elements of %zu bytes from byte %u on do not fit the run of %llu bytes, or not a multiple of 4", name, Long{n},
           sizeof(T), offset, Long{n_bytes_});
    }
    return reinterpret_cast<const T*>(run_ + offset);
  }

  // The row can be computed in so many steps.
  static void check_last(const Step& step, const StepLimits& limits, uint32_t i, uint32_t n_steps) {
    const uint64_t last = uint64_t{step.positions[i]} + n_steps - 1;
    if (last >= limits.n_positions) {
      fail(M40_INVALID_ARGUMENT, "row %u of a run reaches position %llu: wanted one below %llu", i, Long{last}, Long{limits.n_positions});
    }
    if (limits.kv_block_tokens != 0) check_kv_blocks(step, limits, step.sequences[i], step.positions[i], static_cast<uint32_t>(last));
  }

  // A slot that is written from a later step on belongs to no other row.
  static void check_later_slots(const Step& step, const StepLimits& limits, const m40_run_row* rows) {
    std::vector<uint32_t> later;
    for (uint32_t i = 0; i < step.n_tokens; i++) {
      const m40_run_row& row = rows[i];
      if (row.later_slot == M40_NONE) continue;
      if (row.later_slot >= limits.n_slots) {
        fail(M40_INVALID_ARGUMENT, "the states of row %u of a run are written to slot %u in the end: wanted one below %u, or M40_NONE", i, row.later_slot,
             limits.n_slots);
      }
      if (row.later_from == 0) fail(M40_INVALID_ARGUMENT, "the states of row %u of a run go to slot %u from step 0 on: wanted a later one", i, row.later_slot);
      later.push_back(row.later_slot);
    }
    if (later.empty()) return;
    std::sort(later.begin(), later.end());
    const auto twice = std::adjacent_find(later.begin(), later.end());
    if (twice != later.end()) fail(M40_INVALID_ARGUMENT, "two rows of a run continue in slot %u: wanted a slot each", *twice);
    for (uint32_t i = 0; i < step.n_tokens; i++) {
      for (const uint32_t slot : {step.slot_from(step.sequences[i]), step.slot_to(step.sequences[i])}) {
        if (!std::binary_search(later.begin(), later.end(), slot)) continue;
        fail(M40_INVALID_ARGUMENT, "a row of a run continues in slot %u, which row %u begins with: wanted one that no row has", slot, i);
      }
    }
  }

  const uint8_t* run_;
  uint64_t n_bytes_;
};

}  // namespace

RunInput parse_run(const void* run, uint64_t run_bytes, const Step& step, const StepLimits& limits) {
  check_step(step, limits);
  return RunParser(run, run_bytes).parse(step, limits);
}

void Run::open(const Ring& ring, uint32_t n_rows, RunAgreement& agreement) {
  const uint32_t first = ring.read();
  // A step is queued after the running one; the entries of that one are read when it is done.
  if (uint64_t{2} * n_rows > ring.n_entries()) {
    fail(M40_INVALID_ARGUMENT, "a run of %u rows with a ring of %u entries: wanted two for each row at least", n_rows, ring.n_entries());
  }
  if (ring.has(first)) fail(M40_INVALID_ARGUMENT, "a run with a ring that has entries to be read: wanted all of them read first");
  ring_ = ring;
  agreement_ = &agreement;
  first_ = first;
  n_rows_ = n_rows;
  ends_ = done_ = false;
  failed_ = false;
  ring_.say_over(false);
  agreement.open();
}

void Run::start(std::function<void()> work) {
  thread_.start([this, work] {
    failed_ = guarded(&error_, work) != M40_OK;
    agreement_->close();
    done_ = true;
    notify();
  });
}

bool Run::next(uint32_t step) {
  if (!follows()) {
    if (ends_ || ring_.stops() || !has_room(step)) return false;
    agreement_->say_next();
    return true;
  }
  if (!agreement_->has_next(step, ends_)) return false;
  // The others count on this one now. The reader of the ring reads it in any case.
  while (!has_room(step)) {
    if (ends_) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

void Run::notify() {
  news_++;
  wake_all(news_);
}

bool Run::wait() {
  for (;;) {
    const uint32_t news = news_;
    if (done_) {
      finish();
      return true;
    }
    if (ring_.has(ring_.read())) return false;
    sleep_on(news_, news, look_ms);
  }
}

void Run::finish() {
  thread_.join();
  ring_.say_over(true);
  if (failed_) throw Failure{error_};
}

void Run::end() {
  ends_ = true;
  thread_.join();
}

bool Run::has_step(uint32_t step) const {
  for (uint32_t row = 0; row < n_rows_; row++) {
    if (!ring_.has(number(step, row))) return false;
  }
  return true;
}

bool Run::goes_on(uint32_t step) const {
  for (uint32_t row = 0; row < n_rows_; row++) {
    if (ring_.entry(number(step, row)).goes_on != 0) return true;
  }
  return false;
}

}  // namespace m40
