// A step's launches as data instead of on a stream, for an executor that does their work in another way.
#ifndef M40_OPS_LAUNCH_LIST_H
#define M40_OPS_LAUNCH_LIST_H

#include <string.h>

#include <string>
#include <type_traits>
#include <vector>

#include "../kernels/body_launch.cuh"

namespace m40::cuda {

// While one is open, the calling thread's launches go into it. M40_LAUNCH_BODY adds the launch of a body. Every other
// launch (M40_LAUNCH) marks by its name that the list is not the whole step.
class LaunchList {
 public:
  // tokens: those that a thread block of each of the step's products takes.
  explicit LaunchList(uint32_t tokens);
  ~LaunchList();
  LaunchList(const LaunchList&) = delete;
  LaunchList& operator=(const LaunchList&) = delete;

  // The calling thread's open one, or nullptr.
  static LaunchList* current();

  uint32_t tokens() const { return tokens_; }
  const std::vector<BodyLaunch>& launches() const { return launches_; }
  // What there was to launch that is no body's launch; empty where the list is the whole step.
  const std::string& missing() const { return missing_; }

  template <class Args>
  void add(const BodyKey& key, dim3 grid, const Args& args) {
    static_assert(std::is_trivially_copyable<Args>::value && sizeof(Args) <= most_body_args, "a launch has room for it");
    BodyLaunch launch = {key, {grid.x, grid.y, grid.z}, grid.x * grid.y * grid.z, {}};
    memcpy(launch.args, &args, sizeof(Args));
    launches_.push_back(launch);
  }
  void miss(const char* what) {
    if (missing_.empty()) missing_ = what;
  }

 private:
  uint32_t tokens_;
  std::vector<BodyLaunch> launches_;
  std::string missing_;
};

inline BodyKey body_key(Body body, uint32_t type = 0, uint32_t other = 0, uint32_t shape = 0) { return {body, type, other, shape}; }

}  // namespace m40::cuda

// Adds the launch of a body to the open list, or launches the kernel.
#define M40_LAUNCH_BODY(key, kernel, grid, block, shared_bytes, stream, args)            \
  do {                                                                                   \
    if (::m40::cuda::LaunchList* const list_ = ::m40::cuda::LaunchList::current()) {     \
      list_->add(key, grid, args);                                                       \
    } else {                                                                             \
      M40_LAUNCH(kernel, grid, block, shared_bytes, stream, args);                       \
    }                                                                                    \
  } while (0)

#endif
