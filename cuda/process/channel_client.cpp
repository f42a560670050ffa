#include "channel_client.h"

#include <string.h>

#include <algorithm>
#include <memory>

#include "../common/error.h"
#include "../common/shared_host.h"

using m40::fail;
using m40::guarded;
using m40::require;
using m40::SharedMemory;
using m40::sleep_on;
using m40::wake_all;
using namespace m40::channel;

namespace {

constexpr uint32_t look_ms = 1000;
// Looks are counted and not time: while this process itself is stopped, it looks once at most. A process that has not
// begun to serve after so many never will, and one that shows no beat in so many is stopped.
constexpr uint32_t start_looks = 60;
constexpr uint32_t silent_looks = 10;
constexpr uint32_t kill_ms = 10'000;
// The thread that finishes a step was woken shortly before its end.
constexpr uint64_t finish_spin_us = 400;
constexpr uint64_t call_spin_us = 20;
// What a lane's room keeps from message to message. More of it is given back.
constexpr uint64_t kept_room = uint64_t{4} << 20;

SharedMemory make_memory() {
  SharedMemory memory = SharedMemory::create(channel_bytes, false);
  auto* header = new (memory.data()) Header{};
  header->magic = magic;
  header->abi_version = M40_ABI_VERSION;
  header->header_bytes = sizeof(Header);
  return memory;
}

m40::Descriptor connect_socket(m40::Descriptor& other) {
  m40::Descriptor one;
  m40::connect_sockets(one, other);
  return one;
}

}  // namespace

m40_channel::m40_channel(const std::vector<std::string>& command)
    : memory_(make_memory()),
      header_(*reinterpret_cast<Header*>(memory_.data())),
      socket_(connect_socket(process_socket_)),
      process_(command, {memory_.descriptor().number(), process_socket_.number()}, [this] {
        for (Mailbox& mailbox : header_.mailboxes) {
          mailbox.state = kGone;
          wake_all(mailbox.state);
        }
      }) {
  memory_.close_descriptor();
  process_socket_.close();
  pulse_.start([this] { watch_pulse(); });
}

m40_channel::~m40_channel() {
  process_.kill();
  pulse_.join();
}

// It runs concurrently with all calls: a thread that waits for the process cannot also notice its end.
void m40_channel::watch_pulse() {
  uint32_t last = header_.beats;
  for (uint32_t silent = 0; !process_.wait_for_end(look_ms) && !process_.ended();) {
    const uint32_t beats = header_.beats;
    silent = beats == last ? silent + 1 : 0;
    last = beats;
    const bool serves = header_.serving != 0;
    if (silent < (serves ? silent_looks : start_looks)) continue;
    process_.give_up(serves ? "gave no sign of life for " + std::to_string(silent_looks * look_ms / 1000) + " s, as one does that is stopped or frozen, and was ended"
                            : "did not begin to serve within " + std::to_string(start_looks * look_ms / 1000) + " s, and was ended");
    return;
  }
}

void m40_channel::require_alive(const char* what) const {
  if (process_.ended()) fail(M40_DEVICE_LOST, "%s: the device's process %s", what, process_.ending().c_str());
}

m40_status m40_channel::call(uint32_t index, const m40_channel_argument* arguments, uint32_t n_arguments, uint64_t* value, m40_error* error) {
  calls_++;
  Answer answer = {};
  const m40_status thrown = guarded(&answer.error, [&] {
    const Function& function = function_at(index);
    if (n_arguments != function.n_parameters) {
      fail(M40_INVALID_ARGUMENT, "%s: got %u arguments, wanted %u", function.name, n_arguments, function.n_parameters);
    }
    require(arguments, "arguments");
    const Lane lane = lane_of(function, index, arguments);
    const std::lock_guard<std::mutex> lock(lanes_[lane].mutex);
    answer = index == kHostAlloc || index == kHostShare ? allocate_host(index, arguments) : index == kHostFree ? free_host(arguments) : ask(function, lane, index, arguments);
    if (index == kProgramCreate && answer.status == M40_OK) note_program(arguments);
  });
  if (thrown != M40_OK) answer.status = thrown;
  // Its process may be gone: this end of it is there.
  if (index == kContextDestroy && n_arguments == 1 && arguments != nullptr) forget_host(arguments[0].value);
  if (error != nullptr) *error = answer.error;
  if (value != nullptr) *value = answer.value;
  // The channel may be freed as soon as this is 0: only the address is used then.
  std::atomic<uint32_t>& calls = calls_;
  if (--calls == 0) wake_all(calls);
  return answer.status;
}

// Steps of the lane of prompts have their own mailbox, so that they run concurrently with all other calls.
Lane m40_channel::lane_of(const Function& function, uint32_t index, const m40_channel_argument* arguments) {
  if (!is_step(index)) return function.lane;
  const std::lock_guard<std::mutex> lock(prompt_programs_mutex_);
  return prompt_programs_.count(arguments[0].value) != 0 ? kPrompts : function.lane;
}

void m40_channel::note_program(const m40_channel_argument* arguments) {
  m40_limits limits;
  memcpy(&limits, reinterpret_cast<const void*>(arguments[1].value), sizeof(limits));
  if (limits.lane != M40_LANE_PROMPTS) return;
  uint64_t program;
  memcpy(&program, reinterpret_cast<const void*>(arguments[7].value), sizeof(program));
  const std::lock_guard<std::mutex> lock(prompt_programs_mutex_);
  prompt_programs_.insert(program);
}

// The begin of a step or a run leaves its answer to the wait after it.
Answer m40_channel::ask(const Function& function, Lane in, uint32_t index, const m40_channel_argument* arguments) {
  LaneState& lane = lanes_[in];
  const bool collects = (index == kStepWait && lane.posted == kStepBegin) || (index == kRunWait && lane.posted == kRunBegin);
  if (lane.posted != M40_NONE && !collects) fail(M40_INVALID_ARGUMENT, "%s: %s has begun that nobody has waited for", function.name, function_at(lane.posted).what);
  if (!collects) {
    require_alive(function.what);
    const bool begins = index == kStepBegin || index == kRunBegin;
    if (begins) lane.kept_bytes = 0;
    const uint64_t used_bytes = pack(function, in, index, arguments);
    lane.touched_bytes = std::max(lane.touched_bytes, used_bytes);
    post(in);
    if (begins) {
      lane.kept_bytes = used_bytes;
      lane.posted = index;
      return {};
    }
  }
  lane.posted = M40_NONE;
  const bool steps = in == kSteps || in == kPrompts;
  const Answer answer = wait(function, in, index == kStepFinish ? finish_spin_us : steps ? 0 : call_spin_us);
  if (answer.status == M40_OK) unpack(function, in, arguments);
  if (lane.touched_bytes > kept_room && !steps) forget_room(in);
  return answer;
}

uint64_t m40_channel::pack(const Function& function, Lane lane, uint32_t index, const m40_channel_argument* arguments) {
  Request& request = mailbox(lane).request;
  request = {index, function.n_parameters, {}};
  uint64_t end = lanes_[lane].kept_bytes;
  for (uint32_t i = 0; i < function.n_parameters; i++) {
    const Parameter& parameter = function.parameters[i];
    const m40_channel_argument& given = arguments[i];
    Argument& argument = request.arguments[i];
    argument = {given.value, 0, area_none, 0};
    if (!is_memory(parameter.kind)) continue;
    argument.value = 0;
    if (given.value == 0) continue;
    const auto* memory = reinterpret_cast<const uint8_t*>(given.value);
    uint64_t n_bytes = given.n_bytes;
    if (parameter.kind != Kind::kText) {
      n_bytes = memory_bytes(function, i, [&](uint32_t count) { return arguments[count].value; });
      if (given.n_bytes < n_bytes) {
        fail(M40_INVALID_ARGUMENT, "%s: parameter %u has %llu bytes, wanted %llu", function.name, i, static_cast<unsigned long long>(given.n_bytes),
             static_cast<unsigned long long>(n_bytes));
      }
    }
    if (lane != kPrompts && find_host(given.value, n_bytes, &argument)) continue;
    const Room& place = rooms[lane];
    if (n_bytes > place.n_bytes - end) {
      fail(M40_INVALID_ARGUMENT, "%s: its memory is larger than the %llu bytes that a channel can hand over", function.name,
           static_cast<unsigned long long>(place.n_bytes));
    }
    argument = {end, n_bytes, area_of_lane, 0};
    if (!is_written(parameter.kind)) memcpy(room(lane) + end, memory, n_bytes);
    end = std::min(align_up(end + n_bytes), place.n_bytes);
  }
  return end;
}

// By where the caller has put it, not by what the other end says now.
void m40_channel::unpack(const Function& function, Lane lane, const m40_channel_argument* arguments) const {
  const Request& request = header_.mailboxes[lane].request;
  for (uint32_t i = 0; i < function.n_parameters; i++) {
    const Argument& argument = request.arguments[i];
    if (!is_written(function.parameters[i].kind) || argument.area != area_of_lane) continue;
    const uint64_t n_bytes = memory_bytes(function, i, [&](uint32_t count) { return arguments[count].value; });
    if (argument.value > rooms[lane].n_bytes || n_bytes > rooms[lane].n_bytes - argument.value) {
      fail(M40_INTERNAL, "%s: the device's process has changed its message", function.name);
    }
    memcpy(reinterpret_cast<void*>(arguments[i].value), room(lane) + argument.value, n_bytes);
  }
}

void m40_channel::forget_room(Lane lane) {
  memory_.forget(rooms[lane].offset, lanes_[lane].touched_bytes);
  lanes_[lane].touched_bytes = 0;
}

void m40_channel::post(Lane lane) {
  mailbox(lane).state = kAsked;
  Bell& bell = header_.bells[server_of(lane)];
  bell.rung++;
  if (bell.asleep != 0) wake_all(bell.rung);
  // The thread that noted the end may have been here already.
  if (process_.ended()) mailbox(lane).state = kGone;
}

Answer m40_channel::wait(const Function& function, Lane lane, uint64_t spin_us) {
  Mailbox& box = mailbox(lane);
  const auto is_settled = [&box] { return box.state != kAsked; };
  if (!spin_until(is_settled, spin_us)) {
    box.waiting++;
    while (!is_settled()) sleep_on(box.state, kAsked, look_ms);
    box.waiting--;
  }
  if (box.state != kAnswered) {
    require_alive(function.what);
    fail(M40_DEVICE_LOST, "%s: the device's process has left its messages in disorder", function.what);
  }
  Answer answer = box.answer;
  answer.error.message[sizeof(answer.error.message) - 1] = '\0';
  box.state = kFree;
  return answer;
}

// ---- host memory --------------------------------------------------------------------------------------

// Of its own, or of what the caller has made to be shared: the other end makes no difference.
SharedMemory m40_channel::host_memory(uint32_t index, uint64_t argument) {
  if (index == kHostShare) {
    const auto* shared = reinterpret_cast<const m40_shared*>(argument);
    require(shared, "shared");
    return SharedMemory::open(m40::duplicate(*shared), shared->memory.n_bytes());
  }
  if (argument == 0) fail(M40_INVALID_ARGUMENT, "host memory of 0 bytes: wanted at least 1");
  return SharedMemory::create(argument, true);
}

Answer m40_channel::allocate_host(uint32_t index, const m40_channel_argument* arguments) {
  const Function& function = function_at(kHostAlloc);
  require_alive(function.what);
  require(reinterpret_cast<void*>(arguments[2].value), "memory");
  HostArea area = {host_memory(index, arguments[1].value), arguments[0].value, 0};
  m40::send_descriptor(socket_.number(), area.memory.descriptor().number());
  area.memory.close_descriptor();
  const m40_channel_argument request[] = {arguments[0], {area.memory.n_bytes(), 0}, {}};
  Answer answer = ask(function, kCalls, kHostAlloc, request);
  if (answer.status != M40_OK) return answer;
  area.index = static_cast<uint32_t>(answer.value);
  const uint64_t address = reinterpret_cast<uint64_t>(area.memory.data());
  memcpy(reinterpret_cast<void*>(arguments[2].value), &address, sizeof(address));
  const std::lock_guard<std::mutex> lock(areas_mutex_);
  areas_.push_back(std::move(area));
  answer.value = 0;
  return answer;
}

Answer m40_channel::free_host(const m40_channel_argument* arguments) {
  uint32_t index = M40_NONE;
  {
    const std::lock_guard<std::mutex> lock(areas_mutex_);
    const auto found = std::find_if(areas_.begin(), areas_.end(), [&](const HostArea& area) {
      return reinterpret_cast<uint64_t>(area.memory.data()) == arguments[1].value && area.context == arguments[0].value;
    });
    if (found == areas_.end()) return {};
    index = found->index;
    areas_.erase(found);
  }
  const m40_channel_argument request[] = {arguments[0], {index, 0}};
  return ask(function_at(kHostFree), kCalls, kHostFree, request);
}

bool m40_channel::find_host(uint64_t address, uint64_t n_bytes, Argument* place) {
  const std::lock_guard<std::mutex> lock(areas_mutex_);
  for (const HostArea& area : areas_) {
    const uint64_t begin = reinterpret_cast<uint64_t>(area.memory.data());
    if (address < begin || address - begin > area.memory.n_bytes()) continue;
    const uint64_t offset = address - begin;
    if (n_bytes > area.memory.n_bytes() - offset || offset % sizeof(uint64_t) != 0) continue;
    *place = {offset, n_bytes, area.index, 0};
    return true;
  }
  return false;
}

void m40_channel::forget_host(uint64_t context) {
  const std::lock_guard<std::mutex> lock(areas_mutex_);
  areas_.erase(std::remove_if(areas_.begin(), areas_.end(), [context](const HostArea& area) { return area.context == context; }), areas_.end());
}

// ---- the end ------------------------------------------------------------------------------------------

bool m40_channel::end(uint32_t patience_ms) {
  header_.told_to_end = 1;
  for (Bell& bell : header_.bells) {
    bell.rung++;
    wake_all(bell.rung);
  }
  // One that does not serve yet holds nothing.
  if (header_.serving == 0 || !process_.wait_for_end(patience_ms)) process_.kill();
  if (!process_.wait_for_end(kill_ms)) return false;
  for (uint32_t n = calls_; n != 0; n = calls_) sleep_on(calls_, n, look_ms);
  return true;
}

extern "C" m40_status m40_channel_open(const char* command, uint64_t n_bytes, m40_channel** channel, m40_error* error) {
  return guarded(error, [&] {
    require(command, "command");
    require(channel, "channel");
    if (n_bytes == 0 || command[n_bytes - 1] != '\0') fail(M40_INVALID_ARGUMENT, "command: wanted zero-terminated texts");
    std::vector<std::string> words;
    for (uint64_t at = 0; at < n_bytes; at += words.back().size() + 1) words.emplace_back(command + at);
    *channel = new m40_channel(words);
  });
}

extern "C" int32_t m40_channel_process(const m40_channel* channel) { return channel == nullptr ? 0 : channel->process(); }

extern "C" m40_status m40_channel_check(m40_channel* channel, m40_error* error) {
  return guarded(error, [&] {
    require(channel, "channel");
    channel->require_alive("the device");
  });
}

extern "C" m40_status m40_channel_call(m40_channel* channel, uint32_t function, const m40_channel_argument* arguments, uint32_t n_arguments,
                                       uint64_t* value, m40_error* error) {
  if (channel != nullptr) return channel->call(function, arguments, n_arguments, value, error);
  return guarded(error, [&] { require(channel, "channel"); });
}

extern "C" m40_status m40_channel_close(m40_channel* channel, uint32_t patience_ms, m40_error* error) {
  return guarded(error, [&] {
    require(channel, "channel");
    if (!channel->end(patience_ms)) {
      fail(M40_DEVICE_LOST, "the device's process (%d) does not end, not even by SIGKILL: the driver holds it", static_cast<int>(channel->process()));
    }
    delete channel;
  });
}
