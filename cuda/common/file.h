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

  // Large reads are done by several threads at once, for one alone would be slower than many a disk, and the system is
  // told to fetch what follows, so that the disk goes on while nobody reads.
  void read(uint64_t offset, uint8_t* memory, uint64_t n_bytes) const;

 private:
  const char* path_;
  int descriptor_;
};

}  // namespace m40

#endif
