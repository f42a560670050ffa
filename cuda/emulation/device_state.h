// Environment variables that make the emulated device fail, run late or hang, for tests of what then happens:
//   M40_EMULATION_DEVICES=N             so many devices, 0 to 16; default one
//   M40_EMULATION_DRIVER=11000          a driver that is older than the library's CUDA
//   M40_EMULATION_CAPABILITY=35         a GPU that is too old
//   M40_EMULATION_MEMORY_BYTES=A,B,...  each device's memory; the last one is that of all that come after it
//   M40_EMULATION_FAIL_AFTER=A,B,...    a device's N-th grid and all after it fail, as on a device that fell off its bus;
//                                       0: none does. The last one is that of all that come after it. A process has
//                                       one loss: what another device of it does then fails as well
//   M40_EMULATION_LATE_MS=N             what is given to a stream is done so many milliseconds later, by the device's clock
//   M40_EMULATION_LAUNCH_US=N           each grid that is launched by itself takes the device so many microseconds more
//   M40_EMULATION_GRAPH_US=N            each graph does
//   M40_EMULATION_GRAPH_BYTES=N         each graph that can be launched takes so much of the device's memory
//   M40_EMULATION_GRAPH_LAUNCH_FAILS=N  the N-th launch of a graph finds no memory
//   M40_EMULATION_HANG_IN=NAME          the next grid of a kernel with that in its name never ends, and nothing after it
//                                       begins; what waits for it without a bound ends the process. N:NAME, on device N
//   M40_EMULATION_HANG_FROM=N           not the next such grid hangs but the N-th
//   M40_EMULATION_SPOIL=NAME            the first block of every grid of a kernel with that in its name is left out: what it
//                                       should have written is not
//   M40_EMULATION_RESIDENT_BLOCKS=N     so many thread blocks of a persistent kernel fit a multiprocessor; default 2
//   M40_EMULATION_BLOCKS_LATE=N         so many of the blocks of such a kernel find no room while the others are there
//   M40_EMULATION_WORD_US=N             the host continues so many microseconds after it has shown such a kernel a word
//   M40_EMULATION_NO_PEERS=1            no device reaches another one's memory
//   M40_EMULATION_PEERS_LOSE=1          what it writes there does not arrive, where that is another process's
//   M40_EMULATION_WATCHDOG=1            kernels may run for a limited time only, as where a display is attached
#ifndef M40_EMULATION_DEVICE_STATE_H
#define M40_EMULATION_DEVICE_STATE_H

#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <string>

#include "runtime_api.h"

namespace m40::emulation {

constexpr int max_devices = 16;

uint64_t from_environment(const char* name, uint64_t fallback);
// The current device's value of a list. The last value holds for all later devices.
uint64_t from_environment_list(const char* name, uint64_t fallback);
int device_count();
// The one that the calling thread uses, 0 until it says so.
int current_device();
void use_device(int device);
// Of the current device.
size_t memory_bytes();
// Takes so much of its memory for the driver itself; false where there is not so much. A negative number gives it back.
bool take_memory(long long n_bytes);

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
