// Memory that two processes share, and the descriptors by which they come to it.
#ifndef M40_RUNTIME_SHARED_MEMORY_H
#define M40_RUNTIME_SHARED_MEMORY_H

#include <stdint.h>

namespace m40 {

// An open file descriptor that is closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  int number() const { return number_; }
  int release();
  void close();

 private:
  int number_;
};

// A file without a name and of a fixed size. It lives as long as a process has it open or mapped.
class SharedMemory {
 public:
  SharedMemory() = default;
  // Zeros, which take memory as they are touched; all of them at once where they are reserved.
  static SharedMemory create(uint64_t n_bytes, bool reserved);
  // Memory that another process created. Throws where it has another size, or may be cut.
  static SharedMemory open(Descriptor descriptor, uint64_t n_bytes);
  ~SharedMemory();
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;

  uint8_t* data() const { return data_; }
  uint64_t n_bytes() const { return n_bytes_; }
  const Descriptor& descriptor() const { return descriptor_; }
  // The mapping needs none.
  void close_descriptor() { descriptor_.close(); }
  // Takes no memory from there on; it is zeros again. offset: a multiple of a KV block.
  void forget(uint64_t offset, uint64_t size) const;

 private:
  void map();

  Descriptor descriptor_;
  uint8_t* data_ = nullptr;
  uint64_t n_bytes_ = 0;
};

// The two ends of a connection between processes.
void connect_sockets(Descriptor& one, Descriptor& other);
void send_descriptor(int socket, int descriptor);
// Throws where nothing has been sent.
Descriptor receive_descriptor(int socket);

}  // namespace m40

#endif
