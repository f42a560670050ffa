#include "launch_list.h"

#include "../common/error.h"

namespace m40::cuda {

namespace {

thread_local LaunchList* open_list = nullptr;

}  // namespace

LaunchList::LaunchList(uint32_t tokens) : tokens_(tokens) {
  if (open_list != nullptr) fail(M40_INTERNAL, "a list of launches is open already");
  open_list = this;
}

LaunchList::~LaunchList() { open_list = nullptr; }

LaunchList* LaunchList::current() { return open_list; }

bool written_down(const char* kernel) {
  if (open_list == nullptr) return false;
  open_list->miss(kernel);
  return true;
}

}  // namespace m40::cuda
