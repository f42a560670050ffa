// Written by `deno task abi` out of cuda/include/m40.h: change that, not this.
#define M40_CHANNEL_FUNCTIONS(FUNCTION) \
  FUNCTION(kDeviceCount, m40_device_count, &invoke<&m40_device_count>, "the devices", kCalls, out<uint32_t>()) \
  FUNCTION(kGetDeviceInfo, m40_get_device_info, &invoke<&m40_get_device_info>, "a device", kCalls, number32, out<m40_device_info>()) \
  FUNCTION(kGetDeviceState, m40_get_device_state, &invoke<&m40_get_device_state>, "a device's state", kState, number32, out<m40_device_state>()) \
  FUNCTION(kGetManagement, m40_get_management, &invoke<&m40_get_management>, "the driver", kState, out<m40_management>()) \
  FUNCTION(kGetDeviceHealth, m40_get_device_health, &invoke<&m40_get_device_health>, "a device's state", kState, number32, out<m40_device_health>()) \
  FUNCTION(kSetPowerLimit, m40_set_power_limit, &invoke<&m40_set_power_limit>, "the power limit", kState, number32, number32, out<m40_power_limit>()) \
  FUNCTION(kContextCreate, m40_context_create, &invoke<&m40_context_create>, "a context", kCalls, in<m40_context_options>(), made(Handle::kContext)) \
  FUNCTION(kContextDestroy, m40_context_destroy, &invoke<&m40_context_destroy>, "a context", kCalls, context) \
  FUNCTION(kArenaCreate, m40_arena_create, &invoke<&m40_arena_create>, "an arena", kCalls, context, number64, made(Handle::kArena)) \
  FUNCTION(kArenaDestroy, m40_arena_destroy, &invoke<&m40_arena_destroy>, "an arena", kCalls, arena) \
  FUNCTION(kArenaUsedBytes, m40_arena_used_bytes, &invoke<&m40_arena_used_bytes>, "an arena", kCalls, arena) \
  FUNCTION(kHostAlloc, m40_host_alloc, &invoke<&m40_host_alloc>, "host memory", kCalls, context, number64, made({})) \
  FUNCTION(kHostFree, m40_host_free, &invoke<&m40_host_free>, "host memory", kCalls, context, number64) \
  FUNCTION(kHostShare, m40_host_share, nullptr, "host memory", kCalls, context, number64, made({})) \
  FUNCTION(kTensorBytes, m40_tensor_bytes, &invoke<&m40_tensor_bytes>, "a tensor", kCalls, context, in<m40_tensor_desc>(), out<uint64_t>()) \
  FUNCTION(kTensorFromFile, m40_tensor_from_file, &invoke<&m40_tensor_from_file>, "an upload", kCalls, arena, in<m40_tensor_desc>(), text, number64, out<uint32_t>()) \
  FUNCTION(kTensorFromMemory, m40_tensor_from_memory, &invoke<&m40_tensor_from_memory>, "an upload", kCalls, arena, in<m40_tensor_desc>(), in<uint8_t>(3), number64, out<uint32_t>()) \
  FUNCTION(kUploadFinish, m40_upload_finish, &invoke<&m40_upload_finish>, "an upload", kCalls, context) \
  FUNCTION(kTensorRead, m40_tensor_read, &invoke<&m40_tensor_read>, "a tensor", kCalls, context, number32, number64, number64, out<float>(5), number64) \
  FUNCTION(kCacheBytes, m40_cache_bytes, &invoke<&m40_cache_bytes>, "a KV cache", kCalls, context, in<m40_cache_desc>(), out<uint64_t>(), out<uint64_t>(), out<uint64_t>()) \
  FUNCTION(kCacheCreate, m40_cache_create, &invoke<&m40_cache_create>, "a KV cache", kCalls, arena, in<m40_cache_desc>(), made(Handle::kCache)) \
  FUNCTION(kCacheCopyKvBlocks, m40_cache_copy_kv_blocks, &invoke<&m40_cache_copy_kv_blocks>, "KV blocks of the KV cache", kCalls, cache, in<uint32_t>(3), in<uint32_t>(3), number32) \
  FUNCTION(kCacheSaveKvBlocks, m40_cache_save_kv_blocks, &invoke<&m40_cache_save_kv_blocks>, "KV blocks of the KV cache", kCalls, cache, in<uint32_t>(2), number32, out<uint8_t>(4), number64) \
  FUNCTION(kCacheRestoreKvBlocks, m40_cache_restore_kv_blocks, &invoke<&m40_cache_restore_kv_blocks>, "KV blocks of the KV cache", kCalls, cache, in<uint32_t>(2), number32, in<uint8_t>(4), number64) \
  FUNCTION(kCacheSaveSlots, m40_cache_save_slots, &invoke<&m40_cache_save_slots>, "slots of states", kCalls, cache, in<uint32_t>(2), number32, out<uint8_t>(4), number64) \
  FUNCTION(kCacheRestoreSlots, m40_cache_restore_slots, &invoke<&m40_cache_restore_slots>, "slots of states", kCalls, cache, in<uint32_t>(2), number32, in<uint8_t>(4), number64) \
  FUNCTION(kProgramBytes, m40_program_bytes, &invoke<&m40_program_bytes>, "a program", kCalls, context, in<m40_limits>(), in<m40_cache_desc>(), in<m40_buffer_desc>(4), number32, in<m40_op>(6), number32, out<uint64_t>()) \
  FUNCTION(kProgramCreate, m40_program_create, &invoke<&m40_program_create>, "a program", kCalls, arena, in<m40_limits>(), cache, in<m40_buffer_desc>(4), number32, in<m40_op>(6), number32, made(Handle::kProgram)) \
  FUNCTION(kProgramDestroy, m40_program_destroy, &invoke<&m40_program_destroy>, "a program", kCalls, program) \
  FUNCTION(kProgramExchangeBytes, m40_program_exchange_bytes, &invoke<&m40_program_exchange_bytes>, "a program", kCalls, program, out<uint64_t>()) \
  FUNCTION(kProgramInbox, m40_program_inbox, &invoke<&m40_program_inbox>, "a program", kCalls, program, out<m40_inbox>()) \
  FUNCTION(kProgramExchange, m40_program_exchange, &invoke<&m40_program_exchange>, "a program", kCalls, program, out<uint8_t>(2), number64, in<m40_inbox>(4), number32) \
  FUNCTION(kProgramExecutors, m40_program_executors, &invoke<&m40_program_executors>, "a program", kCalls, program, out<uint32_t>(2), number32, out<char>(4), number32) \
  FUNCTION(kBufferWrite, m40_buffer_write, &invoke<&m40_buffer_write>, "a buffer", kCalls, program, number32, in<uint8_t>(3), number64) \
  FUNCTION(kBufferRead, m40_buffer_read, &invoke<&m40_buffer_read>, "a buffer", kCalls, program, number32, out<uint8_t>(3), number64) \
  FUNCTION(kStep, m40_step, &invoke<&m40_step>, "a step", kCalls, program, in<uint8_t>(2), number64, out<m40_result>(4), number32, out<float>(6), number64) \
  FUNCTION(kStepBegin, m40_step_begin, &invoke<&m40_step_begin>, "a step", kSteps, program, in<uint8_t>(2), number64) \
  FUNCTION(kStepWait, m40_step_wait, &invoke<&m40_step_wait>, "a step", kSteps, program) \
  FUNCTION(kStepFinish, m40_step_finish, &invoke<&m40_step_finish>, "a step", kSteps, program, out<m40_result>(2), number32) \
  FUNCTION(kStepProfile, m40_step_profile, &invoke<&m40_step_profile>, "a step", kCalls, program, in<uint8_t>(2), number64, out<float>(4), number32) \
  FUNCTION(kRunBegin, m40_run_begin, &invoke<&m40_run_begin>, "a run", kSteps, program, in<uint8_t>(2), number64, in<uint8_t>(4), number64, out<uint8_t>(6), number64) \
  FUNCTION(kRunWait, m40_run_wait, &invoke<&m40_run_wait>, "a run", kSteps, program)
