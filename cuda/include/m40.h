// m40.h: the only interface between TypeScript and native code.
//
// Every kernel library (libm40_cpu.so, libm40_cuda.so, libm40_emulated.so) implements these functions. `deno task abi`
// (tools/abi.ts) reads this file line by line and generates the files that repeat it: structs and symbols for
// TypeScript, the table of a channel's functions, and the fields of each operation. It refuses a form that it does not
// know. A test compares struct layouts with the compiler's through m40_layout().
//
// Conventions
// - A function that can fail returns an m40_status. On failure it fills *error and leaves out parameters unchanged. The
//   library never prints, never exits and lets no C++ exception out.
// - Nothing is global. One thread at a time may use a context; two threads may use two contexts. There is one
//   exception: a second thread may call m40_step, _begin, _wait and _finish of a program of the lane M40_LANE_PROMPTS
//   concurrently.
// - Shapes are [rows, columns], tokens first; sizes ending in _bytes are bytes; counts start with n_.
// - An absent index is M40_NONE.
// - The library copies its input and keeps no pointer of the caller's after a call returns. There are two exceptions:
//   the block of m40_step_begin, which it reads until the step is over, and the ring of m40_run_begin.
// - A pointer followed by a count (n, n_*, *_bytes) points to that many elements; void* to that many bytes. If two
//   pointers of one type precede a count, it holds for both. Any other pointer points to one element. A void* without a
//   count is an address in memory of m40_host_alloc.
//
// Two kinds of comments tell tools/abi.ts what types and names do not say.
//
// Before each function, `//@ WHAT[, lane LANE][, waits|may wait]`:
// - WHAT: the function's subject, in the words of error messages. `here`: a channel does not forward the function.
// - LANE: `steps` or `state`, for functions that do not wait in the queue of the channel's other calls.
// - `waits`: TypeScript calls it on another thread; `may wait`: on this thread or another.
//
// After a field of an m40_op_* that is no plain number, `USE [SHAPE][, of which COUNT][, or none][, where CONDITION]`:
// - reads, writes, updates (both), lends (is read in steps that hand out hidden states): the index of a buffer of
//   [rows, columns at least]. Rows are `tokens`, `outputs`, `tokens * n_used`, or `rows`: the first buffer of a record
//   may have any, the others have the same. Elements are F32, or `u32`. `of which`: how many columns are written, if
//   not all up to the end.
// - weight: the index of a tensor, a vector [columns], a matrix [rows, columns] or [experts, rows, columns]; `any`: as
//   many as there are.
// - state: the index of a state of so many values. layer: the index of a layer of the cache, which uses its KV blocks.
// - `or none`: M40_NONE is allowed. `where`: the library ignores the field otherwise. A count is an expression of the
//   record's own fields. Of arrays, the first n_weights elements count: `i` is an element's number, `most` the largest
//   of all, `total` their sum.
#ifndef M40_H
#define M40_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define M40_API __attribute__((visibility("default")))
#define M40_ABI_VERSION 19u
#define M40_NONE 0xFFFFFFFFu
#define M40_MAX_MATMUL_WEIGHTS 3
#define M40_MAX_TOP_LOGPROBS 20
#define M40_MAX_CACHE_LAYERS 256
#define M40_MAX_CACHE_GROUPS 16
#define M40_MAX_STATES 256
#define M40_MAX_RUN_END_TOKENS 4096
#define M40_MAX_DEVICE_PROCESSES 16
#define M40_MAX_CARDS 8

// ---- status -----------------------------------------------------------------------------------------

typedef int32_t m40_status;
enum {
  M40_OK = 0,
  M40_INVALID_ARGUMENT = 1,  // the caller's mistake: a shape, an index, an offset out of range
  M40_OUT_OF_MEMORY = 2,     // device or host memory
  M40_IO = 3,                // a file that cannot be read as asked
  M40_UNSUPPORTED = 4,       // a tensor type, operation or device that this library was built without
  M40_DEVICE_LOST = 5,       // the device failed; every context on it is unusable from now on
  M40_INTERNAL = 6,
  M40_NOT_READY = 7,         // of m40_step_finish alone: the step is not over
};

typedef struct m40_error {
  m40_status status;
  char message[508];  // UTF-8, zero-terminated: what was got, what was wanted
} m40_error;

// ---- library and devices ----------------------------------------------------------------------------

// M40_ABI_VERSION of the library.
//@ here
M40_API uint32_t m40_abi_version(void);

// "cpu", "cuda" or "emulated".
//@ here
M40_API const char* m40_backend(void);

// Sizes and offsets of every struct in this header, as JSON: {"m40_op": {"bytes": 128, "fields": {"kind": [offset,
// bytes], ...}}, ...}. The structs of operations also have their "kind" and the "roles" of their fields: "number", a
// "state", a buffer that the operation "reads", "writes", "updates" or "lends", or a weight ("vector", "matrix" or
// "experts").
//@ here
M40_API const char* m40_layout(void);

// What the library was built from and for, as JSON: {"commit": "", "compiler": "g++ (…) 12.2.0", "cuda_toolkit":
// "11.8", "architectures": ["sm_52", "compute_52"]}. The commit is a release's, else "". The toolkit is "" where there
// is none. The architectures are those of the machine code (sm_) and PTX (compute_); for the CPU, its vector units.
//@ here
M40_API const char* m40_build_info(void);

typedef uint32_t m40_device_kind;
enum {
  M40_DEVICE_CPU = 0,  // its memory is the host's, and others live there too
  M40_DEVICE_GPU = 1,  // its memory is its own
};

typedef struct m40_device_info {
  char name[128];
  uint64_t memory_bytes;       // of the device; host memory for the CPU
  uint64_t free_bytes;         // at the time of the call
  uint32_t compute_capability; // 52 for 5.2; 0 for the CPU
  uint32_t multiprocessors;    // processors that the library may use, for the CPU
  uint32_t clock_khz;          // 0 where unknown
  uint32_t memory_clock_khz;
  uint32_t memory_bus_bits;
  uint32_t ecc;                // 1 where error correction is on
  uint32_t driver_version;     // 11080 for 11.8; 0 for the CPU
  m40_device_kind kind;        // the emulated library's is CPU
  char instruction_set[32];    // "avx512", "avx2", "avx", "baseline"; "sm_52" and the like on a GPU
  char driver[32];             // the driver's own version ("535.183.01"); "" where unknown
  // The tile sizes of prefill in tokens, rising: chunks of a prompt whose sizes lie between two of them take as long as
  // the larger. 0 after the last; all 0 where every size is as good.
  uint32_t tile_tokens[4];
} m40_device_info;

// A device's present state, as its driver's management library (NVML) reports it. An unknown value is M40_NONE, of
// memory 0, of energy UINT64_MAX. All are unknown without that library, some on some cards. Of the CPU, only memory is
// known.
typedef struct m40_device_state {
  uint64_t memory_bytes;
  uint64_t used_bytes;              // by all programs together
  uint64_t free_bytes;
  uint64_t energy_millijoules;      // since the driver was loaded; Maxwell and Pascal do not count it
  uint32_t temperature_celsius;
  uint32_t power_milliwatts;        // a mean over the driver's own period, up to a second
  uint32_t power_limit_milliwatts;  // at which the driver lowers the clocks
  uint32_t clock_khz;               // of the multiprocessors
  uint32_t memory_clock_khz;
  uint32_t utilisation_percent;     // of the time in which kernels ran, over the driver's own period
} m40_device_state;

// How the driver's management library can be asked.
typedef uint32_t m40_management_status;
enum {
  M40_MANAGEMENT_OK = 0,
  M40_MANAGEMENT_MISSING = 1,    // there is no such library
  M40_MANAGEMENT_NO_DRIVER = 2,  // the kernel has no driver loaded, or none of its files are here
  M40_MANAGEMENT_MISMATCH = 3,   // the kernel's driver and the library are of two versions
  M40_MANAGEMENT_FORBIDDEN = 4,
  M40_MANAGEMENT_FAILED = 5,     // for another reason: `code` says which
};

typedef struct m40_management {
  m40_management_status status;
  uint32_t code;       // the library's own (nvmlReturn_t), M40_NONE where there is none
  uint32_t n_devices;  // that the driver has, whether CUDA shows them or not
  uint32_t reserved;
  char driver[32];     // "535.183.01"; "" where unknown
} m40_management;

// Why clocks are below what they could be: bits, with NVML's own values.
typedef uint32_t m40_throttle;
enum {
  M40_THROTTLE_IDLE = 0x1,
  M40_THROTTLE_CLOCKS_SET = 0x2,      // a user set lower ones
  M40_THROTTLE_POWER_LIMIT = 0x4,
  M40_THROTTLE_HARDWARE = 0x8,        // heat, an external signal or a drop of the voltage: halves the clocks and more
  M40_THROTTLE_SYNC_BOOST = 0x10,     // the slowest card of a group sets them
  M40_THROTTLE_DRIVER_HEAT = 0x20,
  M40_THROTTLE_HARDWARE_HEAT = 0x40,
  M40_THROTTLE_POWER_BRAKE = 0x80,    // the power supply's signal
  M40_THROTTLE_DISPLAY = 0x100,
};

// All that the management library reports about a GPU. An unknown value is M40_NONE, UINT64_MAX or "".
typedef struct m40_device_health {
  char name[96];
  uint64_t memory_bytes;
  uint64_t used_bytes;
  uint64_t free_bytes;
  uint64_t corrected_errors;          // of memory: since the driver was loaded
  uint64_t uncorrected_errors;
  uint64_t lifetime_corrected_errors;
  uint64_t lifetime_uncorrected_errors;
  uint64_t process_bytes[M40_MAX_DEVICE_PROCESSES];  // of memory, by the programs that use the device
  uint32_t process_id[M40_MAX_DEVICE_PROCESSES];
  uint32_t n_processes;               // in all; those after the last place are not listed
  uint32_t code;                      // 0, or why it says nothing of itself (nvmlReturn_t: 8 no power, 15 lost)
  uint32_t cuda_device;               // its index in CUDA; M40_NONE where CUDA does not show it
  uint32_t compute_capability;        // 52 for 5.2
  uint32_t compute_mode;              // 0 any programs, 1 and 3 one alone, 2 none
  uint32_t persistence;               // 1 where the driver stays loaded when no program uses the device
  uint32_t ecc;                       // 1 where error correction is on
  uint32_t ecc_next;                  // whether it will be after the next restart
  uint32_t retired_pages;             // for many corrected errors
  uint32_t retired_pages_uncorrected; // for an uncorrected one
  uint32_t retirement_pending;        // 1 where memory pages are to be retired at the next restart
  uint32_t pcie_generation;           // now: it falls when the device is idle
  uint32_t pcie_width;
  uint32_t pcie_max_generation;       // that card and slot have in common
  uint32_t pcie_max_width;
  uint32_t pcie_replays;              // since the driver was loaded
  uint32_t clock_khz;                 // of the multiprocessors
  uint32_t max_clock_khz;
  uint32_t set_clock_khz;             // that programs get
  uint32_t memory_clock_khz;
  uint32_t max_memory_clock_khz;
  m40_throttle throttle;              // bits
  uint32_t power_milliwatts;
  uint32_t power_limit_milliwatts;    // at which the driver lowers the clocks
  uint32_t default_power_limit_milliwatts;
  uint32_t min_power_limit_milliwatts;
  uint32_t max_power_limit_milliwatts;
  uint32_t temperature_celsius;
  uint32_t slowdown_celsius;          // at which the hardware lowers the clocks
  uint32_t shutdown_celsius;
} m40_device_health;

// The power at which the driver lowers a device's clocks. What is not known is M40_NONE.
typedef struct m40_power_limit {
  uint32_t code;                // 0, or why it was not read or set (nvmlReturn_t: 3 not supported, 4 no permission)
  uint32_t before_milliwatts;   // what was set before the call
  uint32_t least_milliwatts;    // what can be set
  uint32_t most_milliwatts;
} m40_power_limit;

// Where there is no device, *n_devices is 0, the status M40_OK, and error->message says why in one sentence.
//@ the devices
M40_API m40_status m40_device_count(uint32_t* n_devices, m40_error* error);
//@ a device
M40_API m40_status m40_get_device_info(uint32_t device, m40_device_info* info, m40_error* error);
// Any thread may call it at any time. It neither waits for the device's work nor delays it, and changes no thread's
// device. The first call on a device may take some 100 ms, the others a few.
//@ a device's state, lane state, waits
M40_API m40_status m40_get_device_state(uint32_t device, m40_device_state* state, m40_error* error);

// Any thread may call both at any time, as m40_get_device_state. The first queries no device. `device` is the
// management library's own index, up to m40_management.n_devices.
//@ the driver, lane state, waits
M40_API m40_status m40_get_management(m40_management* management, m40_error* error);
//@ a device's state, lane state, waits
M40_API m40_status m40_get_device_health(uint32_t device, m40_device_health* health, m40_error* error);

// Sets a device's power limit, which needs the rights of root. The limit lasts until another one is set or the driver
// is loaded again. 0 milliwatts: only reads it. Where the driver refuses, the status is M40_OK, limit->code says why,
// and the limit is unchanged. A limit that cannot be read is not set. Threads and index: as m40_get_device_state.
//@ the power limit, lane state, waits
M40_API m40_status m40_set_power_limit(uint32_t device, uint32_t milliwatts, m40_power_limit* limit, m40_error* error);

// ---- contexts and memory ----------------------------------------------------------------------------

typedef struct m40_context m40_context;
typedef struct m40_arena m40_arena;
typedef struct m40_cache m40_cache;
typedef struct m40_program m40_program;

// How decode steps run. All executors give the same bits.
typedef uint32_t m40_executor;
enum {
  M40_EXECUTOR_AUTO = 0,      // the one that is measured to be fastest, for each number of rows
  M40_EXECUTOR_LAUNCHES = 1,  // a launch for each operation; the CPU library's only one
  M40_EXECUTOR_GRAPHS = 2,    // a CUDA graph of the launches, where the driver makes one, for steps that recur
  // A persistent kernel computes the steps of a few rows, where it has all of their operations. CUDA graphs run the
  // other steps, and all steps while the device has other work.
  M40_EXECUTOR_RESIDENT = 3,
};

typedef struct m40_context_options {
  uint32_t device;
  uint32_t n_threads;            // CPU only; 0: one a physical core
  m40_executor executor;
  char instruction_set[32];      // CPU only; "" takes the best there is, a name asks for that one
} m40_context_options;

//@ a context
M40_API m40_status m40_context_create(const m40_context_options* options, m40_context** context, m40_error* error);
// Frees the context and all that was created in it.
//@ a context
M40_API void m40_context_destroy(m40_context* context);

// A block of device memory that holds tensors, caches and programs, one after the other. It is freed whole. Nothing
// else allocates device memory after load.
//@ an arena
M40_API m40_status m40_arena_create(m40_context* context, uint64_t arena_bytes, m40_arena** arena, m40_error* error);
//@ an arena
M40_API void m40_arena_destroy(m40_arena* arena);
//@ an arena
M40_API uint64_t m40_arena_used_bytes(const m40_arena* arena);

// Host memory that the device reads and writes without a staging copy (page-locked and mapped on a GPU).
//@ host memory
M40_API m40_status m40_host_alloc(m40_context* context, uint64_t n_bytes, void** memory, m40_error* error);
//@ host memory
M40_API void m40_host_free(m40_context* context, void* memory);

// Host memory that the devices of several contexts read and write, in one process or several. It is created once,
// zeroed, and mapped into each context. It exists until it is destroyed and no context maps it.
typedef struct m40_shared m40_shared;
//@ here
M40_API m40_status m40_shared_create(uint64_t n_bytes, m40_shared** shared, m40_error* error);
//@ here
M40_API void m40_shared_destroy(m40_shared* shared);
// As m40_host_alloc, of shared memory: another address in each context, and the same bytes. m40_host_free unmaps it
// from the context.
//@ host memory
M40_API m40_status m40_host_share(m40_context* context, const m40_shared* shared, void** memory, m40_error* error);

// ---- tensors ----------------------------------------------------------------------------------------

// Tensor types have the ids of GGUF, and its blocks: so many weights in so many bytes.
typedef uint32_t m40_tensor_type;
enum {
  M40_TYPE_F32 = 0,       // 1 in 4
  M40_TYPE_F16 = 1,       // 1 in 2
  M40_TYPE_Q4_0 = 2,      // 32 in 18
  M40_TYPE_Q4_1 = 3,      // 32 in 20
  M40_TYPE_Q5_0 = 6,      // 32 in 22
  M40_TYPE_Q5_1 = 7,      // 32 in 24
  M40_TYPE_Q8_0 = 8,      // 32 in 34
  M40_TYPE_Q2_K = 10,     // 256 in 84
  M40_TYPE_Q3_K = 11,     // 256 in 110
  M40_TYPE_Q4_K = 12,     // 256 in 144
  M40_TYPE_Q5_K = 13,     // 256 in 176
  M40_TYPE_Q6_K = 14,     // 256 in 210
  M40_TYPE_IQ2_XXS = 16,  // 256 in 66
  M40_TYPE_IQ2_XS = 17,   // 256 in 74
  M40_TYPE_IQ3_XXS = 18,  // 256 in 98
  M40_TYPE_IQ1_S = 19,    // 256 in 50
  M40_TYPE_IQ4_NL = 20,   // 32 in 18
  M40_TYPE_IQ3_S = 21,    // 256 in 110
  M40_TYPE_IQ2_S = 22,    // 256 in 82
  M40_TYPE_IQ4_XS = 23,   // 256 in 136
  M40_TYPE_IQ1_M = 29,    // 256 in 56
  M40_TYPE_BF16 = 30,     // 1 in 2
  M40_TYPE_TQ1_0 = 34,    // 256 in 54
  M40_TYPE_TQ2_0 = 35,    // 256 in 66
  M40_TYPE_MXFP4 = 39,    // 32 in 17
  M40_TYPE_NVFP4 = 40,    // 64 in 36
};

// A weight [experts, rows, columns] (experts 1 where there are none), stored row by row in its type's
// blocks. A vector has rows 1; the library holds vectors as F32 whatever their type in the file.
//
// With whole_rows, it is a slice of a weight [experts, whole_rows, columns]: of each expert the rows from first_row on.
// An upload is then given the whole weight's place. A product with the slice gives the bits that a product with the
// whole weight gives for these rows.
typedef struct m40_tensor_desc {
  m40_tensor_type type;
  uint32_t n_experts;
  uint32_t rows;
  uint32_t columns;
  uint32_t first_row;
  uint32_t whole_rows;  // 0: it is the whole weight
} m40_tensor_desc;

// Bytes that the tensor takes in an arena, alignment and repacking included.
//@ a tensor
M40_API m40_status m40_tensor_bytes(m40_context* context, const m40_tensor_desc* desc, uint64_t* n_bytes, m40_error* error);
// Uploads from a file. The copy may still run when the call returns; m40_upload_finish waits for all copies and reports
// their failures.
//@ an upload, waits
M40_API m40_status m40_tensor_from_file(m40_arena* arena, const m40_tensor_desc* desc, const char* path, uint64_t offset, uint32_t* tensor, m40_error* error);
//@ an upload
M40_API m40_status m40_tensor_from_memory(m40_arena* arena, const m40_tensor_desc* desc, const void* data, uint64_t n_bytes, uint32_t* tensor, m40_error* error);
//@ an upload, waits
M40_API m40_status m40_upload_finish(m40_context* context, m40_error* error);
// The tensor's values as floats, from row first_row of all its experts' rows: [n_rows, columns], which n_values are.
//@ a tensor
M40_API m40_status m40_tensor_read(m40_context* context, uint32_t tensor, uint64_t first_row, uint64_t n_rows, float* values, uint64_t n_values, m40_error* error);

// ---- what sequences keep: KV cache and states -------------------------------------------------------

// The layers that store K and V are in groups, and one pool of KV blocks serves all groups. A KV block holds K and V of
// every layer of one group for kv_block_tokens tokens. Any KV block can serve any group: all are as large as the
// largest group's. Layers with a sliding window are best in groups of their own: a sequence then keeps no KV block that
// lies before the window.
//
// States are what layers keep of a sequence in a fixed number of floats. All states of one sequence are in one slot.
// For each sequence, a step names the slot to read its states from and the slot to write them to. So a slot can be
// shared, and kept unchanged. The layout of a slot is private to the library.
typedef struct m40_cache_desc {
  uint32_t n_layers;     // up to M40_MAX_CACHE_LAYERS; layers that attend to another's K and V are not counted. 0, and no
                         // groups and KV blocks either, for a program without attention, which has states
  uint32_t n_groups;     // up to M40_MAX_CACHE_GROUPS, each with a layer at least
  uint32_t kv_block_tokens;  // a power of two
  uint32_t n_kv_blocks;
  m40_tensor_type type;  // M40_TYPE_F32, M40_TYPE_F16 or M40_TYPE_Q8_0
  uint32_t n_kv_heads[M40_MAX_CACHE_LAYERS];
  uint32_t head_dim[M40_MAX_CACHE_LAYERS];   // of K
  uint32_t value_dim[M40_MAX_CACHE_LAYERS];  // of V; 0: V is not stored, it is the first values of K (a latent cache)
  uint32_t group[M40_MAX_CACHE_LAYERS];
  uint32_t n_states;                         // up to M40_MAX_STATES
  uint32_t n_slots;                          // 0 where n_states is
  uint32_t state_values[M40_MAX_STATES];     // floats of each state of one sequence
} m40_cache_desc;

// Bytes of all KV blocks and slots in an arena, and those of one KV block and of one slot in host memory (0 where there
// are none).
//@ a KV cache
M40_API m40_status m40_cache_bytes(m40_context* context, const m40_cache_desc* desc, uint64_t* n_bytes, uint64_t* kv_block_bytes, uint64_t* slot_bytes, m40_error* error);
//@ a KV cache
M40_API m40_status m40_cache_create(m40_arena* arena, const m40_cache_desc* desc, m40_cache** cache, m40_error* error);
// The five functions below wait for their copies, which may take seconds. No step may run on the context. Copies KV
// block from[i] to KV block to[i].
//@ KV blocks of the KV cache, waits
M40_API m40_status m40_cache_copy_kv_blocks(m40_cache* cache, const uint32_t* from, const uint32_t* to, uint32_t n_kv_blocks, m40_error* error);
// Copies KV blocks to host memory and back, bit for bit, kv_block_bytes each, in the order given.
//@ KV blocks of the KV cache, waits
M40_API m40_status m40_cache_save_kv_blocks(m40_cache* cache, const uint32_t* kv_blocks, uint32_t n_kv_blocks, void* memory, uint64_t n_bytes, m40_error* error);
//@ KV blocks of the KV cache, waits
M40_API m40_status m40_cache_restore_kv_blocks(m40_cache* cache, const uint32_t* kv_blocks, uint32_t n_kv_blocks, const void* memory, uint64_t n_bytes, m40_error* error);
// The same of slots, slot_bytes each.
//@ slots of states, waits
M40_API m40_status m40_cache_save_slots(m40_cache* cache, const uint32_t* slots, uint32_t n_slots, void* memory, uint64_t n_bytes, m40_error* error);
//@ slots of states, waits
M40_API m40_status m40_cache_restore_slots(m40_cache* cache, const uint32_t* slots, uint32_t n_slots, const void* memory, uint64_t n_bytes, m40_error* error);

// ---- programs ---------------------------------------------------------------------------------------

// What a buffer has a row for. It sets the number of rows in a step.
typedef uint32_t m40_rows;
enum {
  M40_ROWS_TOKENS = 0,   // one a token of the step
  M40_ROWS_OUTPUTS = 1,  // one an output
  M40_ROWS_EXPERTS = 2,  // one a token and chosen expert: row = token * n_used + slot
};

typedef uint32_t m40_element;
enum {
  M40_ELEMENT_F32 = 0,
  M40_ELEMENT_U32 = 1,
};

typedef struct m40_buffer_desc {
  m40_rows rows;
  uint32_t rows_factor;  // experts used a token for M40_ROWS_EXPERTS, else 1
  uint32_t columns;
  m40_element element;
} m40_buffer_desc;

typedef uint32_t m40_op_kind;
enum {
  M40_OP_EMBED = 1,
  M40_OP_NORM = 2,
  M40_OP_MATMUL = 3,
  M40_OP_ROPE_STORE = 4,
  M40_OP_ATTENTION = 5,
  M40_OP_ACTIVATION = 6,
  M40_OP_ADD = 7,
  M40_OP_SELECT = 8,
  M40_OP_SOFTCAP = 9,
  M40_OP_ROUTE = 10,
  M40_OP_EXPERT_MATMUL = 11,
  M40_OP_EXPERT_SUM = 12,
  M40_OP_SAMPLE = 13,
  M40_OP_HEAD_MATMUL = 14,
  M40_OP_CONV = 15,
  M40_OP_DELTA_RULE = 16,
  M40_OP_SELECTIVE_SCAN = 17,
  M40_OP_COPY = 18,
  M40_OP_EXCHANGE = 19,
};

typedef uint32_t m40_norm;
enum { M40_NORM_RMS = 0, M40_NORM_LAYER = 1 };
typedef uint32_t m40_rope;
enum { M40_ROPE_NONE = 0, M40_ROPE_INTERLEAVED = 1, M40_ROPE_HALVES = 2 };
typedef uint32_t m40_activation;
enum {
  M40_ACTIVATION_SILU = 0,
  M40_ACTIVATION_GELU_TANH = 1,
  M40_ACTIVATION_GELU_ERF = 2,
  M40_ACTIVATION_RELU = 3,
  M40_ACTIVATION_RELU_SQUARED = 4,
  M40_ACTIVATION_SIGMOID = 5,
  M40_ACTIVATION_SWIGLU_CLAMPED = 6,  // gated alone: with g = min(gate, limit) and u = the up value within [-limit, limit],
                                      // g * sigmoid(alpha * g) * (u + 1)
};
// When head norms are applied: before or after the rotation.
typedef uint32_t m40_head_norm;
enum { M40_HEAD_NORM_NONE = 0, M40_HEAD_NORM_BEFORE = 1, M40_HEAD_NORM_AFTER = 2 };
typedef uint32_t m40_score;
enum { M40_SCORE_SOFTMAX = 0, M40_SCORE_SIGMOID = 1, M40_SCORE_SOFTMAX_CHOSEN = 2 };
// The K head of head h of n: h / (n / n_k_heads), or h % n_k_heads.
typedef uint32_t m40_k_heads;
enum { M40_K_HEADS_GROUPED = 0, M40_K_HEADS_CYCLED = 1 };

// How a product multiplies weights that are quantised. Exact: each becomes a float, and so does each product of it.
// Packed: of weights that are integers of up to 4 bits times scales (Q4_0, Q4_1, Q2_K, Q3_K, Q4_K, TQ1_0, TQ2_0,
// MXFP4), each run of 16 columns of the input is rounded to integers whose absolute values sum up to about 353 (233
// where the weights are MXFP4). A product of runs is an exact integer, which its scales then make a float. With weights
// of any other type, packed gives exact's bits.
typedef uint32_t m40_arithmetic;
enum { M40_ARITHMETIC_EXACT = 0, M40_ARITHMETIC_PACKED = 1 };

// Buffers are named by their index in the program's list; tensors by what m40_tensor_from_* gave.

// output[t] = scale * table[token[t]] (+ position_table[position[t]])
typedef struct m40_op_embed {
  uint32_t output;          // writes [tokens, columns]
  uint32_t table;           // weight [any, columns]
  uint32_t position_table;  // weight [any, columns], or none
  uint32_t columns;
  float scale;
} m40_op_embed;

// Normalises n_groups groups of `columns` values of a row, one after the other from input_column on, each by itself,
// and writes them from output_column on. rms: x / sqrt(mean(x^2) + epsilon) * weight (+ bias); layer: the same of x -
// mean(x), divided by sqrt(variance + epsilon). All groups share weight and bias, or have their own where
// weight_per_group is 1; weight M40_NONE: ones. output = (factor *) ((residual +) norm(input)), the residual's values
// at output_column as well. Input, residual and output may be one buffer, where input_column is output_column.
typedef struct m40_op_norm {
  uint32_t input;     // reads [rows, input_column + n_groups * columns]
  uint32_t output;    // writes [rows, output_column + n_groups * columns], of which n_groups * columns
  uint32_t weight;    // weight [weight_per_group ? n_groups * columns : columns], or none
  uint32_t bias;      // weight [weight_per_group ? n_groups * columns : columns], or none
  uint32_t residual;  // reads [rows, output_column + n_groups * columns], or none
  uint32_t factor;    // weight [1], or none
  m40_norm norm;
  uint32_t columns, n_groups, weight_per_group, input_column, output_column;
  float epsilon;
} m40_op_norm;

// For each weight i: output[:, output_column[i] ..] = scale * (factor[i] * input * weight[i]^T (+ bias[i])) (+
// residual). factor[i] is of types whose scale is a tensor of its own, residual for n_weights = 1.
typedef struct m40_op_matmul {
  uint32_t input;                           // reads [rows, columns]
  uint32_t output;                          // writes [rows, most(output_column[i] + rows[i])], of which total(rows[i])
  uint32_t residual;                        // reads [rows, most(output_column[i] + rows[i])], or none
  uint32_t n_weights, columns;
  float scale;
  uint32_t weight[M40_MAX_MATMUL_WEIGHTS];  // weight [rows[i], columns]
  uint32_t bias[M40_MAX_MATMUL_WEIGHTS];    // weight [rows[i]], or none
  uint32_t factor[M40_MAX_MATMUL_WEIGHTS];  // weight [1], or none
  uint32_t rows[M40_MAX_MATMUL_WEIGHTS];
  uint32_t output_column[M40_MAX_MATMUL_WEIGHTS];
  m40_arithmetic arithmetic;
} m40_op_matmul;

// A product a head. Head h of the output, rows + copied values from h * output_stride on, is head h's input values
// [columns] from h * input_stride on times weight[h]^T, then the `copied` values that follow them in the input. Input
// and output are two buffers.
typedef struct m40_op_head_matmul {
  uint32_t input;   // reads [tokens, (n_heads - 1) * input_stride + columns + copied]
  uint32_t output;  // writes [tokens, (n_heads - 1) * output_stride + rows + copied], of which n_heads * (rows + copied)
  uint32_t weight;  // weight [n_heads, rows, columns]
  uint32_t n_heads, columns, rows, input_stride, output_stride, copied;
} m40_op_head_matmul;

// q [n_heads, head_dim] are the first columns of a row of the buffer q. They are normalised a head, rotated and scaled
// in place. k [n_kv_heads, head_dim] is at k_column of the buffer kv, v [n_kv_heads, value_dim] at v_column, which may
// be k_column. k is normalised and rotated; v is normalised where v_norm is 1 (rms, without a weight). Both are stored
// in the cache's layer. Of the buffers, only q changes. kv M40_NONE: nothing is stored, as another operation stores the
// layer. v_column M40_NONE: the layer's V are the first values of its K. Head norms of q and k are rms, with the
// weights q_norm and k_norm [head_dim] or without (M40_NONE). head_norm says whether they come before the rotation or
// after it. The rope_dim values of a head from rope_offset on are rotated. The angle of pair i at position p is p *
// freq_scale * freq_base^(-2i/rope_dim) / factors[i], blended as YaRN does (Peng et al. 2023) where ext_factor is not
// 0; cos and sin are multiplied by attention_factor. Where temperature_scale is not 0, q is last multiplied by 1 +
// temperature_scale * ln(1 + floor((p + temperature_offset) / temperature_length)).
typedef struct m40_op_rope_store {
  uint32_t q;        // updates [tokens, n_heads * head_dim]
  uint32_t kv;       // reads [tokens, max(k_column + n_kv_heads * head_dim, v_column == M40_NONE ? 0 : v_column + n_kv_heads * value_dim)], or none
  uint32_t k_column, v_column;
  uint32_t layer;    // layer
  uint32_t n_heads, n_kv_heads, head_dim, value_dim, rope_dim, rope_offset;
  m40_rope rope;
  uint32_t factors;  // weight [rope_dim / 2], or none, where rope != M40_ROPE_NONE
  m40_head_norm head_norm;
  uint32_t q_norm;   // weight [head_dim], or none
  uint32_t k_norm;   // weight [head_dim], or none
  uint32_t v_norm, original_context, temperature_length, temperature_offset;
  float temperature_scale, norm_epsilon, freq_base, freq_scale, ext_factor, attention_factor, beta_fast, beta_slow;
} m40_op_rope_store;

// output [n_heads, value_dim] a token = softmax(cap(scale * q k)) v over the positions of the token's sequence up to
// its own. With a window, over the last `window` of them, its own included; with a chunk, over those from the last
// multiple of `chunk` on. q: the first n_heads * head_dim columns. cap(x) = softcap * tanh(x / softcap) where softcap
// is not 0. sinks, a vector [n_heads]: logits, neither scaled nor capped, that take part in the softmax without a
// value.
typedef struct m40_op_attention {
  uint32_t q;       // reads [tokens, n_heads * head_dim]
  uint32_t output;  // writes [tokens, n_heads * value_dim]
  uint32_t sinks;   // weight [n_heads], or none
  uint32_t layer;   // layer
  uint32_t n_heads, n_kv_heads, head_dim, value_dim, window, chunk;
  float scale, softcap;
} m40_op_attention;

// Gated: output = f(gate) * up, gate [columns] at the row's start; up [columns] is at up_column of the buffer up, which
// may be the input (up_column is then `columns`, usually). Else output = f(input), and up is M40_NONE. Input, up and
// output may be one buffer, where the output's columns are the up values' own or none of theirs.
typedef struct m40_op_activation {
  uint32_t input;   // reads [rows, columns]
  uint32_t up;      // reads [rows, up_column + columns], or none
  uint32_t output;  // writes [rows, columns]
  m40_activation activation;
  uint32_t gated, columns, up_column;
  float alpha, limit;
} m40_op_activation;

// output = a + b; with a gate [rows, 1], of another buffer than the output: a + sigmoid(gate) * b
typedef struct m40_op_add {
  uint32_t a;       // reads [rows, columns]
  uint32_t b;       // reads [rows, columns]
  uint32_t gate;    // reads [rows, 1], or none
  uint32_t output;  // writes [rows, columns]
  uint32_t columns;
} m40_op_add;

// The rows of input that the step's outputs name, in their order.
typedef struct m40_op_select {
  uint32_t input;   // reads [tokens, columns]
  uint32_t output;  // writes [outputs, columns]
  uint32_t columns;
} m40_op_select;

// output = cap(scale * input)
typedef struct m40_op_softcap {
  uint32_t input;   // reads [rows, columns]
  uint32_t output;  // writes [rows, columns]
  uint32_t columns;
  float scale, softcap;
} m40_op_softcap;

// Chooses a token's n_used experts of n_experts: those with the largest s (+ bias). It writes their indices and
// weights. s: the logits, for softmax and for the softmax of the chosen; for sigmoid, or softmax with a bias, that
// function of the logits. With n_groups > 1 the experts are in as many equal groups, one after the other. Only the
// n_groups_used groups with the largest sum of their two largest s + bias (of a group of one: its only one) are
// candidates. Weights: softmax over all experts, sigmoid, or softmax over the chosen, of the logits, without the bias.
// Where normalise is set, they are divided by the sum of the chosen, or least_sum if that is larger. Then times scale.
// Largest s + bias first; the lower index (of experts and of groups) first where equal. s, s + bias and a group's sum
// are floats; one that is not a number counts as -infinity. Where n_shared is 1 and not 0, the expert that every token
// has comes after the chosen: index n_experts, weight 1.
typedef struct m40_op_route {
  uint32_t input;    // reads [tokens, n_experts]
  uint32_t experts;  // writes u32 [tokens, n_used + n_shared]
  uint32_t weights;  // writes [tokens, n_used + n_shared]
  uint32_t bias;     // weight [n_experts], or none
  uint32_t n_experts, n_used, n_shared;
  m40_score score;
  uint32_t normalise, n_groups, n_groups_used;
  float scale, least_sum;
} m40_op_route;

// As matmul, each row with the weights of its own expert. input is [tokens, columns] (the row's token's) or [tokens *
// n_used, columns]; output is [tokens * n_used, ...]. For each weight i: output[:, output_column[i] ..] =
// (factor[i][expert] * input * weight[i][expert]^T + bias[i][expert]) * weights[t, slot], without those that are
// M40_NONE. Where n_shared is 1 and not 0, there is an expert of index n_experts (a token's last where m40_op_route
// chose them), which n_used counts. Its weights are shared[i], of weight[i]'s type and at least 2 rows; there is
// neither bias nor factor then.
typedef struct m40_op_expert_matmul {
  uint32_t input;      // reads [rows, columns]
  uint32_t experts;    // reads u32 [tokens, n_used]
  uint32_t output;     // writes [tokens * n_used, most(output_column[i] + rows[i])], of which total(rows[i])
  uint32_t weights;    // reads [tokens, n_used], or none
  uint32_t n_weights, columns, n_used, n_experts, n_shared;
  uint32_t weight[2];  // weight [n_experts, rows[i], columns]
  uint32_t shared[2];  // weight [rows[i], columns], where n_shared != 0
  uint32_t bias[2];    // weight [n_experts * rows[i]], or none
  uint32_t factor[2];  // weight [n_experts], or none
  uint32_t rows[2];
  uint32_t output_column[2];
  m40_arithmetic arithmetic;
} m40_op_expert_matmul;

// output[t] = residual[t] + scale * sum over slots of weights[t, slot] * input[t * n_used + slot], in the order of the
// slots (a shared expert's is the last of the n_used); weights M40_NONE: ones. Output and residual from output_column
// on.
typedef struct m40_op_expert_sum {
  uint32_t input;     // reads [tokens * n_used, columns]
  uint32_t weights;   // reads [tokens, n_used], or none
  uint32_t residual;  // reads [tokens, output_column + columns], or none
  uint32_t output;    // writes [tokens, output_column + columns], of which columns
  uint32_t columns, n_used, output_column;
  float scale;
} m40_op_expert_sum;

// What outputs give: a token sampled from logits [outputs, columns] (see m40_sampling), those logits, or the row of
// hidden [outputs, hidden_columns], the buffer that the logits are a product of. Where a program gives no hidden
// states, hidden is M40_NONE and hidden_columns 0.
typedef struct m40_op_sample {
  uint32_t logits;  // reads [outputs, columns]
  uint32_t columns;
  uint32_t hidden;  // lends [outputs, hidden_columns], or none
  uint32_t hidden_columns;
} m40_op_sample;

// Operations with a state compute a sequence's tokens one after the other, in one order of additions. A state's bits
// depend only on its sequence's tokens: not on the rest of the step, the division into steps, or the kind of rows.
// `state` is an index of the cache's states, with as many values as its comment says. No two operations of a program
// share a state. The state of a new sequence is zeros.
//
// softplus(x) = x > 20 ? x : log1p(exp(x)), sigmoid(x) = 1 / (1 + exp(-x)).

// A causal convolution of each column by itself, over the last `kernel` tokens of its sequence. With x[t, c] = input[t,
// input_column + c], times input[t, factor_column + c] where factor_column is not M40_NONE, and 0 before the sequence's
// first token, output[t, output_column + c] = f(sum over j of weight[c, j] * x[t - (kernel - 1) + j, c] + bias[c]),
// times input[t, gate_column + c] where gate_column is not M40_NONE. f: M40_ACTIVATION_SILU, or M40_NONE for none.
// kernel: 2 to 8. Input and output are two buffers. State: x of the last kernel - 1 tokens.
typedef struct m40_op_conv {
  uint32_t input;   // reads [tokens, max(input_column, factor_column == M40_NONE ? 0 : factor_column, gate_column == M40_NONE ? 0 : gate_column) + columns]
  uint32_t output;  // writes [tokens, output_column + columns], of which columns
  uint32_t weight;  // weight [columns * kernel]
  uint32_t bias;    // weight [columns], or none
  uint32_t state;   // state [(kernel - 1) * columns]
  uint32_t columns, kernel;
  m40_activation activation;
  uint32_t input_column, factor_column, gate_column, output_column;
} m40_op_conv;

// The gated delta rule (Yang et al. 2024, arXiv:2412.06464), each head of V by itself. Of a token, q and k [n_k_heads,
// key_dim] are at q_column and k_column of the buffer qkv, v [n_heads, value_dim] at v_column. The numbers a and b of
// head h are in the buffer gates, at a_column (b_column) + h / gate_heads * gate_stride + h % gate_heads, in whole
// groups of gate_heads. k_heads (M40_K_HEADS_*) says which K head belongs to head h. With q and k each divided by
// sqrt(sum of their squares + epsilon), g = exp(decay[h] * softplus(a + a_bias[h])), beta = sigmoid(b) and S [key_dim,
// value_dim]:
//   S = g * S;  S = S + k (beta * (v - S^T k))^T;  output[h] = scale * S^T q.
// The output is of another buffer than qkv and gates. State: S of each head.
typedef struct m40_op_delta_rule {
  uint32_t qkv;     // reads [tokens, max(max(q_column, k_column) + n_k_heads * key_dim, v_column + n_heads * value_dim)]
  uint32_t gates;   // reads [tokens, max(a_column, b_column) + (n_heads / gate_heads - 1) * gate_stride + gate_heads]
  uint32_t output;  // writes [tokens, n_heads * value_dim]
  uint32_t decay;   // weight [n_heads]
  uint32_t a_bias;  // weight [n_heads]
  uint32_t state;   // state [n_heads * key_dim * value_dim]
  uint32_t n_heads, n_k_heads, key_dim, value_dim, q_column, k_column, v_column, a_column, b_column, gate_heads, gate_stride;
  m40_k_heads k_heads;
  float scale, epsilon;
} m40_op_delta_rule;

// The state space of Mamba-2 (Dao and Gu 2024, arXiv:2405.21060), each head by itself. x [n_heads, head_dim] is at
// x_column of the buffer input, B and C [n_groups, state_dim] at b_column and c_column, dt [n_heads] at dt_column of
// the buffer steps, which may be the input. Head h has group h / (n_heads / n_groups). With d = softplus(dt +
// dt_bias[h]) and S [head_dim, state_dim]:
//   S = exp(d * decay[h]) * S + d * x B^T;  output[h] = S C + skip[h] * x.
// The output is of another buffer than input and steps. State: S of each head.
typedef struct m40_op_selective_scan {
  uint32_t input;    // reads [tokens, max(max(b_column, c_column) + n_groups * state_dim, x_column + n_heads * head_dim)]
  uint32_t steps;    // reads [tokens, dt_column + n_heads]
  uint32_t output;   // writes [tokens, n_heads * head_dim]
  uint32_t decay;    // weight [n_heads]
  uint32_t skip;     // weight [n_heads]
  uint32_t dt_bias;  // weight [n_heads]
  uint32_t state;    // state [n_heads * head_dim * state_dim]
  uint32_t n_heads, n_groups, head_dim, state_dim, x_column, b_column, c_column, dt_column;
} m40_op_selective_scan;

// n_groups groups of `columns` values: group g goes from input_column + g * input_stride on to
// output_column + g * output_stride on. Input and output are two buffers.
typedef struct m40_op_copy {
  uint32_t input;   // reads [rows, input_column + (n_groups - 1) * input_stride + columns]
  uint32_t output;  // writes [rows, output_column + (n_groups - 1) * output_stride + columns], of which n_groups * columns
  uint32_t columns, n_groups, input_column, input_stride, output_column, output_stride;
} m40_op_copy;

// An all-gather: each of n_cards cards has some columns of the same rows, card c those from bounds[c] to bounds[c + 1].
// This card, number `card`, has its own in the input, from input_column on. Afterwards the output of each card has all
// columns, from its first column on, to the bit. Input and output may be one buffer, where input_column is
// bounds[card]. bounds rise from 0; those after bounds[n_cards] are ignored. All exchanges of a program have the same
// n_cards and card.
//
// An exchange is a barrier: each card waits until the others are in the same exchange of the same step. So all cards
// need the same steps, in the same order, and shared memory (m40_program_exchange).
typedef struct m40_op_exchange {
  uint32_t input;   // reads [rows, input_column + bounds[card + 1] - bounds[card]]
  uint32_t output;  // writes [rows, bounds[n_cards]]
  uint32_t input_column, n_cards, card;
  uint32_t bounds[M40_MAX_CARDS + 1];
} m40_op_exchange;

typedef struct m40_op {
  m40_op_kind kind;
  uint32_t flags;  // 0
  union {
    m40_op_embed embed;
    m40_op_norm norm;
    m40_op_matmul matmul;
    m40_op_rope_store rope_store;
    m40_op_attention attention;
    m40_op_activation activation;
    m40_op_add add;
    m40_op_select select;
    m40_op_softcap softcap;
    m40_op_route route;
    m40_op_expert_matmul expert_matmul;
    m40_op_expert_sum expert_sum;
    m40_op_sample sample;
    m40_op_head_matmul head_matmul;
    m40_op_conv conv;
    m40_op_delta_rule delta_rule;
    m40_op_selective_scan selective_scan;
    m40_op_copy copy;
    m40_op_exchange exchange;
    uint32_t words[30];
  };
} m40_op;

// A lane is a stream of steps of a context. Two programs of different lanes over the same weights and KV cache may each
// run a step, begun in any order and from two threads. Neither waits for the other; where both have work, the device
// runs that of M40_LANE_MAIN first. Nothing orders the two lanes' reads and writes of KV blocks and slots, nor those of
// a step in M40_LANE_PROMPTS and of m40_cache_*. What one writes, the other may neither read nor write until it is
// over. Copies of KV blocks are the exception: they may read rows of a KV block while other rows of it are written. No
// upload may run. Only GPUs have M40_LANE_PROMPTS; a CPU's steps would share its processors.
typedef uint32_t m40_lane;
enum {
  M40_LANE_MAIN = 0,
  M40_LANE_PROMPTS = 1,
};

// The largest step that a program will be asked for.
typedef struct m40_limits {
  uint32_t n_tokens;
  uint32_t n_sequences;
  uint32_t n_outputs;
  uint32_t n_sequence_kv_blocks;  // KV blocks of one sequence in a group; ignored without layers
  uint32_t n_vocab;
  m40_lane lane;
  uint64_t step_bytes;        // of m40_step's input block
} m40_limits;

// Bytes that the program takes in an arena: its buffers and scratch. It ignores tensor indices, so that memory can be
// planned before the weights are uploaded.
//@ a program
M40_API m40_status m40_program_bytes(m40_context* context, const m40_limits* limits, const m40_cache_desc* cache, const m40_buffer_desc* buffers, uint32_t n_buffers, const m40_op* ops, uint32_t n_ops, uint64_t* n_bytes, m40_error* error);
// Checks every record against the buffers, the tensors and the cache (which may be NULL where no operation
// uses it) and places the program's memory.
//@ a program
M40_API m40_status m40_program_create(m40_arena* arena, const m40_limits* limits, m40_cache* cache, const m40_buffer_desc* buffers, uint32_t n_buffers, const m40_op* ops, uint32_t n_ops, m40_program** program, m40_error* error);
//@ a program
M40_API void m40_program_destroy(m40_program* program);
// Bytes of the memory that the cards of a program with exchanges have in common; 0 of any other program.
//@ a program
M40_API m40_status m40_program_exchange_bytes(m40_program* program, uint64_t* n_bytes, m40_error* error);
// The inbox of a program with exchanges: memory of its own device that the other cards write their columns to. Their
// contexts are of this process or of others on the same machine.
typedef struct m40_inbox {
  uint64_t process;      // that has it
  uint64_t address;      // there
  uint64_t offset;       // in what the handle is for
  uint64_t n_bytes;
  uint32_t device;       // as that process counts
  uint32_t handle[16];   // of CUDA's, for other processes
  uint32_t reserved;     // 0
} m40_inbox;
// The program's. M40_UNSUPPORTED where the device has no memory that others could write.
//@ a program
M40_API m40_status m40_program_inbox(m40_program* program, m40_inbox* inbox, m40_error* error);
// Gives a program with exchanges what it shares with the other cards' programs, and resets its count of steps: the next
// step is the first. Call it for all of them, while none runs a step, before the first step and after a step that
// failed on one of them. memory: m40_program_exchange_bytes of m40_host_share; with inboxes 64 bytes are enough. It
// starts with a uint32_t, 0 after this call. Writing another value there makes all cards that wait for another give up;
// they also give up after 20 seconds. Their steps and runs fail then. The rest of the memory is the library's. NULL:
// the program loses its memory and writes to no other card's. Call it for all programs before any card's arena is
// freed. inboxes: of all cards, its own included, in their order; n_inboxes 0: the cards exchange through the host's
// memory. M40_UNSUPPORTED where the device cannot write one of them; the program is then unchanged.
//@ a program
M40_API m40_status m40_program_exchange(m40_program* program, void* memory, uint64_t n_bytes, const m40_inbox* inboxes, uint32_t n_inboxes, m40_error* error);
// The executors of steps of 1, 2, ... n decode rows; M40_EXECUTOR_AUTO where none is chosen yet. why: a string of up to
// why_bytes, zero-terminated: why a persistent kernel runs none of the steps, or not all that the program has had. It
// is empty where nothing rules that kernel out.
//@ a program
M40_API m40_status m40_program_executors(m40_program* program, uint32_t* executors, uint32_t n, char* why, uint32_t why_bytes, m40_error* error);
// A buffer's first n_bytes, for tests of single operations and for reading what a program computed.
//@ a buffer, may wait
M40_API m40_status m40_buffer_write(m40_program* program, uint32_t buffer, const void* data, uint64_t n_bytes, m40_error* error);
//@ a buffer, may wait
M40_API m40_status m40_buffer_read(m40_program* program, uint32_t buffer, void* data, uint64_t n_bytes, m40_error* error);

// ---- steps ------------------------------------------------------------------------------------------

// One step's input is one block of memory: this header, then the arrays that it points to by their offsets in bytes
// from the block's start (multiples of 4). Tokens of one sequence are adjacent, in rising positions, and each attends
// to those before it. A row is a token of the step. The first n_decode rows are decode rows; a sequence's are at
// consecutive positions. Their results depend neither on the rest of the step nor on how many of a sequence's rows it
// has. The others are chunks of prompts; their results do not depend on the chunks' sizes. All of a sequence's rows in
// a step are of one kind. For each sequence and group of the cache, the block table lists the KV blocks of its tokens,
// kv_block_tokens each, from the first one on. The step reads the entries of the blocks that its tokens are written to.
// It also reads those that the tokens attend to in any layer of the group, by the windows of the program's attention
// operations. All other entries may be M40_NONE. For each sequence, `states` has the slot to read its states from,
// M40_NONE for a new sequence, and the slot to write them to after the sequence's last token in this step. The two may
// be one. No two sequences write one slot, and none reads a slot that another writes. The step reads `states` for
// sequences with tokens in it, where the program has an operation with a state. A step that fails may have written the
// slots.
typedef struct m40_step_header {
  uint32_t n_tokens;
  uint32_t n_sequences;
  uint32_t n_outputs;
  uint32_t n_decode;
  uint32_t kv_block_stride;      // entries of the block table for a sequence and group
  uint32_t tokens;           // -> int32 [n_tokens]
  uint32_t positions;        // -> uint32 [n_tokens]
  uint32_t sequences;        // -> uint32 [n_tokens]: rows of the block table
  uint32_t kv_block_table;       // -> uint32 [n_sequences, n_groups, kv_block_stride]
  uint32_t outputs;          // -> m40_output [n_outputs], their rows rising
  uint32_t sampling;         // -> m40_sampling [n_outputs]; ignored for other kinds than sample
  uint32_t token_counts;     // -> m40_token_count [n_token_counts]
  uint32_t n_token_counts;
  uint32_t token_biases;     // -> m40_token_bias [n_token_biases]
  uint32_t n_token_biases;
  uint32_t masks;            // -> uint32 [n_masks, ceil(n_vocab / 32)]: bit set: the token is allowed
  uint32_t n_masks;
  uint32_t states;           // -> uint32 [n_sequences, 2]: the slots that states are read from and written to
  // GPU only: the share, in thousandths, of the thread blocks that fit on the device's multiprocessors that long
  // prefill launches may take, so that another lane's launches find room. 1 to 1000; 0: all of them. No bit depends on
  // it.
  uint32_t prefill_share;
} m40_step_header;

typedef uint32_t m40_output_kind;
enum {
  M40_OUTPUT_SAMPLE = 0,  // a sampled token
  M40_OUTPUT_LOGITS = 1,  // the logits, [n_vocab]
  M40_OUTPUT_HIDDEN = 2,  // what the logits are made from, [hidden_columns] of the sample operation
};

// What a step gives for a row. In a program without a sample operation, outputs are of kind sample and give nothing:
// they are rows of its buffers of M40_ROWS_OUTPUTS.
typedef struct m40_output {
  uint32_t row;
  m40_output_kind kind;
} m40_output;

// How one output samples its token from its logits l:
// 1. each token of its counts: l = l > 0 ? l / repetition_penalty : l * repetition_penalty, then
//    l -= count * frequency_penalty + (count > 0) * presence_penalty;
// 2. l += bias; l = -inf where the mask or a bias of -inf forbids the token;
// 3. temperature 0: the largest, the lowest id where equal. Else p = softmax(l / temperature);
//    tokens with p < min_p * max(p) go, then all but the top_k likeliest (0: no limit), then the likeliest
//    are kept until their renormalised sum reaches top_p (at least one);
// 4. one of the kept by the uniform random number of (seed, stream, counter): Philox4x32-10 (Salmon et al. 2011)
//    with key = seed and counter = (counter, stream, 0, 0), its first word / 2^32, walked from the likeliest on.
//
// Sampling is shaped where the temperature is above 0 and one of typical_p < 1, xtc_probability > 0, dynatemp_range > 0
// and mirostat 2 is asked for. Then these replace 3 and 4, each for the tokens that the previous one has left, at least
// one:
// a. p = softmax(l / T), T the temperature, or 1 where dynatemp_range > 0: a dynamic one acts last. min_p and top_k as
//    in 3;
// b. typical_p < 1 (locally typical sampling, Meister et al. 2022): with the surprise -ln p of a token and the entropy
//    H = sum of p * -ln p, tokens are kept in the order of |surprise - H|, in whole 2^-24ths (the lower id where
//    equal), until their sum reaches typical_p;
// c. top_p as in 3;
// d. XTC ("exclude top choices", Weidmann 2024): if Philox's second word / 2^32 is below xtc_probability, of the tokens
//    with p >= xtc_threshold all but the least likely go (of equal ones the highest id stays);
// e. dynatemp_range > 0: with the entropy H at temperature 1 of the n tokens that are left and h = (H / ln
//    n)^dynatemp_exponent (0 where n is 1), p = softmax(l / T) with T going from max(0, temperature - range) for h = 0
//    to temperature + range for h = 1. T = 0: the likeliest;
// f. mirostat 2 (Basu et al. 2021, in its second version): tokens whose surprise -log2 p is above mirostat_mu go, but
//    the likeliest. The caller gets the surprise of the sampled token, among those that are kept, to adapt mu;
// g. sampling, as in 4. There, p is a whole number of 2^-41sts of the likeliest's p; tokens of less than a half of one
//    go, and sums are of these numbers. cuda/program/sample_weights.h has the arithmetic, which gives every library the
//    same token.
//
// Log-probabilities are those of the model: log softmax of the logits before any of this.
typedef struct m40_sampling {
  float temperature;
  float top_p;
  float min_p;
  float repetition_penalty;
  float frequency_penalty;
  float presence_penalty;
  uint32_t top_k;
  uint32_t n_top_logprobs;     // 0 .. M40_MAX_TOP_LOGPROBS
  uint32_t seed_low;
  uint32_t seed_high;
  uint32_t counter;
  uint32_t stream;             // streams of one seed are independent of each other
  uint32_t mask;               // index, or M40_NONE
  uint32_t first_token_count;
  uint32_t n_token_counts;
  uint32_t first_token_bias;
  uint32_t n_token_biases;
  float typical_p;             // above 0; 1: all
  float xtc_probability;       // 0: never
  float xtc_threshold;
  float dynatemp_range;        // 0: the temperature is what it is
  float dynatemp_exponent;     // above 0
  uint32_t mirostat;           // 2, or 0 for none
  float mirostat_mu;           // bits
} m40_sampling;

// A token of the prompt or of the output, and how often the output has it.
typedef struct m40_token_count {
  int32_t token;
  uint32_t count;
} m40_token_count;

typedef struct m40_token_bias {
  int32_t token;
  float bias;  // finite, or -infinity
} m40_token_bias;

typedef struct m40_sample {
  int32_t token;
  float logprob;
  int32_t top_tokens[M40_MAX_TOP_LOGPROBS];   // largest first; the first n_top_logprobs are filled
  float top_logprobs[M40_MAX_TOP_LOGPROBS];
  float surprise;                             // with mirostat, of the token: bits; else 0
} m40_sample;

typedef uint32_t m40_output_status;
enum {
  M40_OUTPUT_OK = 0,
  M40_OUTPUT_NOT_FINITE = 1,       // the output, or the logits it is sampled from, have a value that is not finite
  M40_OUTPUT_NOTHING_ALLOWED = 2,  // its mask and biases forbid every token
  M40_OUTPUT_ENDED = 3,            // of runs alone: its row had ended in an earlier step, and nothing was sampled
};

// What an output gave. A failed output neither fails the step nor changes a bit of other sequences' outputs.
typedef struct m40_result {
  m40_output_kind kind;      // as it was asked for
  m40_output_status status;  // in steps never M40_OUTPUT_ENDED
  m40_sample sample;         // of kind sample, where the status is OK; else its token is -1
} m40_result;

// Runs the program over the batch in the block, any kinds of outputs. results: [n_outputs] where the program has a
// sample operation, else NULL. values: those of the outputs of kind logits and hidden, one after the other in the order
// of the outputs, for any status; NULL where there is none of them. It fails where the block is wrong or the device
// failed.
//@ a step, waits
M40_API m40_status m40_step(m40_program* program, const void* block, uint64_t block_bytes, m40_result* results, uint32_t n_results, float* values, uint64_t n_values, m40_error* error);

// The same in three calls, for outputs that are all samples and a thread that has other work while the device computes.
// begin checks the block and starts the step. wait returns when the step is done, or early enough to wake a sleeping
// thread in time; another thread may call it. finish waits for the rest, a few milliseconds at most, and gives the
// results. Where that is not enough, finish returns M40_NOT_READY: call wait again, then finish. Until then the caller
// changes neither the block nor the program's buffers. A step is over when wait or finish fails in any other way. A
// begin that fails starts no step; a begin during a step leaves that step unchanged.
//@ a step, lane steps
M40_API m40_status m40_step_begin(m40_program* program, const void* block, uint64_t block_bytes, m40_error* error);
//@ a step, lane steps, waits
M40_API m40_status m40_step_wait(m40_program* program, m40_error* error);
//@ a step, lane steps
M40_API m40_status m40_step_finish(m40_program* program, m40_result* results, uint32_t n_results, m40_error* error);

// Runs the step as m40_step does, and gives the time of each operation instead of results. times: [n_times]
// microseconds by the device's own clock, one for each of the program's operations; -1 where the previous operation
// computed it too. Operations are launched one by one with an event between them, which costs a microsecond or two
// each: short ones take longer here than in m40_step. Where it fails, times are unchanged.
//@ a step, waits
M40_API m40_status m40_step_profile(m40_program* program, const void* block, uint64_t block_bytes, float* times, uint32_t n_times, m40_error* error);

// ---- runs ---------------------------------------------------------------------------------------------

// A run is several steps of the same sequences, one after the other without the host. Between two of them, the device
// makes each sampled token the next step's input: the token, its position, the counter of its random numbers. It also
// counts the sampled tokens and checks for tokens that end a row. The rest of the block is the same in all steps. A run
// samples what single steps would sample, bit for bit.
//
// The block is a step's with decode rows alone, one a sequence, with an output of kind sample each. The block table has
// the KV blocks of all steps: a row is computed up to its first position + its n_tokens - 1, or n_steps - 1 where that
// is less. Counts of tokens and mirostat change with each token: blocks with these are refused.
//
// The first step reads and writes the slots that the block names; each later step reads and writes the slot that the
// previous one wrote. A row may write another slot from one of its steps on; the earlier slot then keeps that step's
// state.
//
// All cards of a program with exchanges need the same runs, as they need the same steps. Card 0 decides by its ring how
// many steps a run has. The others compute as many and wait for room in their own rings.
typedef struct m40_run_header {
  uint32_t n_steps;       // at most; at least 1. There are no more steps than the longest row samples tokens; of a
                          // program with states, than the shortest row does
  uint32_t rows;          // -> m40_run_row [n_tokens of the step's block], in bytes from this header's start
  uint32_t end_tokens;    // -> int32 [n_end_tokens]
  uint32_t n_end_tokens;  // at most M40_MAX_RUN_END_TOKENS
} m40_run_header;

// When a row ends, and where its states are. A row that has ended takes part in the run's later steps, but its samples
// are not given. Each later step computes the row's last step again, to the same bits. States cannot be computed twice:
// where the program has them, the row continues instead. Then its K and V after its end and its state have no meaning;
// the slots that it has left keep theirs.
typedef struct m40_run_row {
  uint32_t n_tokens;         // that it samples at most; at least 1
  uint32_t first_end_token;  // of those after which it samples no more
  uint32_t n_end_tokens;
  // Used where the program has states: from the step later_from on, at least 1, they are written to later_slot, which
  // no row names for anything else; M40_NONE: they stay.
  uint32_t later_slot;
  uint32_t later_from;
} m40_run_row;

// A run gives its results through a ring: this header, then m40_ring_entry [n_entries], a power of two. It is in memory
// of m40_host_alloc, a channel's included, starts at a multiple of 64 and is all 0 before its first run. Entries are
// numbered across runs, modulo 2^32: the first one of a ring is 0, and number i is in place i % n_entries. A step has
// one for each row, in their order. The ring has at least two for each row of a run.
//
// An entry is complete where its `number` field is its number + 1. That field is written last: a reader that finds it
// so (with acquire semantics) finds the rest written. An entry stays until the host has counted it in `read`. The
// library begins no step without room for its entries; a run whose next step finds none is over.
typedef struct m40_ring {
  uint32_t read;      // the host's: entries that it has read. Between two runs, it has read all of them
  uint32_t stop;      // the host's: not 0: no further step begins. A queued step is still computed, and counts
  uint32_t host_reserved[14];
  uint32_t over;      // the library's: 1 where the run was over when m40_run_wait returned
  uint32_t device_reserved[15];
} m40_ring;

typedef struct m40_ring_entry {
  uint32_t number;    // of the entry, and 1; written last
  uint32_t step;      // of the run, from 0
  uint32_t row;
  m40_output_status status;
  uint32_t goes_on;   // 1: the row samples another token in the next step, if there is one
  m40_sample sample;  // where the status is OK
} m40_ring_entry;

// Begins a run. run: an m40_run_header and what it points to. The ring is the library's until the run is over; the host
// sets `stop` to 0 first. A run counts as a step that has begun. A begin that fails begins none.
//@ a run, lane steps, may wait
M40_API m40_status m40_run_begin(m40_program* program, const void* block, uint64_t block_bytes, const void* run, uint64_t run_bytes, void* ring, uint64_t ring_bytes, m40_error* error);
// Sleeps until the ring has an entry that the host has not read, or the run is over, which the ring says. Another
// thread may call it. It fails where the run has failed; the run is then over, and its complete entries count.
//@ a run, lane steps, waits
M40_API m40_status m40_run_wait(m40_program* program, m40_error* error);

// ---- the device in a process of its own ---------------------------------------------------------------

// A channel is a process that serves the functions above, and memory that it shares with this process. A signal, a stop
// (SIGSTOP) or a hung device there ends its calls with M40_DEVICE_LOST and has no other effect here. The library in
// this process never touches the device. Calls of one context are made one after the other; m40_get_device_state does
// not wait for them.
typedef struct m40_channel m40_channel;

// A function's arguments, in the order of its parameters, without the error: a number, a handle that the channel gave,
// or the address and size of memory (0, 0 for NULL).
typedef struct m40_channel_argument {
  uint64_t value;
  uint64_t n_bytes;  // of memory; else 0
} m40_channel_argument;

// Starts a process. command: a program and its arguments, each zero-terminated, n_bytes in all. It has to call
// m40_channel_serve(3, 4) of the same library. The keyboard's signals and SIGTERM are blocked in it: it ends when this
// process does, for any reason, or on request.
//@ here
M40_API m40_status m40_channel_open(const char* command, uint64_t n_bytes, m40_channel** channel, m40_error* error);
// The id of the process.
//@ here
M40_API int32_t m40_channel_process(const m40_channel* channel);
// Fails with M40_DEVICE_LOST, and the reason, where the process has ended.
//@ here
M40_API m40_status m40_channel_check(m40_channel* channel, m40_error* error);
// A function of this header by its name ("m40_step"), or M40_NONE where there is none that a channel serves.
//@ here
M40_API uint32_t m40_channel_function(const char* name);
// Calls a function there. value: what a function gives that is no status; may be NULL. Memory of m40_host_alloc is
// shared; other memory is copied. m40_step_begin and m40_run_begin return at once: m40_step_wait and m40_run_wait
// report their failure. Any thread may call.
//@ here
M40_API m40_status m40_channel_call(m40_channel* channel, uint32_t function, const m40_channel_argument* arguments, uint32_t n_arguments, uint64_t* value, m40_error* error);
// Ends the process, by SIGKILL after patience_ms, and frees the channel with all host memory. It fails, and frees
// nothing, where SIGKILL does not end the process: the library must stay loaded then.
//@ here, waits
M40_API m40_status m40_channel_close(m40_channel* channel, uint32_t patience_ms, m40_error* error);
// The other end, in the process that was started: serves until it is asked to end. memory and socket: file descriptors.
//@ here
M40_API m40_status m40_channel_serve(int32_t memory, int32_t socket, m40_error* error);

#ifdef __cplusplus
}
#endif
#endif
