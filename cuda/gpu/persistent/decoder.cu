#include "decoder.h"

#include <string.h>

#include <algorithm>
#include <new>

#include "../../ops/advance_run.h"
#include "../executor.h"
#include "persistent_kernel.h"

namespace m40::cuda {

namespace {

// Without a step for so long, the kernel leaves: microseconds. Between two tokens of a stream it waits for much less.
constexpr uint32_t resident_patience = 10'000;
// How long it stays on devices older than Pascal, however much there is to do: microseconds. They go from one process
// to another only when a kernel ends.
constexpr uint32_t resident_life = 20'000;
// All thread blocks are on the device within that, or never: microseconds. A prompt's step may have to end first.
constexpr uint32_t resident_start_patience = 1'000'000;
constexpr int pascal = 6;
constexpr size_t most_entries = 256;
// Steps are looked for in mapped memory; every so many times the driver is asked whether all is well.
constexpr uint32_t looks_a_question = 64;

// A word that the other side writes, and with it all that the other side wrote earlier.
uint32_t look(const uint32_t& word) { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }
void show(uint32_t& word, uint32_t value) {
  __atomic_store_n(&word, value, __ATOMIC_SEQ_CST);
#ifdef M40_EMULATED
  emulation::hold_up_host();
#endif
}

template <class T>
T* on_device(T* host) {
  void* device = nullptr;
  check(cudaHostGetDevicePointer(&device, const_cast<void*>(static_cast<const void*>(host)), 0), "mapped memory");
  return static_cast<T*>(device);
}

cudaStream_t create_stream() {
  // Its blocks come onto the device ahead of those of launches that wait for room.
  int least = 0, greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "a stream");
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest), "a stream");
  return stream;
}

// Nodes that a step of so many operations has at most: there is no room for more.
uint64_t most_nodes(uint64_t n_ops) { return 2 * n_ops + 16; }

// A program's memory for it: ResidentState, and behind it the lists of nodes.
constexpr uint64_t state_bytes = align_up(sizeof(ResidentState));

class PersistentKernel final : public DecodeExecutorKind {
 public:
  uint32_t most_rows() const override { return most_resident_tokens; }
  bool runs_on(uint32_t device, std::string* why) const override {
    int limited = 0;
    const cudaError_t error = cudaDeviceGetAttribute(&limited, cudaDevAttrKernelExecTimeout, static_cast<int>(device));
    if (error == cudaSuccess && limited == 0) return true;
    cudaGetLastError();
    if (why != nullptr) *why = error == cudaSuccess ? "a display is attached to the device, so its driver ends persistent kernels" : "the driver does not say how long kernels may run";
    return false;
  }
  uint64_t memory_bytes(const ProgramDescription& program) const override { return state_bytes + resident_lists * most_nodes(program.n_ops) * sizeof(BodyLaunch); }
  std::unique_ptr<DecodeExecutor> make(const m40_program& program) const override { return std::make_unique<ResidentDecoder>(program); }
};

}  // namespace

const DecodeExecutorKind& persistent_kernel() {
  static const PersistentKernel kind{};
  return kind;
}

ResidentDecoder::ResidentDecoder(const m40_program& program)
    : program_(program), seat_(DeviceSeat::of(program.context->device)), mailbox_memory_(program.context->watch, sizeof(ResidentMailbox)), mailbox_(new (mailbox_memory_.data()) ResidentMailbox()), stream_(create_stream()) {
  int generation = 0;
  check(cudaDeviceGetAttribute(&generation, cudaDevAttrComputeCapabilityMajor, static_cast<int>(program.context->device)), "a device's capability");
  if (generation < pascal) most_life_ = resident_life;
}

ResidentDecoder::~ResidentDecoder() {
  // The destroyer of a program has waited for all of its work.
  seat_.forget(this);
  cudaStreamDestroy(stream_);
  cudaGetLastError();
}

BodyLaunch* ResidentDecoder::list_at(uint32_t place) const {
  return reinterpret_cast<BodyLaunch*>(program_.memory + program_.plan.executor + state_bytes) + place * most_nodes(program_.ops.size());
}

void ResidentDecoder::write_down(const StepShape& shape, const AdvanceRunArgs* advance, Entry& entry) {
  entry.known = true;
  std::string why;
  if (std::any_of(program_.ops.begin(), program_.ops.end(), [](const m40_op& op) { return op.kind == M40_OP_EXPERT_MATMUL; })) {
    why = "the model has experts";
  } else {
    LaunchList list(resident_tokens(shape.n_tokens));
    launch_program(program_, shape);
    if (advance != nullptr) launch_advance_run(*advance, program_.stream);
    entry.usable = find_resident_kernel(list, &entry.kernel, &why);
    if (list.launches().size() > most_nodes(program_.ops.size())) {
      entry.usable = false;
      why = "it launches more than there is room for";
    }
    if (entry.usable) entry.nodes = list.launches();
  }
  for (const BodyLaunch& node : entry.nodes) entry.most_blocks = std::max(entry.most_blocks, node.n_blocks);
  if (entry.usable && resident_blocks(entry.kernel) == 0) {
    entry.usable = false;
    why = "not one thread block of the kernel fits the device";
  }
  if (!entry.usable && why_.empty()) why_ = why;
}

ResidentDecoder::Entry& ResidentDecoder::entry_of(const StepShape& shape, const AdvanceRunArgs* advance) {
  const Key key(shape, advance != nullptr);
  if (entries_.size() >= most_entries && entries_.count(key) == 0) {
    const auto oldest = std::min_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) { return a.second.last_use < b.second.last_use; });
    if (oldest->second.place < resident_lists) placed_[oldest->second.place] = nullptr;
    entries_.erase(oldest);
  }
  Entry& entry = entries_[key];
  if (!entry.known) write_down(shape, advance, entry);
  if (entry.usable && advance != nullptr) say_advance(*advance, entry);
  entry.last_use = ++n_uses_;
  return entry;
}

// Runs of one shape may differ in their rings: the last node says where it is.
void ResidentDecoder::say_advance(const AdvanceRunArgs& advance, Entry& entry) {
  BodyLaunch& node = entry.nodes.back();
  if (memcmp(node.args, &advance, sizeof(advance)) == 0) return;
  memcpy(node.args, &advance, sizeof(advance));
  if (entry.place < resident_lists) placed_[entry.place] = nullptr;
  entry.place = resident_lists;
}

// The kernel reads lists only during a step, and none runs now.
void ResidentDecoder::place_list(Entry& entry) {
  if (entry.place < resident_lists) return;
  const auto least_used = [](const Entry* a, const Entry* b) { return (a == nullptr ? 0 : a->last_use) < (b == nullptr ? 0 : b->last_use); };
  const auto place = static_cast<uint32_t>(std::min_element(placed_, placed_ + resident_lists, least_used) - placed_);
  if (placed_[place] != nullptr) placed_[place]->place = resident_lists;
  placed_[place] = nullptr;
  check(cudaMemcpyAsync(list_at(place), entry.nodes.data(), entry.nodes.size() * sizeof(BodyLaunch), cudaMemcpyHostToDevice, program_.stream), "a step's launches");
  program_.context->watch.wait(program_.stream, "a step's launches");
  placed_[place] = &entry;
  entry.place = place;
}

// first: the number of the step that comes next.
void ResidentDecoder::launch(uint32_t first) {
  ResidentArgs args = {};
  args.memory = reinterpret_cast<const float*>(program_.memory);
  args.state = reinterpret_cast<ResidentState*>(program_.memory + program_.plan.executor);
  args.mailbox = on_device(mailbox_);
  args.input = on_device(program_.input->data());
  args.step_input = program_.memory + program_.plan.input;
  args.results = program_.memory + program_.plan.results;
  args.host_results = on_device(program_.results->data());
  args.life = ++life_;
  args.first = first;
  args.patience = resident_patience;
  args.start_patience = resident_start_patience;
  args.most_life = most_life_;
  check(cudaMemsetAsync(args.state, 0, sizeof(ResidentState), stream_), "a persistent kernel");
  launch_resident(kernel_, args, std::min(resident_blocks(kernel_), most_blocks_), stream_);
  check_launches("a persistent kernel");
  alive_ = true;
}

bool ResidentDecoder::has_left() {
  if (!alive_) return true;
  if (look(mailbox_->left) != life_) return false;
  alive_ = false;
  if (mailbox_->end == static_cast<uint32_t>(ResidentEnd::kNotAll)) {
    refused_ = true;
    why_ = "its thread blocks did not come onto the device in " + std::to_string(resident_start_patience / 1'000'000) + " s";
  }
  return true;
}

void ResidentDecoder::leave() {
  if (has_left()) return;
  show(mailbox_->leave, life_);
  program_.context->watch.wait(stream_, "a persistent kernel");
  has_left();
  alive_ = false;
}

// Numbers go round.
bool ResidentDecoder::is_done(uint32_t number) const { return static_cast<int32_t>(look(mailbox_->done) - number) >= 0; }

ResidentDecoder::Begun ResidentDecoder::begin(const StepShape& shape, uint64_t input_bytes, uint64_t result_bytes) {
  return ask(shape, input_bytes, result_bytes, nullptr);
}

ResidentDecoder::Begun ResidentDecoder::begin_run(const StepShape& shape, uint64_t input_bytes, const AdvanceRunArgs& advance) {
  return ask(shape, input_bytes, 0, &advance);
}

ResidentDecoder::Begun ResidentDecoder::ask(const StepShape& shape, uint64_t input_bytes, uint64_t result_bytes, const AdvanceRunArgs* advance) {
  const std::lock_guard<std::mutex> lock(seat_.mutex());
  if (refused_) return Begun::kNever;
  Entry& entry = entry_of(shape, advance);
  if (!entry.usable) return Begun::kNever;
  if (!seat_.sit(this)) return Begun::kNotNow;
  // A run may have left a queued step, which uses the program's memory as well.
  if (has_left()) program_.context->watch.wait(program_.stream, "a run");
  // Another number of tokens, or more thread blocks than it was launched with.
  if (!has_left() && !(kernel_ == entry.kernel && most_blocks_ >= entry.most_blocks)) leave();
  place_list(entry);
  mailbox_->step = {list_at(entry.place), static_cast<uint32_t>(entry.nodes.size()), static_cast<uint32_t>((input_bytes + 15) / 16 * 16), static_cast<uint32_t>(result_bytes), asked_ + 1};
  show(mailbox_->asked, ++asked_);
  if (!has_left()) return Begun::kYes;
  // It did the step before it left: a step that continues from a state must not be done twice.
  if (is_done(asked_)) return Begun::kYes;
  kernel_ = entry.kernel;
  most_blocks_ = entry.most_blocks;
  launch(asked_);
  return Begun::kYes;
}

bool ResidentDecoder::begin_next() {
  const std::lock_guard<std::mutex> lock(seat_.mutex());
  if (has_left() && (refused_ || !seat_.sit(this))) return false;
  show(mailbox_->asked, ++asked_);
  if (has_left() && !refused_ && !is_done(asked_)) launch(is_done(asked_ - 1) ? asked_ : asked_ - 1);
  return true;
}

ResidentDecoder::State ResidentDecoder::state(uint32_t before_last) {
  const uint32_t number = asked_ - before_last;
  if (is_done(number)) return State::kDone;
  const std::lock_guard<std::mutex> lock(seat_.mutex());
  if (refused_) return State::kRefused;
  if (has_left()) {
    if (is_done(number)) return State::kDone;
    if (refused_) return State::kRefused;
    // It had left when it was asked.
    if (!seat_.sit(this)) return State::kDisplaced;
    launch(number);
    return State::kCalledBack;
  }
  if (++n_looks_ % looks_a_question != 0) return State::kRuns;
  const cudaError_t answer = cudaStreamQuery(stream_);
  if (answer == cudaErrorNotReady) {
    cudaGetLastError();
    return State::kRuns;
  }
  check(answer, "a step");
  // It has left: all that it wrote before is visible by now.
  if (!has_left() && !is_done(number)) fail(M40_DEVICE_LOST, "a step: the persistent kernel ended without a word");
  return is_done(number) ? State::kDone : State::kRuns;
}

float ResidentDecoder::milliseconds() const { return static_cast<float>(mailbox_->nanoseconds) * 1e-6f; }

}  // namespace m40::cuda
