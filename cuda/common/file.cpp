#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "error.h"
#include "thread.h"

namespace m40 {

namespace {

constexpr uint64_t piece_bytes = uint64_t{2} << 20;
// With the caller. A few keep a disk's queue filled; more gain nothing.
constexpr uint64_t n_readers = 4;
// How far ahead of what is read the system fetches.
constexpr uint64_t ahead_bytes = uint64_t{32} << 20;

// One read, cut into pieces that free threads take in turn.
class Reading {
 public:
  Reading(int descriptor, uint64_t offset, uint8_t* memory, uint64_t n_bytes)
      : descriptor_(descriptor), offset_(offset), memory_(memory), n_bytes_(n_bytes) {}

  void run() {
    while (!failed_) {
      const uint64_t begin = next_.fetch_add(piece_bytes);
      if (begin >= n_bytes_) return;
      read_piece(begin, std::min(begin + piece_bytes, n_bytes_));
    }
  }

  // After all have run: what failed first in the file, of failed().
  bool failed() const { return failed_; }
  uint64_t failed_at() const { return failed_at_; }
  int code() const { return code_; }  // 0: the file has ended

 private:
  void read_piece(uint64_t begin, uint64_t end) {
    // A hint, also where the file ends earlier: its result does not matter.
    const uint64_t ahead = offset_ + begin + ahead_bytes;
    if (ahead <= INT64_MAX) posix_fadvise(descriptor_, static_cast<off_t>(ahead), static_cast<off_t>(end - begin), POSIX_FADV_WILLNEED);
    while (begin < end) {
      const ssize_t got = pread(descriptor_, memory_ + begin, end - begin, static_cast<off_t>(offset_ + begin));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return note(begin, got < 0 ? errno : 0);
      begin += static_cast<uint64_t>(got);
    }
  }

  // Threads take pieces in the file's order, so all pieces before the first that fails have been read by then.
  void note(uint64_t at, int code) {
    pthread_mutex_lock(&mutex_);
    if (!failed_ || at < failed_at_) {
      failed_at_ = at;
      code_ = code;
    }
    failed_ = true;
    pthread_mutex_unlock(&mutex_);
  }

  const int descriptor_;
  const uint64_t offset_;
  uint8_t* const memory_;
  const uint64_t n_bytes_;
  std::atomic<uint64_t> next_{0};
  std::atomic<bool> failed_{false};
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  uint64_t failed_at_ = 0;
  int code_ = 0;
};

// As many more threads as there is work for; where none can be started, the caller reads alone.
void run_by_many(Reading& reading, uint64_t n_bytes) {
  const uint64_t n_pieces = (n_bytes + piece_bytes - 1) / piece_bytes;
  const uint64_t n_helpers = std::min(n_pieces, n_readers) - 1;
  Thread helpers[n_readers - 1];
  uint64_t started = 0;
  while (started < n_helpers && helpers[started].try_start([&reading] { reading.run(); }) == 0) started++;
  reading.run();
  for (Thread& helper : helpers) helper.join();
}

}  // namespace

// Without O_NONBLOCK, opening a pipe would wait for its other end.
File::File(const char* path) : path_(path), descriptor_(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (descriptor_ < 0) fail(M40_IO, "%s cannot be opened: %s", path, strerror(errno));
}

File::~File() { close(descriptor_); }

void File::read(uint64_t offset, uint8_t* memory, uint64_t n_bytes) const {
  if (offset > INT64_MAX || n_bytes > static_cast<uint64_t>(INT64_MAX) - offset) {
    fail(M40_IO, "%s: no file has %llu bytes from byte %llu on", path_, static_cast<unsigned long long>(n_bytes),
         static_cast<unsigned long long>(offset));
  }
  if (n_bytes == 0) return;
  Reading reading(descriptor_, offset, memory, n_bytes);
  run_by_many(reading, n_bytes);
  if (!reading.failed()) return;
  const uint64_t done = reading.failed_at();
  if (reading.code() != 0) {
    fail(M40_IO, "%s cannot be read at byte %llu: %s", path_, static_cast<unsigned long long>(offset + done), strerror(reading.code()));
  }
  fail(M40_IO, "%s ends too early: wanted %llu bytes from byte %llu on, got %llu", path_, static_cast<unsigned long long>(n_bytes),
       static_cast<unsigned long long>(offset), static_cast<unsigned long long>(done));
}

}  // namespace m40
