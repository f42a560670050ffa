// Whether the emulated device fails, is late or hangs, as environment variables make it, for tests of what then happens:
//   M40_EMULATION_DEVICES=0             no device
//   M40_EMULATION_DRIVER=11000          a driver that is older than the library's CUDA
//   M40_EMULATION_CAPABILITY=35         a GPU that is too old
//   M40_EMULATION_MEMORY_BYTES=...      the device's memory
//   M40_EMULATION_FAIL_AFTER=N          the N-th grid and all after it fail, as on a device that fell off its bus
//   M40_EMULATION_LATE_MS=N             what is given to a stream is done so many milliseconds later, by the device's clock
//   M40_EMULATION_LAUNCH_US=N           each grid that is launched by itself takes the device so many microseconds more
//   M40_EMULATION_GRAPH_US=N            each graph does
//   M40_EMULATION_HANG_IN=NAME          the next grid of a kernel with that in its name never ends, and nothing after it
//                                       begins; what waits for it without a bound ends the process
//   M40_EMULATION_SPOIL=NAME            the first block of every grid of a kernel with that in its name is left out: what it
//                                       should have written is not
#ifndef M40_EMULATION_DEVICE_STATE_H
#define M40_EMULATION_DEVICE_STATE_H

#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <string>

#include "runtime_api.h"

namespace m40::emulation {

uint64_t from_environment(const char* name, uint64_t fallback);
size_t memory_bytes();

// The error that the device was lost with; else this one, which is the last error then, where it is one.
cudaError_t remember(cudaError_t error);
// The error that the device was lost with, or cudaSuccess.
cudaError_t loss();
// It is lost from now on, for the reason that cudaGetErrorString gives.
cudaError_t lose(const char* reason);
// A launch cannot be, for the reason that cudaGetErrorString gives.
void refuse_launch(std::string reason);

// Nothing that it was given ends from now on.
void hang();
bool hangs();
// What it was given takes as much longer as the variable says, in microseconds.
void delay(const char* variable);
// It was given something: that is done when it is late no more.
void occupy();
// Of what waits for all that the device was given.
void wait_for_device(const char* function);
// Whether what has been given to a stream is done: cudaSuccess, or cudaErrorNotReady.
cudaError_t ask();

// Does the work now, or keeps it for the graph where the stream is being captured.
cudaError_t submit(cudaStream_t stream, std::function<cudaError_t()> work);

}  // namespace m40::emulation

#endif
