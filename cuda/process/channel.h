// The memory that the two ends of a channel (m40.h) share. It starts with a header, in which each lane has a mailbox
// for one message at a time. After it, each lane has room for the memory that its messages pass. All of it is reserved
// from the start, as addresses: untouched pages take no memory.
//
// A message goes from free to asked (the caller), from asked to answered (the server), or to gone, when the server's
// process has ended.
#ifndef M40_RUNTIME_CHANNEL_H
#define M40_RUNTIME_CHANNEL_H

#include <sched.h>
#include <stdint.h>

#include <atomic>

#include "../include/m40.h"
#include "../common/futex.h"

namespace m40::channel {

constexpr uint32_t max_arguments = 8;

// The server has a thread for the first two, which use contexts, one for the third, which does not, and one for steps
// of programs of M40_LANE_PROMPTS.
enum Lane : uint32_t { kCalls, kSteps, kState, kPrompts, n_lanes };
constexpr uint32_t n_servers = 3;
constexpr uint32_t server_of(uint32_t lane) { return lane == kPrompts ? 2 : lane == kState ? 1 : 0; }

enum State : uint32_t { kFree, kAsked, kAnswered, kGone };

// Where the memory of an argument lies: in the lane's own room, or in memory that was shared later.
constexpr uint32_t area_of_lane = 0;
constexpr uint32_t area_none = M40_NONE;  // a number, a handle, or NULL

struct Argument {
  uint64_t value;    // a number, a handle's id (0: NULL), or an offset in the area
  uint64_t n_bytes;  // of memory
  uint32_t area;
  uint32_t reserved;
};

struct Request {
  uint32_t function;
  uint32_t n_arguments;
  Argument arguments[max_arguments];
};

struct Answer {
  m40_status status;
  uint32_t reserved;
  uint64_t value;
  m40_error error;
};

struct Mailbox {
  std::atomic<uint32_t> state;    // State
  std::atomic<uint32_t> waiting;  // callers that sleep until it is answered
  Request request;
  Answer answer;
};

// What a server sleeps on.
struct Bell {
  std::atomic<uint32_t> rung;  // counts
  std::atomic<uint32_t> asleep;
};

struct Header {
  uint64_t magic;
  uint32_t abi_version;
  uint32_t header_bytes;  // of this struct, as it was compiled
  std::atomic<uint32_t> serving;
  std::atomic<uint32_t> told_to_end;
  std::atomic<uint32_t> beats;  // counts while the server's process runs, whatever its device does
  Bell bells[n_servers];
  Mailbox mailboxes[n_lanes];
};

// How often the server's process counts a beat.
constexpr uint32_t beat_ms = 500;
constexpr uint64_t magic = 0x4c454e4e4148434d;
// What memory of a message starts at a multiple of.
constexpr uint64_t alignment = 64;
constexpr uint64_t align_up(uint64_t n_bytes) { return (n_bytes + alignment - 1) / alignment * alignment; }

struct Room {
  uint64_t offset;  // in the channel's memory
  uint64_t n_bytes;
};
constexpr uint64_t header_room = uint64_t{64} << 10;
constexpr Room rooms[n_lanes] = {
    {header_room + (uint64_t{1} << 20) + (uint64_t{4} << 30), uint64_t{64} << 30},
    {header_room + (uint64_t{1} << 20), uint64_t{4} << 30},
    {header_room, uint64_t{1} << 20},
    {header_room + (uint64_t{1} << 20) + (uint64_t{68} << 30), uint64_t{4} << 30},
};
constexpr uint64_t channel_bytes = rooms[kPrompts].offset + rooms[kPrompts].n_bytes;
static_assert(sizeof(Header) <= header_room, "the header has its room");

// Polls the condition for so long; whether it came true. A machine with one processor does not poll.
template <class Condition>
bool spin_until(const Condition& condition, uint64_t microseconds);

uint64_t now_us();
bool has_processors();
inline void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

template <class Condition>
bool spin_until(const Condition& condition, uint64_t microseconds) {
  if (condition()) return true;
  if (microseconds == 0 || !has_processors()) return false;
  const uint64_t end = now_us() + microseconds;
  do {
    for (int i = 0; i < 16; i++) {
      pause_briefly();
      if (condition()) return true;
    }
    // The other end may wait for this very processor.
    sched_yield();
  } while (now_us() < end);
  return false;
}

}  // namespace m40::channel

#endif
