// Fuzzes the serving end of a channel: each input is a row of messages. A message may say anything; none may make the
// server read or write what is not the message's, or end it. The server's own source is part of this one, so that a
// message can be served without threads.
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "../../cuda/process/channel.h"
#include "../../cuda/process/channel_functions.h"
#include "../../cuda/common/error.h"
#include "../../cuda/common/host_memory.h"
#include "../../cuda/common/shared_memory.h"
#include "../../cuda/common/thread.h"

// What a message is served by is the server's own affair elsewhere.
#define private public
#include "../../cuda/process/channel_server.cpp"
#undef private

namespace m40::channel {
namespace {

// The bytes of an input, from the front; zeros behind its end.
class Input {
 public:
  Input(const uint8_t* bytes, size_t n_bytes) : bytes_(bytes), left_(n_bytes) {}
  bool empty() const { return left_ == 0; }
  template <class T>
  T take() {
    T value = {};
    const size_t n = left_ < sizeof(T) ? left_ : sizeof(T);
    memcpy(&value, bytes_, n);
    bytes_ += n;
    left_ -= n;
    return value;
  }
  void copy(uint8_t* to, size_t n_bytes) {
    for (size_t i = 0; i < n_bytes; i++) to[i] = take<uint8_t>();
  }

 private:
  const uint8_t* bytes_;
  size_t left_;
};

// A number of an argument: small ones are common, so that handles and sizes meet.
uint64_t number(Input& input) {
  switch (input.take<uint8_t>() % 4) {
    case 0: return input.take<uint8_t>() % 16;
    case 1: return input.take<uint8_t>() * uint64_t{8};
    case 2: return input.take<uint16_t>();
    default: return input.take<uint64_t>();
  }
}

constexpr uint32_t max_messages = 64;
// Of the memory that a message hands over the input says this much; what is behind it is zeros.
constexpr uint64_t max_memory_bytes = 4096;

}  // namespace

// Serves an input's messages in this thread, as those of the server do.
void serve_messages(const uint8_t* bytes, size_t n_bytes) {
  Descriptor peer, socket;
  connect_sockets(peer, socket);
  SharedMemory memory = SharedMemory::create(channel_bytes, false);
  auto& header = *reinterpret_cast<Header*>(memory.data());
  uint8_t* const base = memory.data();
  header.magic = magic;
  header.abi_version = M40_ABI_VERSION;
  header.header_bytes = sizeof(Header);
  const std::unique_ptr<Server> server(new Server(std::move(memory), std::move(socket)));
  Input input(bytes, n_bytes);
  for (uint32_t count = 0; count < max_messages && !input.empty(); count++) {
    const auto lane = static_cast<Lane>(input.take<uint8_t>() % n_lanes);
    Request& request = header.mailboxes[lane].request;
    request.function = input.take<uint8_t>() % (n_functions() + 1);
    const bool right = input.take<uint8_t>() % 8 != 0 && request.function < n_functions();
    request.n_arguments = right ? function_at(request.function).n_parameters : input.take<uint8_t>();
    const Lane used = right ? function_at(request.function).lane : lane;
    if (right) memcpy(&header.mailboxes[used].request, &request, sizeof(request));
    Request& asked = header.mailboxes[used].request;
    uint64_t offset = 0;
    for (uint32_t i = 0; i < max_arguments; i++) {
      Argument& argument = asked.arguments[i];
      argument = {number(input), 0, area_none, 0};
      const bool is_known = right && i < asked.n_arguments;
      if (is_known && is_memory(function_at(asked.function).parameters[i].kind)) {
        argument.area = input.take<uint8_t>() % 16 == 0 ? input.take<uint8_t>() % 4 : area_of_lane;
        argument.value = input.take<uint8_t>() % 16 == 0 ? number(input) : offset;
        try {
          argument.n_bytes = input.take<uint8_t>() % 16 == 0 ? number(input)
                                                              : memory_bytes(function_at(asked.function), i, [&](uint32_t n) { return asked.arguments[n].value; });
        } catch (...) {
          argument.n_bytes = number(input);
        }
        const uint64_t given = argument.n_bytes < max_memory_bytes ? argument.n_bytes : max_memory_bytes;
        input.copy(base + rooms[used].offset + offset, given);
        offset += align_up(given);
      } else if (!is_known) {
        argument.n_bytes = number(input);
        argument.area = input.take<uint8_t>() % 4;
      }
    }
    server->answer(used);
  }
  for (uint64_t id : server->handles_.contexts()) server->destroy_context(id);
}

}  // namespace m40::channel

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t n_bytes) {
  m40::channel::serve_messages(bytes, n_bytes);
  return 0;
}
