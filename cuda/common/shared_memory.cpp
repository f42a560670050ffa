#include "shared_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "error.h"

#ifndef F_ADD_SEALS
#include <linux/fcntl.h>
#endif

namespace m40 {

namespace {

using Long = unsigned long long;

constexpr int size_seals = F_SEAL_SHRINK | F_SEAL_GROW;

// A message of one byte, with room for a descriptor.
struct DescriptorMessage {
  char byte = 0;
  iovec data = {&byte, 1};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};

  DescriptorMessage() {
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = room;
    message.msg_controllen = sizeof(room);
  }
  DescriptorMessage(const DescriptorMessage&) = delete;
  DescriptorMessage& operator=(const DescriptorMessage&) = delete;
};

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  close();
  number_ = other.release();
  return *this;
}

int Descriptor::release() { return std::exchange(number_, -1); }

void Descriptor::close() {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

SharedMemory SharedMemory::create(uint64_t n_bytes, bool reserved) {
  SharedMemory memory;
  memory.descriptor_ = Descriptor(static_cast<int>(syscall(SYS_memfd_create, "m40", MFD_CLOEXEC | MFD_ALLOW_SEALING)));
  const int number = memory.descriptor_.number();
  if (number < 0) fail(M40_OUT_OF_MEMORY, "shared memory cannot be created: %s", strerror(errno));
  if (n_bytes > INT64_MAX || ftruncate(number, static_cast<off_t>(n_bytes)) != 0 ||
      (reserved && fallocate(number, 0, 0, static_cast<off_t>(n_bytes)) != 0)) {
    fail(M40_OUT_OF_MEMORY, "%llu bytes of shared memory could not be mapped: %s", Long{n_bytes}, strerror(n_bytes > INT64_MAX ? EFBIG : errno));
  }
  if (fcntl(number, F_ADD_SEALS, size_seals | F_SEAL_SEAL) != 0) fail(M40_INTERNAL, "shared memory cannot be sealed: %s", strerror(errno));
  memory.n_bytes_ = n_bytes;
  memory.map();
  return memory;
}

SharedMemory SharedMemory::open(Descriptor descriptor, uint64_t n_bytes) {
  const int number = descriptor.number();
  const int seals = fcntl(number, F_GET_SEALS);
  const off_t size = lseek(number, 0, SEEK_END);
  if (seals < 0 || (seals & size_seals) != size_seals || size < 0 || static_cast<uint64_t>(size) != n_bytes) {
    fail(M40_INVALID_ARGUMENT, "descriptor %d: wanted sealed shared memory of %llu bytes", number, Long{n_bytes});
  }
  SharedMemory memory;
  memory.descriptor_ = std::move(descriptor);
  memory.n_bytes_ = n_bytes;
  memory.map();
  return memory;
}

void SharedMemory::map() {
  void* mapped = mmap(nullptr, n_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor_.number(), 0);
  if (mapped == MAP_FAILED) fail(M40_OUT_OF_MEMORY, "%llu bytes of shared memory cannot be mapped: %s", Long{n_bytes_}, strerror(errno));
  data_ = static_cast<uint8_t*>(mapped);
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) munmap(data_, n_bytes_);
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept { *this = std::move(other); }

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(n_bytes_, other.n_bytes_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

void SharedMemory::forget(uint64_t offset, uint64_t size) const { madvise(data_ + offset, size, MADV_REMOVE); }

void connect_sockets(Descriptor& one, Descriptor& other) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail(M40_INTERNAL, "sockets cannot be created: %s", strerror(errno));
  one = Descriptor(ends[0]);
  other = Descriptor(ends[1]);
}

void send_descriptor(int socket, int descriptor) {
  DescriptorMessage carrier;
  msghdr& message = carrier.message;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  ssize_t sent;
  do sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  while (sent < 0 && errno == EINTR);
  if (sent != 1) fail(M40_INTERNAL, "a descriptor cannot be sent to the device's process: %s", strerror(errno));
}

Descriptor receive_descriptor(int socket) {
  DescriptorMessage carrier;
  msghdr& message = carrier.message;
  ssize_t got;
  do got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  while (got < 0 && errno == EINTR);
  const cmsghdr* header = got == 1 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(sizeof(int))) {
    fail(M40_INVALID_ARGUMENT, "no descriptor has come with the message");
  }
  int descriptor;
  memcpy(&descriptor, CMSG_DATA(const_cast<cmsghdr*>(header)), sizeof(int));
  return Descriptor(descriptor);
}

}  // namespace m40
