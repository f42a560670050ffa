// What the objects that the handles of m40.h refer to are in every library.
//
// A context owns everything: destroying an arena frees its memory, but the records of the objects in it live until the
// context is destroyed. So a call with a stale handle fails with an error.
#ifndef M40_PROGRAM_OBJECTS_H
#define M40_PROGRAM_OBJECTS_H

#include <stdint.h>

#include <memory>
#include <vector>

#include "../common/host_areas.h"
#include "../common/shared_host.h"
#include "../include/m40.h"
#include "program.h"

namespace m40 {

// The slots follow the KV blocks.
struct CacheBase {
  m40_arena* arena;
  m40_cache_desc desc;
  uint8_t* memory;
  uint64_t kv_block_bytes;
  uint8_t* slots;
  uint64_t slot_bytes;

  uint8_t* kv_block(uint32_t index) const { return memory + index * kv_block_bytes; }
  uint8_t* slot(uint32_t index) const { return slots + index * slot_bytes; }
};

// A context's tables. The types are a library's own.
template <class OwnArena, class Cache, class Program, class Tensor>
struct Objects : TensorLookup, TensorArenas {
  std::vector<std::unique_ptr<OwnArena>> arenas;
  std::vector<std::unique_ptr<Cache>> caches;
  std::vector<std::unique_ptr<Program>> programs;
  std::vector<Tensor> tensors;
  HostAreas host_areas;  // host memory that was allocated here, and what was registered
  SharedHost shared_host;

  const m40_tensor_desc* find(uint32_t tensor) const override {
    return tensor < tensors.size() && tensors[tensor].arena->alive() ? &tensors[tensor].desc : nullptr;
  }
  const Arena* arena_of(uint32_t tensor) const override { return tensors[tensor].arena; }

  // What runs use is about to go.
  void end_runs() {
    for (const auto& program : programs) program->run.end();
  }

 protected:
  ~Objects() = default;
};

}  // namespace m40

#endif
