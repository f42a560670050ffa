// What a step launches, written down instead of put on a stream: for who does the launches' work in another way.
#ifndef M40_RUNTIME_LAUNCH_LIST_H
#define M40_RUNTIME_LAUNCH_LIST_H

#include <string.h>

#include <string>
#include <type_traits>
#include <vector>

#include "../kernels/resident_node.cuh"

namespace m40::cuda {

// While one is open, what the calling thread launches goes into it. Host code that launches a kernel whose body a resident
// kernel has adds it; every other launch (M40_LAUNCH) says by its name that the list is not the whole step.
class LaunchList {
 public:
  // tokens: that all products of the step take a thread block: a resident kernel has one number of them.
  explicit LaunchList(uint32_t tokens);
  ~LaunchList();
  LaunchList(const LaunchList&) = delete;
  LaunchList& operator=(const LaunchList&) = delete;

  // The calling thread's open one, or nullptr.
  static LaunchList* current();

  uint32_t tokens() const { return tokens_; }
  const std::vector<ResidentNode>& nodes() const { return nodes_; }
  // What there was to launch that has no node; empty where the list is the whole step.
  const std::string& missing() const { return missing_; }

  template <class Args>
  void add(const BodyKey& key, dim3 grid, const Args& args) {
    static_assert(std::is_trivially_copyable<Args>::value && sizeof(Args) <= resident_args_bytes, "a node has room for it");
    ResidentNode node = {key, {grid.x, grid.y, grid.z}, grid.x * grid.y * grid.z, {}};
    memcpy(node.args, &args, sizeof(Args));
    nodes_.push_back(node);
  }
  void miss(const char* what) {
    if (missing_.empty()) missing_ = what;
  }

 private:
  uint32_t tokens_;
  std::vector<ResidentNode> nodes_;
  std::string missing_;
};

}  // namespace m40::cuda

#endif
