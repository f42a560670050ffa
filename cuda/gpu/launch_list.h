// Records a step's launches instead of putting them on a stream, for an executor that does their work in another way.
#ifndef M40_RUNTIME_LAUNCH_LIST_H
#define M40_RUNTIME_LAUNCH_LIST_H

#include <string.h>

#include <string>
#include <type_traits>
#include <vector>

#include "../kernels/resident_node.cuh"

namespace m40::cuda {

// While one is open, the calling thread's launches go into it. Host code that launches a kernel with a body in the
// persistent kernel adds a node. Every other launch (M40_LAUNCH) marks by its name that the list is not the whole step.
class LaunchList {
 public:
  // tokens: those that a thread block of each of the step's products takes: a persistent kernel has one such number.
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
