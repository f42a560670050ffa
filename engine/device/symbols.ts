/**
 * The functions of cuda/include/m40.h for `Deno.dlopen`, each beside the C signature that it mirrors.
 *
 * @module
 */

/** The symbol table of a kernel library. */
export const SYMBOLS = {
  // uint32_t m40_abi_version(void)
  m40_abi_version: { parameters: [], result: "u32" },
  // const char* m40_backend(void)
  m40_backend: { parameters: [], result: "pointer" },
  // const char* m40_layout(void)
  m40_layout: { parameters: [], result: "pointer" },
  // const char* m40_build_info(void)
  m40_build_info: { parameters: [], result: "pointer" },

  // m40_status m40_device_count(uint32_t* n_devices, m40_error*)
  m40_device_count: { parameters: ["buffer", "buffer"], result: "i32" },
  // m40_status m40_get_device_info(uint32_t device, m40_device_info*, m40_error*)
  m40_get_device_info: { parameters: ["u32", "buffer", "buffer"], result: "i32" },
  // m40_status m40_get_device_state(uint32_t device, m40_device_state*, m40_error*)
  m40_get_device_state: {
    parameters: ["u32", "buffer", "buffer"],
    result: "i32",
    nonblocking: true,
  },
  // m40_status m40_get_management(m40_management*, m40_error*)
  m40_get_management: { parameters: ["buffer", "buffer"], result: "i32", nonblocking: true },
  // m40_status m40_get_device_health(uint32_t device, m40_device_health*, m40_error*)
  m40_get_device_health: {
    parameters: ["u32", "buffer", "buffer"],
    result: "i32",
    nonblocking: true,
  },

  // m40_status m40_set_power_limit(uint32_t device, uint32_t milliwatts, m40_power_limit*, m40_error*)
  m40_set_power_limit: {
    parameters: ["u32", "u32", "buffer", "buffer"],
    result: "i32",
    nonblocking: true,
  },

  // m40_status m40_context_create(const m40_context_options*, m40_context**, m40_error*)
  m40_context_create: { parameters: ["buffer", "buffer", "buffer"], result: "i32" },
  // void m40_context_destroy(m40_context*)
  m40_context_destroy: { parameters: ["pointer"], result: "void" },
  // m40_status m40_arena_create(m40_context*, uint64_t arena_bytes, m40_arena**, m40_error*)
  m40_arena_create: { parameters: ["pointer", "u64", "buffer", "buffer"], result: "i32" },
  // void m40_arena_destroy(m40_arena*)
  m40_arena_destroy: { parameters: ["pointer"], result: "void" },
  // uint64_t m40_arena_used_bytes(const m40_arena*)
  m40_arena_used_bytes: { parameters: ["pointer"], result: "u64" },
  // m40_status m40_host_alloc(m40_context*, uint64_t n_bytes, void** memory, m40_error*)
  m40_host_alloc: { parameters: ["pointer", "u64", "buffer", "buffer"], result: "i32" },
  // void m40_host_free(m40_context*, void* memory)
  m40_host_free: { parameters: ["pointer", "pointer"], result: "void" },

  // m40_status m40_shared_create(uint64_t n_bytes, m40_shared**, m40_error*)
  m40_shared_create: { parameters: ["u64", "buffer", "buffer"], result: "i32" },
  // void m40_shared_destroy(m40_shared*)
  m40_shared_destroy: { parameters: ["pointer"], result: "void" },
  // m40_status m40_host_share(m40_context*, const m40_shared*, void** memory, m40_error*)
  m40_host_share: { parameters: ["pointer", "pointer", "buffer", "buffer"], result: "i32" },

  // m40_status m40_tensor_bytes(m40_context*, const m40_tensor_desc*, uint64_t* n_bytes, m40_error*)
  m40_tensor_bytes: { parameters: ["pointer", "buffer", "buffer", "buffer"], result: "i32" },
  // m40_status m40_tensor_from_file(m40_arena*, const m40_tensor_desc*, const char* path,
  //   uint64_t offset, uint32_t* tensor, m40_error*)
  m40_tensor_from_file: {
    parameters: ["pointer", "buffer", "buffer", "u64", "buffer", "buffer"],
    result: "i32",
    nonblocking: true,
  },
  // m40_status m40_tensor_from_memory(m40_arena*, const m40_tensor_desc*, const void* data,
  //   uint64_t n_bytes, uint32_t* tensor, m40_error*)
  m40_tensor_from_memory: {
    parameters: ["pointer", "buffer", "buffer", "u64", "buffer", "buffer"],
    result: "i32",
  },
  // m40_status m40_upload_finish(m40_context*, m40_error*)
  m40_upload_finish: { parameters: ["pointer", "buffer"], result: "i32", nonblocking: true },
  // m40_status m40_tensor_read(m40_context*, uint32_t tensor, uint64_t first_row, uint64_t n_rows,
  //   float* values, uint64_t n_values, m40_error*)
  m40_tensor_read: {
    parameters: ["pointer", "u32", "u64", "u64", "buffer", "u64", "buffer"],
    result: "i32",
  },

  // m40_status m40_cache_bytes(m40_context*, const m40_cache_desc*, uint64_t* n_bytes,
  //   uint64_t* page_bytes, uint64_t* slot_bytes, m40_error*)
  m40_cache_bytes: {
    parameters: ["pointer", "buffer", "buffer", "buffer", "buffer", "buffer"],
    result: "i32",
  },
  // m40_status m40_cache_create(m40_arena*, const m40_cache_desc*, m40_cache**, m40_error*)
  m40_cache_create: { parameters: ["pointer", "buffer", "buffer", "buffer"], result: "i32" },
  // m40_status m40_cache_copy_pages(m40_cache*, const uint32_t* from, const uint32_t* to,
  //   uint32_t n_pages, m40_error*)
  m40_cache_copy_pages: {
    parameters: ["pointer", "buffer", "buffer", "u32", "buffer"],
    result: "i32",
    nonblocking: true,
  },
  // m40_status m40_cache_save_pages(m40_cache*, const uint32_t* pages, uint32_t n_pages,
  //   void* memory, uint64_t n_bytes, m40_error*)
  m40_cache_save_pages: {
    parameters: ["pointer", "buffer", "u32", "buffer", "u64", "buffer"],
    result: "i32",
    nonblocking: true,
  },
  // m40_status m40_cache_restore_pages(m40_cache*, const uint32_t* pages, uint32_t n_pages,
  //   const void* memory, uint64_t n_bytes, m40_error*)
  m40_cache_restore_pages: {
    parameters: ["pointer", "buffer", "u32", "buffer", "u64", "buffer"],
    result: "i32",
    nonblocking: true,
  },
  // m40_status m40_cache_save_slots(m40_cache*, const uint32_t* slots, uint32_t n_slots,
  //   void* memory, uint64_t n_bytes, m40_error*)
  m40_cache_save_slots: {
    parameters: ["pointer", "buffer", "u32", "buffer", "u64", "buffer"],
    result: "i32",
    nonblocking: true,
  },
  // m40_status m40_cache_restore_slots(m40_cache*, const uint32_t* slots, uint32_t n_slots,
  //   const void* memory, uint64_t n_bytes, m40_error*)
  m40_cache_restore_slots: {
    parameters: ["pointer", "buffer", "u32", "buffer", "u64", "buffer"],
    result: "i32",
    nonblocking: true,
  },

  // m40_status m40_program_bytes(m40_context*, const m40_limits*, const m40_cache_desc*,
  //   const m40_buffer_desc*, uint32_t n_buffers, const m40_op*, uint32_t n_ops, uint64_t* n_bytes,
  //   m40_error*)
  m40_program_bytes: {
    parameters: [
      "pointer",
      "buffer",
      "buffer",
      "buffer",
      "u32",
      "buffer",
      "u32",
      "buffer",
      "buffer",
    ],
    result: "i32",
  },
  // m40_status m40_program_create(m40_arena*, const m40_limits*, m40_cache*, const m40_buffer_desc*,
  //   uint32_t n_buffers, const m40_op*, uint32_t n_ops, m40_program**, m40_error*)
  m40_program_create: {
    parameters: [
      "pointer",
      "buffer",
      "pointer",
      "buffer",
      "u32",
      "buffer",
      "u32",
      "buffer",
      "buffer",
    ],
    result: "i32",
  },
  // void m40_program_destroy(m40_program*)
  m40_program_destroy: { parameters: ["pointer"], result: "void" },
  // m40_status m40_program_exchange_bytes(m40_program*, uint64_t* n_bytes, m40_error*)
  m40_program_exchange_bytes: { parameters: ["pointer", "buffer", "buffer"], result: "i32" },
  // m40_status m40_program_inbox(m40_program*, m40_inbox*, m40_error*)
  m40_program_inbox: { parameters: ["pointer", "buffer", "buffer"], result: "i32" },
  // m40_status m40_program_exchange(m40_program*, void* memory, uint64_t n_bytes, const m40_inbox* inboxes, uint32_t n_inboxes,
  //   m40_error*)
  m40_program_exchange: {
    parameters: ["pointer", "buffer", "u64", "buffer", "u32", "buffer"],
    result: "i32",
  },
  // m40_status m40_program_executors(m40_program*, uint32_t* executors, uint32_t n, char* why, uint32_t why_bytes, m40_error*)
  m40_program_executors: {
    parameters: ["pointer", "buffer", "u32", "buffer", "u32", "buffer"],
    result: "i32",
  },
  // m40_status m40_buffer_write(m40_program*, uint32_t buffer, const void* data, uint64_t n_bytes,
  //   m40_error*)
  m40_buffer_write: { parameters: ["pointer", "u32", "buffer", "u64", "buffer"], result: "i32" },
  // m40_status m40_buffer_read(m40_program*, uint32_t buffer, void* data, uint64_t n_bytes, m40_error*)
  m40_buffer_read: { parameters: ["pointer", "u32", "buffer", "u64", "buffer"], result: "i32" },

  // m40_status m40_step(m40_program*, const void* block, uint64_t block_bytes, m40_result* results,
  //   uint32_t n_results, float* values, uint64_t n_values, m40_error*)
  m40_step: {
    parameters: ["pointer", "buffer", "u64", "buffer", "u32", "buffer", "u64", "buffer"],
    result: "i32",
    nonblocking: true,
  },
  // m40_status m40_step_profile(m40_program*, const void* block, uint64_t block_bytes, float* times,
  //   uint32_t n_times, m40_error*)
  m40_step_profile: {
    parameters: ["pointer", "buffer", "u64", "buffer", "u32", "buffer"],
    result: "i32",
    nonblocking: true,
  },
  // m40_status m40_step_begin(m40_program*, const void* block, uint64_t block_bytes, m40_error*)
  m40_step_begin: { parameters: ["pointer", "buffer", "u64", "buffer"], result: "i32" },
  // m40_status m40_step_wait(m40_program*, m40_error*)
  m40_step_wait: { parameters: ["pointer", "buffer"], result: "i32", nonblocking: true },
  // m40_status m40_step_finish(m40_program*, m40_result* results, uint32_t n_results, m40_error*)
  m40_step_finish: { parameters: ["pointer", "buffer", "u32", "buffer"], result: "i32" },

  // m40_status m40_run_begin(m40_program*, const void* block, uint64_t block_bytes, const void* run,
  //   uint64_t run_bytes, void* ring, uint64_t ring_bytes, m40_error*)
  m40_run_begin: {
    parameters: ["pointer", "buffer", "u64", "buffer", "u64", "buffer", "u64", "buffer"],
    result: "i32",
  },
  // m40_status m40_run_wait(m40_program*, m40_error*)
  m40_run_wait: { parameters: ["pointer", "buffer"], result: "i32", nonblocking: true },
} as const satisfies Deno.ForeignLibraryInterface;

/** Functions of {@link SYMBOLS} that can take long, by what they are handed or wait for: the same off the event loop. */
export const OFF_LOOP_SYMBOLS = {
  m40_buffer_write_async: {
    ...SYMBOLS.m40_buffer_write,
    name: "m40_buffer_write",
    nonblocking: true,
  },
  m40_buffer_read_async: {
    ...SYMBOLS.m40_buffer_read,
    name: "m40_buffer_read",
    nonblocking: true,
  },
  m40_run_begin_async: { ...SYMBOLS.m40_run_begin, name: "m40_run_begin", nonblocking: true },
} as const satisfies Deno.ForeignLibraryInterface;

/** What a library is opened with. */
export const ALL_SYMBOLS = { ...SYMBOLS, ...OFF_LOOP_SYMBOLS } as const;

/** The functions that reach a device in a process of its own. */
export const CHANNEL_SYMBOLS = {
  // m40_status m40_channel_open(const char* command, uint64_t n_bytes, m40_channel**, m40_error*)
  m40_channel_open: { parameters: ["buffer", "u64", "buffer", "buffer"], result: "i32" },
  // int32_t m40_channel_process(const m40_channel*)
  m40_channel_process: { parameters: ["pointer"], result: "i32" },
  // m40_status m40_channel_check(m40_channel*, m40_error*)
  m40_channel_check: { parameters: ["pointer", "buffer"], result: "i32" },
  // uint32_t m40_channel_function(const char* name)
  m40_channel_function: { parameters: ["buffer"], result: "u32" },
  // m40_status m40_channel_call(m40_channel*, uint32_t function, const m40_channel_argument*,
  //   uint32_t n_arguments, uint64_t* value, m40_error*)
  m40_channel_call: {
    parameters: ["pointer", "u32", "buffer", "u32", "buffer", "buffer"],
    result: "i32",
  },
  // m40_status m40_channel_close(m40_channel*, uint32_t patience_ms, m40_error*)
  m40_channel_close: {
    parameters: ["pointer", "u32", "buffer"],
    result: "i32",
    nonblocking: true,
  },
  // m40_status m40_channel_serve(int32_t memory, int32_t socket, m40_error*)
  m40_channel_serve: { parameters: ["i32", "i32", "buffer"], result: "i32" },
} as const satisfies Deno.ForeignLibraryInterface;

/** The opened functions. */
export type Symbols = Deno.StaticForeignLibraryInterface<typeof ALL_SYMBOLS>;
