// The serving end of a channel: takes messages, checks all that they say, and calls the functions of this library.
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "channel.h"
#include "channel_functions.h"
#include "../common/error.h"
#include "../common/host_memory.h"
#include "../common/shared_memory.h"
#include "../common/thread.h"

namespace m40::channel {

namespace {

using Long = unsigned long long;

constexpr uint32_t look_ms = 1000;
// The next message comes soon: after a step that the caller finishes, and in a row of small calls.
constexpr uint64_t step_spin_us = 150;
constexpr uint64_t call_spin_us = 50;

// Shows that this process runs, and ends it with the one that started it, whatever its other threads do or wait for.
class Watchdog {
 public:
  Watchdog(int socket, std::atomic<uint32_t>& beats) : done_(eventfd(0, EFD_CLOEXEC)) {
    if (done_.number() < 0) fail(M40_INTERNAL, "an event cannot be created: %s", strerror(errno));
    thread_.start([this, socket, &beats] {
      pollfd watched[] = {{socket, POLLRDHUP, 0}, {done_.number(), POLLIN, 0}};
      while (watched[1].revents == 0) {
        if (poll(watched, 2, static_cast<int>(beat_ms)) > 0 && watched[0].revents != 0) _exit(0);
        beats++;
      }
    });
  }
  ~Watchdog() {
    const uint64_t one = 1;
    if (write(done_.number(), &one, sizeof(one)) == sizeof(one)) thread_.join();
  }

 private:
  Descriptor done_;
  Thread thread_;
};

// The objects of ids. Steps in the lane of prompts look them up while other calls create some.
class Handles {
 public:
  uint64_t add(Handle kind, void* object, uint64_t context, bool of_prompts) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const uint64_t id = ++last_;
    handles_[id] = {kind, object, context == 0 ? id : context, of_prompts};
    return id;
  }
  // Whether it is a program of M40_LANE_PROMPTS.
  bool is_of_prompts(uint64_t id) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = handles_.find(id);
    return found != handles_.end() && found->second.of_prompts;
  }
  // nullptr for 0.
  void* find(Handle kind, uint64_t id) const {
    if (id == 0) return nullptr;
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = handles_.find(id);
    if (found == handles_.end() || found->second.kind != kind) fail(M40_INVALID_ARGUMENT, "handle %llu is not %s", Long{id}, handle_name(kind));
    return found->second.object;
  }
  // 0 for 0.
  uint64_t context_of(uint64_t id) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = handles_.find(id);
    return found == handles_.end() ? 0 : found->second.context;
  }
  void remove(uint64_t id) {
    const std::lock_guard<std::mutex> lock(mutex_);
    handles_.erase(id);
  }
  void remove_all_of(uint64_t context) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto i = handles_.begin(); i != handles_.end();) i = i->second.context == context ? handles_.erase(i) : std::next(i);
  }
  std::vector<uint64_t> contexts() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<uint64_t> ids;
    for (const auto& [id, entry] : handles_) {
      if (entry.kind == Handle::kContext) ids.push_back(id);
    }
    return ids;
  }

 private:
  struct Entry {
    Handle kind;
    void* object;
    uint64_t context;  // the id of the one that it belongs to
    bool of_prompts;
  };
  mutable std::mutex mutex_;
  std::map<uint64_t, Entry> handles_;
  uint64_t last_ = 0;
};

class Server {
 public:
  Server(SharedMemory memory, Descriptor socket)
      : memory_(std::move(memory)), socket_(std::move(socket)), header_(*reinterpret_cast<Header*>(memory_.data())) {
    if (header_.magic != magic || header_.abi_version != M40_ABI_VERSION || header_.header_bytes != sizeof(Header)) {
      fail(M40_INVALID_ARGUMENT, "the channel is another version's: the program was replaced while it ran; start it again");
    }
  }

  void run() {
    const Watchdog watchdog(socket_.number(), header_.beats);
    Thread others[n_servers - 1];
    for (uint32_t i = 1; i < n_servers; i++) others[i - 1].start([this, i] { serve(i); });
    header_.serving = 1;
    serve(0);
    for (Thread& other : others) other.join();
    for (uint64_t id : handles_.contexts()) destroy_context(id);
  }

 private:
  // Memory that was shared later, for the device to use.
  struct Area {
    SharedMemory memory;
    uint64_t context;
  };

  void serve(uint32_t server) {
    Bell& bell = header_.bells[server];
    uint64_t spin_us = 0;
    while (header_.told_to_end == 0) {
      const uint32_t rung = bell.rung;
      bool found = false;
      for (uint32_t lane = 0; lane < n_lanes; lane++) {
        if (server_of(lane) != server || header_.mailboxes[lane].state != kAsked) continue;
        found = true;
        answer(static_cast<Lane>(lane));
        spin_us = lane == kSteps || lane == kPrompts ? step_spin_us : lane == kCalls ? call_spin_us : 0;
      }
      if (found || spin_until([&] { return bell.rung != rung; }, std::exchange(spin_us, 0))) continue;
      bell.asleep++;
      sleep_on(bell.rung, rung, look_ms);
      bell.asleep--;
    }
  }

  void answer(Lane lane) {
    Mailbox& mailbox = header_.mailboxes[lane];
    // Copied out of the shared memory first: the other end could change it after the check.
    Request request;
    memcpy(&request, &mailbox.request, sizeof(request));
    Answer given = {};
    const m40_status thrown = guarded(&given.error, [&] { given.status = serve_request(lane, request, &given); });
    if (thrown != M40_OK) given.status = thrown;
    memcpy(&mailbox.answer, &given, sizeof(given));
    mailbox.state = kAnswered;
    if (mailbox.waiting != 0) wake_all(mailbox.state);
  }

  m40_status serve_request(Lane lane, const Request& request, Answer* answer) {
    const Function& function = function_at(request.function);
    // The client sends the descriptor before the message, so the server takes it first, even if the message is wrong.
    Descriptor descriptor;
    if (request.function == kHostAlloc && lane == function.lane) descriptor = receive_descriptor(socket_.number());
    const bool in_lane = function.lane == lane || (lane == kPrompts && is_step(request.function));
    if (!in_lane || request.n_arguments != function.n_parameters) {
      fail(M40_INVALID_ARGUMENT, "%s: a message in lane %u with %u arguments: wanted lane %u and %u", function.name, static_cast<uint32_t>(lane),
           request.n_arguments, static_cast<uint32_t>(function.lane), function.n_parameters);
    }
    if (lane == kPrompts && !handles_.is_of_prompts(request.arguments[0].value)) {
      fail(M40_INVALID_ARGUMENT, "%s: handle %llu in the lane of prompts: wanted a program of that lane", function.name, Long{request.arguments[0].value});
    }
    if (function.invoke == nullptr) fail(M40_INVALID_ARGUMENT, "%s: a message of it: wanted none", function.name);
    uint64_t words[max_arguments];
    uint64_t made = 0;
    uint64_t* made_to = nullptr;
    Handle made_kind = {};
    for (uint32_t i = 0; i < function.n_parameters; i++) {
      const Parameter& parameter = function.parameters[i];
      const Argument& argument = request.arguments[i];
      if (parameter.kind == Kind::kNumber) {
        if (parameter.element_bytes == 4 && argument.value > UINT32_MAX) fail(M40_INVALID_ARGUMENT, "%s: parameter %u has 32 bits", function.name, i);
        words[i] = argument.value;
      } else if (parameter.kind == Kind::kHandle) {
        words[i] = reinterpret_cast<uint64_t>(handles_.find(parameter.handle, argument.value));
      } else {
        void* memory = find_memory(function, lane, i, request);
        words[i] = reinterpret_cast<uint64_t>(memory);
        if (parameter.kind != Kind::kMade || memory == nullptr) continue;
        made_to = static_cast<uint64_t*>(memory);
        made_kind = parameter.handle;
        words[i] = reinterpret_cast<uint64_t>(&made);
      }
    }
    const uint64_t first = request.arguments[0].value;
    switch (request.function) {
      case kHostAlloc: return share_host(std::move(descriptor), reinterpret_cast<m40_context*>(words[0]), first, words[1], &answer->value);
      case kHostFree: return release_host(reinterpret_cast<m40_context*>(words[0]), first, words[1]);
      case kContextDestroy: destroy_context(first); return M40_OK;
      default: break;
    }
    m40_status status = function.invoke(words, &answer->error, &answer->value);
    // What comes next in any case: a message less.
    if (request.function == kStepBegin && status == M40_OK) status = m40_step_wait(reinterpret_cast<m40_program*>(words[0]), &answer->error);
    if (request.function == kRunBegin && status == M40_OK) status = m40_run_wait(reinterpret_cast<m40_program*>(words[0]), &answer->error);
    if (request.function == kProgramDestroy) handles_.remove(first);
    if (status == M40_OK && made_to != nullptr) {
      const bool of_prompts = request.function == kProgramCreate && reinterpret_cast<const m40_limits*>(words[1])->lane == M40_LANE_PROMPTS;
      *made_to = handles_.add(made_kind, reinterpret_cast<void*>(made), handles_.context_of(first), of_prompts);
    }
    return status;
  }

  // nullptr for none.
  void* find_memory(const Function& function, Lane lane, uint32_t index, const Request& request) const {
    const Parameter& parameter = function.parameters[index];
    const Argument& argument = request.arguments[index];
    if (argument.area == area_none) return nullptr;
    uint8_t* area;
    uint64_t n_bytes;
    if (argument.area == area_of_lane) {
      area = memory_.data() + rooms[lane].offset;
      n_bytes = rooms[lane].n_bytes;
    } else {
      // Those threads that use no contexts, or only step, leave what others share alone.
      const auto found = server_of(lane) == 0 ? areas_.find(argument.area) : areas_.end();
      if (found == areas_.end()) fail(M40_INVALID_ARGUMENT, "%s: there is no memory %u", function.name, argument.area);
      area = found->second.memory.data();
      n_bytes = found->second.memory.n_bytes();
    }
    if (argument.value > n_bytes || argument.n_bytes > n_bytes - argument.value || argument.value % sizeof(uint64_t) != 0) {
      fail(M40_INVALID_ARGUMENT, "%s: parameter %u is %llu bytes from byte %llu on: its memory has %llu", function.name, index,
           Long{argument.n_bytes}, Long{argument.value}, Long{n_bytes});
    }
    if (parameter.kind == Kind::kText) {
      if (argument.n_bytes == 0 || area[argument.value + argument.n_bytes - 1] != 0) fail(M40_INVALID_ARGUMENT, "%s: a text without an end", function.name);
      return area + argument.value;
    }
    const uint64_t wanted = memory_bytes(function, index, [&](uint32_t count) { return request.arguments[count].value; });
    if (argument.n_bytes != wanted) {
      fail(M40_INVALID_ARGUMENT, "%s: parameter %u has %llu bytes, wanted %llu", function.name, index, Long{argument.n_bytes}, Long{wanted});
    }
    return area + argument.value;
  }

  m40_status share_host(Descriptor descriptor, m40_context* context, uint64_t id, uint64_t n_bytes, uint64_t* index) {
    require(context, "context");
    Area area = {SharedMemory::open(std::move(descriptor), n_bytes), id};
    area.memory.close_descriptor();
    void* memory = area.memory.data();
    const uint32_t next = ++last_area_;
    Area& kept = areas_[next] = std::move(area);
    try {
      register_host_memory(context, memory, kept.memory.n_bytes());
    } catch (...) {
      areas_.erase(next);
      throw;
    }
    *index = next;
    return M40_OK;
  }

  m40_status release_host(m40_context* context, uint64_t id, uint64_t index) {
    const auto found = areas_.find(static_cast<uint32_t>(index));
    if (index > UINT32_MAX || found == areas_.end() || found->second.context != id) fail(M40_INVALID_ARGUMENT, "there is no memory %llu", Long{index});
    if (unregister_host_memory(context, found->second.memory.data())) areas_.erase(found);
    return M40_OK;
  }

  // Memory that a hanging device may use stays mapped until the process ends.
  void destroy_context(uint64_t id) {
    auto* context = static_cast<m40_context*>(handles_.find(Handle::kContext, id));
    for (auto i = areas_.begin(); context != nullptr && i != areas_.end();) {
      const bool released = i->second.context == id && unregister_host_memory(context, i->second.memory.data());
      i = released ? areas_.erase(i) : std::next(i);
    }
    m40_context_destroy(context);
    if (id != 0) handles_.remove_all_of(id);
  }

  SharedMemory memory_;
  Descriptor socket_;
  Header& header_;
  Handles handles_;
  std::map<uint32_t, Area> areas_;
  uint32_t last_area_ = 0;
};

}  // namespace

}  // namespace m40::channel

extern "C" m40_status m40_channel_serve(int32_t memory, int32_t socket, m40_error* error) {
  using namespace m40;
  return guarded(error, [&] {
    Descriptor kept_socket(socket);
    SharedMemory shared = SharedMemory::open(Descriptor(memory), channel::channel_bytes);
    shared.close_descriptor();
    std::unique_ptr<channel::Server>(new channel::Server(std::move(shared), std::move(kept_socket)))->run();
  });
}
