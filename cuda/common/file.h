// The file that weights come from.
#ifndef M40_RUNTIME_FILE_H
#define M40_RUNTIME_FILE_H

#include <stdint.h>

namespace m40 {

// Fails as Failure (error.h): M40_IO.
class File {
 public:
  // The path must outlive the file.
  explicit File(const char* path);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // Several threads do large reads, as one alone is slower than many disks. The system is advised to fetch what
  // follows, so that the disk stays busy between reads.
  void read(uint64_t offset, uint8_t* memory, uint64_t n_bytes) const;

 private:
  const char* path_;
  int descriptor_;
};

}  // namespace m40

#endif
