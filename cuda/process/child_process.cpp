#include "child_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "channel.h"
#include "../common/error.h"
#include "../common/shared_memory.h"

extern char** environ;

namespace m40 {

namespace {

constexpr int first_descriptor = 3;

const char* signal_name(int number) {
  switch (number) {
    case SIGABRT: return "SIGABRT";
    case SIGBUS: return "SIGBUS";
    case SIGFPE: return "SIGFPE";
    case SIGILL: return "SIGILL";
    case SIGKILL: return "SIGKILL, which the system sends when memory runs out";
    case SIGSEGV: return "SIGSEGV";
    case SIGTERM: return "SIGTERM";
    case SIGTRAP: return "SIGTRAP";
    default: return "of another kind";
  }
}

bool begins_with(const std::string& text, const char* prefix) { return text.compare(0, strlen(prefix), prefix) == 0; }

// Whether programs, the system or the driver need the variable, and it is no secret. A process that reads the other
// process, or takes it over by a file that it reads, must learn no secret.
bool is_inherited(const std::string& variable) {
  const std::string name = variable.substr(0, variable.find('='));
  for (const char* word : {"KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL", "AUTH"}) {
    if (name.find(word) != std::string::npos) return false;
  }
  for (const char* one : {"HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "TMPDIR", "TZ", "GLIBC_TUNABLES"}) {
    if (name == one) return true;
  }
  for (const char* prefix : {"M40_", "CUDA_", "NVIDIA_", "LD_", "DENO_", "LC_", "XDG_", "OMP_", "MALLOC_", "ASAN_", "LSAN_", "TSAN_", "UBSAN_"}) {
    if (begins_with(name, prefix)) return true;
  }
  return false;
}

// What a new process is to have open, and which signals it leaves alone.
class SpawnSettings {
 public:
  SpawnSettings() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command, const std::vector<int>& descriptors, std::function<void()> on_end)
    : on_end_(std::move(on_end)) {
  SpawnSettings settings;
  posix_spawn_file_actions_addopen(&settings.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&settings.actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  // Copies that are in nobody's way.
  std::vector<Descriptor> copies;
  for (size_t i = 0; i < descriptors.size(); i++) {
    copies.emplace_back(fcntl(descriptors[i], F_DUPFD_CLOEXEC, first_descriptor + static_cast<int>(descriptors.size())));
    if (copies[i].number() < 0) fail(M40_INTERNAL, "a descriptor for the device's process cannot be opened: %s", strerror(errno));
    posix_spawn_file_actions_adddup2(&settings.actions, copies[i].number(), first_descriptor + static_cast<int>(i));
  }
  // A terminal and service managers send these to all processes at once; this one decides when the other ends.
  sigset_t blocked;
  sigemptyset(&blocked);
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&blocked, number);
  posix_spawnattr_setsigmask(&settings.attributes, &blocked);
  posix_spawnattr_setflags(&settings.attributes, POSIX_SPAWN_SETSIGMASK);
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  std::vector<char*> environment;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; variable++) {
    if (is_inherited(*variable)) environment.push_back(*variable);
  }
  environment.push_back(nullptr);
  const int code = posix_spawn(&id_, arguments[0], &settings.actions, &settings.attributes, arguments.data(), environment.data());
  if (code != 0) fail(M40_INTERNAL, "the device's process (%s) cannot be started: %s", arguments[0], strerror(code));
  try {
    watcher_.start([this] { watch(); });
  } catch (...) {
    ::kill(id_, SIGKILL);
    waitpid(id_, nullptr, 0);
    throw;
  }
}

ChildProcess::~ChildProcess() {
  kill();
  watcher_.join();
}

void ChildProcess::watch() {
  siginfo_t info;
  while (waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) continue;
  {
    // From here on the number may be another process's.
    const std::lock_guard<std::mutex> lock(reaping_);
    while (waitpid(id_, &status_, 0) < 0 && errno == EINTR) continue;
    reaped_ = 1;
    ended_ = 1;
  }
  on_end_();
  wake_all(reaped_);
}

void ChildProcess::kill() {
  const std::lock_guard<std::mutex> lock(reaping_);
  if (reaped_ == 0) ::kill(id_, SIGKILL);
}

void ChildProcess::give_up(const std::string& reason) {
  {
    const std::lock_guard<std::mutex> lock(reaping_);
    if (ended()) return;
    given_up_ = reason;
    ended_ = 1;
    ::kill(id_, SIGKILL);
  }
  on_end_();
}

bool ChildProcess::wait_for_end(uint32_t milliseconds) {
  const uint64_t end = channel::now_us() + uint64_t{milliseconds} * 1000;
  while (reaped_ == 0) {
    const uint64_t now = channel::now_us();
    if (now >= end) return false;
    sleep_on(reaped_, 0, static_cast<uint32_t>((end - now + 999) / 1000));
  }
  return true;
}

std::string ChildProcess::ending() const {
  if (!given_up_.empty()) return given_up_;
  if (WIFSIGNALED(status_)) return "was ended by signal " + std::to_string(WTERMSIG(status_)) + " (" + signal_name(WTERMSIG(status_)) + ")";
  return "ended with exit code " + std::to_string(WEXITSTATUS(status_));
}

}  // namespace m40
