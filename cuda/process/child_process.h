// A process that this one has started, and a thread that waits for its end.
#ifndef M40_RUNTIME_CHILD_PROCESS_H
#define M40_RUNTIME_CHILD_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "../common/thread.h"

namespace m40 {

class ChildProcess {
 public:
  // descriptors: its third and those after it. on_end is called by the thread, and by give_up.
  // Of this process's environment it gets what programs and the driver go by: no keys, tokens or passwords.
  ChildProcess(const std::vector<std::string>& command, const std::vector<int>& descriptors, std::function<void()> on_end);
  // Kills it where it lives.
  ~ChildProcess();

  pid_t id() const { return id_; }
  // Whether it is no more, or counts as that.
  bool ended() const { return ended_ != 0; }
  // Of one that has ended: "was ended by signal 9 (SIGKILL)".
  std::string ending() const;
  void kill();
  // Kills it and counts it as ended from now on, for this reason, though the system may hold it still.
  void give_up(const std::string& reason);
  // Whether the system has ended it within a time.
  bool wait_for_end(uint32_t milliseconds);

 private:
  void watch();

  std::function<void()> on_end_;
  pid_t id_ = -1;
  int status_ = 0;  // waitpid's
  std::atomic<uint32_t> ended_{0};
  std::atomic<uint32_t> reaped_{0};
  std::string given_up_;  // why; set ahead of ended_
  std::mutex reaping_;
  Thread watcher_;
};

}  // namespace m40

#endif
