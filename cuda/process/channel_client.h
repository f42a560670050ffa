// The caller's end of a channel.
#ifndef M40_RUNTIME_CHANNEL_CLIENT_H
#define M40_RUNTIME_CHANNEL_CLIENT_H

#include <stdint.h>

#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "channel.h"
#include "channel_functions.h"
#include "child_process.h"
#include "../common/shared_memory.h"
#include "../common/thread.h"

struct m40_channel {
 public:
  explicit m40_channel(const std::vector<std::string>& command);
  // The process has ended, and no thread calls.
  ~m40_channel();

  int32_t process() const { return process_.id(); }
  // Throws where the process is no more. what: was wanted of it.
  void require_alive(const char* what) const;
  m40_status call(uint32_t function, const m40_channel_argument* arguments, uint32_t n_arguments, uint64_t* value, m40_error* error);
  // Whether the process has ended, by itself or by force, and no call is running any more.
  bool end(uint32_t patience_ms);

 private:
  using Function = m40::channel::Function;
  using Lane = m40::channel::Lane;
  using Mailbox = m40::channel::Mailbox;

  // What a lane's caller knows of it.
  struct LaneState {
    std::mutex mutex;
    uint64_t kept_bytes = 0;    // of its room, for the block of a step that is not over
    uint64_t touched_bytes = 0; // of its room
    uint32_t posted = M40_NONE;  // the function of a message that no call has waited for yet
  };

  // Memory of m40_host_alloc. index: its name in messages.
  struct HostArea {
    m40::SharedMemory memory;
    uint64_t context;
    uint32_t index;
  };

  class Arguments;

  void watch_pulse();
  Lane lane_of(const Function& function, uint32_t index, const m40_channel_argument* arguments);
  void note_program(const m40_channel_argument* arguments);
  m40::channel::Answer ask(const Function& function, Lane in, uint32_t index, const m40_channel_argument* arguments);
  void post(Lane lane);
  m40::channel::Answer wait(const Function& function, Lane lane, uint64_t spin_us);
  // Returns what the message takes of the lane's room, with what is kept of it.
  uint64_t pack(const Function& function, Lane lane, uint32_t index, const m40_channel_argument* arguments);
  void unpack(const Function& function, Lane lane, const m40_channel_argument* arguments) const;
  void forget_room(Lane lane);

  m40::SharedMemory host_memory(uint32_t index, uint64_t argument);
  m40::channel::Answer allocate_host(uint32_t index, const m40_channel_argument* arguments);
  m40::channel::Answer free_host(const m40_channel_argument* arguments);
  bool find_host(uint64_t address, uint64_t n_bytes, m40::channel::Argument* place);
  void forget_host(uint64_t context);

  Mailbox& mailbox(Lane lane) { return header_.mailboxes[lane]; }
  uint8_t* room(Lane lane) const { return memory_.data() + m40::channel::rooms[lane].offset; }

  m40::SharedMemory memory_;
  m40::channel::Header& header_;
  m40::Descriptor process_socket_;  // the other end of the one below, until it is handed over
  m40::Descriptor socket_;
  LaneState lanes_[m40::channel::n_lanes];
  std::mutex areas_mutex_;
  std::vector<HostArea> areas_;
  std::mutex prompt_programs_mutex_;
  std::set<uint64_t> prompt_programs_;  // handles of those of M40_LANE_PROMPTS
  std::atomic<uint32_t> calls_{0};  // running
  // Its thread uses the others.
  m40::ChildProcess process_;
  m40::Thread pulse_;
};

#endif
