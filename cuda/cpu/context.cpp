// Contexts: the threads, the instruction set, and the ownership of everything else.
#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "../common/checks.h"
#include "../common/host_memory.h"
#include "host.h"
#include "objects.h"

using m40::fail;
using m40::guarded;
using m40::require;

namespace {

constexpr uint32_t max_threads = 1024;

const m40::reference::Kernels& choose_kernels(const char (&name)[32]) {
  m40::check_text(name, sizeof(name), "instruction_set");
  const m40::reference::Kernels* kernels = m40::reference::kernels_by_name(name);
  if (kernels != nullptr) return *kernels;
  const m40::reference::Kernels* best = m40::reference::kernels_by_name("");
  const std::string built = m40::reference::kernels_in_build();
  if (best == nullptr) {
    fail(M40_UNSUPPORTED, "this library was built for processors with %s, which this one lacks; build it here: deno task build",
         built.c_str());
  }
  fail(M40_UNSUPPORTED, "instruction set \"%s\": this processor or this build lacks it (built: %s); the best that both have is \"%s\"",
       name, built.c_str(), best->name);
}

}  // namespace

m40_context::~m40_context() {
  programs.clear();
  shared_host.remove_all(this);
  for (void* memory : host_memory) free(memory);
}

extern "C" const char* m40_backend(void) { return "cpu"; }

extern "C" m40_status m40_context_create(const m40_context_options* options, m40_context** context, m40_error* error) {
  return guarded(error, [&] {
    require(options, "options");
    require(context, "context");
    if (options->device != 0) fail(M40_INVALID_ARGUMENT, "device %u: the CPU library has device 0 alone", options->device);
    if (options->n_threads > max_threads) {
      fail(M40_INVALID_ARGUMENT, "%u threads: wanted at most %u", options->n_threads, max_threads);
    }
    m40::check_executor(options->executor);
    if (options->executor == M40_EXECUTOR_RESIDENT) fail(M40_UNSUPPORTED, "a persistent kernel was asked for: the CPU has none, wanted launches or auto");
    if (options->executor == M40_EXECUTOR_GRAPHS) fail(M40_UNSUPPORTED, "graphs were asked for: the CPU has none, wanted launches or auto");
    const uint32_t n_threads = options->n_threads == 0 ? std::min(m40::reference::allowed_cores(), max_threads) : options->n_threads;
    *context = new m40_context(choose_kernels(options->instruction_set), n_threads);
  });
}

extern "C" void m40_context_destroy(m40_context* context) { delete context; }

extern "C" void m40_host_free(m40_context* context, void* memory) {
  if (context == nullptr || memory == nullptr) return;
  auto& list = context->host_memory;
  if (context->shared_host.remove(context, memory)) return;
  const auto found = std::find(list.begin(), list.end(), memory);
  if (found == list.end()) return;
  context->end_runs();
  context->host_areas.remove(memory);
  list.erase(found);
  free(memory);
}

// The host's memory is the device's own.
void m40::register_host_memory(m40_context* context, void* memory, uint64_t n_bytes) { context->host_areas.add(memory, n_bytes); }
bool m40::unregister_host_memory(m40_context* context, void* memory) {
  context->end_runs();
  for (const auto& program : context->programs) program->exchange.forget(memory);
  context->host_areas.remove(memory);
  return true;
}

extern "C" m40_status m40_upload_finish(m40_context* context, m40_error* error) {
  // Uploads of this library are over when their call returns.
  return guarded(error, [&] { require(context, "context"); });
}
