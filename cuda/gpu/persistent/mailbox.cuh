// The arguments of the persistent kernel: a step as a list of launches, its nodes, and the host's words in mapped
// memory, which ask for a step or ask it to leave.
#ifndef M40_PERSISTENT_MAILBOX_CUH
#define M40_PERSISTENT_MAILBOX_CUH

#include "../../kernels/body_launch.cuh"

namespace m40::cuda {

constexpr uint32_t resident_threads = 256;
constexpr uint32_t most_resident_tokens = 8;  // of a step
constexpr uint32_t resident_launch_words = sizeof(BodyLaunch) / 4;

// Steps that are to be done, one or those of a run. Bytes are multiples of 16, of results 4.
struct ResidentStep {
  const BodyLaunch* nodes;  // in the device's memory
  uint32_t n_nodes;
  uint32_t input_bytes;
  uint32_t result_bytes;
  uint32_t first;  // the number of the step that the host's input is for; later ones continue from what the device has
};

// Why a kernel left.
enum class ResidentEnd : uint32_t {
  kIdle = 1,      // there was no step for long enough
  kTold = 2,      // the host asked it to
  kNotAll = 3,    // some of its thread blocks did not come onto the device: it did nothing
};

// Host memory that the device reads and writes. Only one side writes each word, and it writes first what the word
// announces: a reader that has seen the word, and then fences, sees all of that.
struct ResidentMailbox {
  // The host's. step: written before `asked`, and unchanged until `done` says so, all entries of its run are in the
  // ring, or the kernel has left.
  alignas(64) ResidentStep step;
  uint32_t asked;  // the number of the last step that is to be done
  uint32_t leave;  // the life that is to end when no step is asked for
  // The device's.
  alignas(64) uint32_t done;  // the number of the last step with its results written
  uint32_t nanoseconds;       // that it took
  uint32_t left;              // the last life that has ended
  uint32_t end;               // ResidentEnd of it
};

// What the blocks of one launch share, in the device's memory; 0 at its start.
struct ResidentState {
  alignas(128) uint32_t arrived;  // at barriers, all blocks together
  alignas(128) uint32_t here;     // blocks that have come onto the device
  uint32_t start;                 // 1: all have come; 2: some have not in time
  // Of the step that block 0 was asked for.
  alignas(128) unsigned long long nodes;  // where they are
  uint32_t n_nodes;
  uint32_t leaves;                        // there is no step: all leave
  // Blocks of a product that were taken, of nodes of even and of odd numbers.
  alignas(128) uint32_t taken[2];
};

struct ResidentArgs {
  const float* memory;          // of the program: what its products read lies from here on
  ResidentState* state;
  ResidentMailbox* mailbox;     // as the device sees it
  const uint8_t* input;         // the host's, as the device sees it: multiples of 16 bytes
  uint8_t* step_input;          // the device's
  const uint8_t* results;       // the device's
  uint8_t* host_results;        // the host's, as the device sees them
  uint32_t life;                // a number of its own
  uint32_t first;               // the number of the first step that is waited for
  uint32_t patience;            // that a step is waited for: microseconds
  uint32_t start_patience;      // that all blocks are waited for: microseconds
  uint32_t most_life;           // after which it begins no further step: microseconds
};

}  // namespace m40::cuda

#endif
