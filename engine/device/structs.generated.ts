// Written by `deno task abi` out of cuda/include/m40.h: change that, not this.
import { Struct } from "./struct.ts";
export const ABI_VERSION = 19;
export const NONE = 0xFFFFFFFF;
export const MAX_MATMUL_WEIGHTS = 3;
export const MAX_TOP_LOGPROBS = 20;
export const MAX_CACHE_LAYERS = 256;
export const MAX_CACHE_GROUPS = 16;
export const MAX_STATES = 256;
export const MAX_RUN_END_TOKENS = 4096;
export const MAX_DEVICE_PROCESSES = 16;
export const MAX_CARDS = 8;
export const Status = {
  ok: 0, invalid_argument: 1, out_of_memory: 2, io: 3, unsupported: 4, device_lost: 5, internal: 6,
  not_ready: 7,
} as const;
export const DeviceKind = { cpu: 0, gpu: 1 } as const;
export const ManagementStatus = {
  ok: 0, missing: 1, no_driver: 2, mismatch: 3, forbidden: 4, failed: 5,
} as const;
export const Throttle = {
  idle: 1, clocks_set: 2, power_limit: 4, hardware: 8, sync_boost: 16, driver_heat: 32,
  hardware_heat: 64, power_brake: 128, display: 256,
} as const;
export const Executor = { auto: 0, launches: 1, graphs: 2, resident: 3 } as const;
export const TensorType = {
  f32: 0, f16: 1, q4_0: 2, q4_1: 3, q5_0: 6, q5_1: 7, q8_0: 8, q2_k: 10, q3_k: 11, q4_k: 12,
  q5_k: 13, q6_k: 14, iq2_xxs: 16, iq2_xs: 17, iq3_xxs: 18, iq1_s: 19, iq4_nl: 20, iq3_s: 21,
  iq2_s: 22, iq4_xs: 23, iq1_m: 29, bf16: 30, tq1_0: 34, tq2_0: 35, mxfp4: 39, nvfp4: 40,
} as const;
export const Rows = { tokens: 0, outputs: 1, experts: 2 } as const;
export const Element = { f32: 0, u32: 1 } as const;
export const OpKind = {
  embed: 1, norm: 2, matmul: 3, rope_store: 4, attention: 5, activation: 6, add: 7, select: 8,
  softcap: 9, route: 10, expert_matmul: 11, expert_sum: 12, sample: 13, head_matmul: 14, conv: 15,
  delta_rule: 16, selective_scan: 17, copy: 18, exchange: 19,
} as const;
export const Norm = { rms: 0, layer: 1 } as const;
export const Rope = { none: 0, interleaved: 1, halves: 2 } as const;
export const Activation = {
  silu: 0, gelu_tanh: 1, gelu_erf: 2, relu: 3, relu_squared: 4, sigmoid: 5, swiglu_clamped: 6,
} as const;
export const HeadNorm = { none: 0, before: 1, after: 2 } as const;
export const Score = { softmax: 0, sigmoid: 1, softmax_chosen: 2 } as const;
export const KHeads = { grouped: 0, cycled: 1 } as const;
export const Arithmetic = { exact: 0, packed: 1 } as const;
export const Lane = { main: 0, prompts: 1 } as const;
export const OutputKind = { sample: 0, logits: 1, hidden: 2 } as const;
export const OutputStatus = { ok: 0, not_finite: 1, nothing_allowed: 2, ended: 3 } as const;
/** The payload of each kind of operation record. */
export const OPS = {
  embed: new Struct("m40_op_embed", {
    output: "u32", table: "u32", position_table: "u32", columns: "u32", scale: "f32",
  }),
  norm: new Struct("m40_op_norm", {
    input: "u32", output: "u32", weight: "u32", bias: "u32", residual: "u32", factor: "u32",
    norm: "u32", columns: "u32", n_groups: "u32", weight_per_group: "u32", input_column: "u32",
    output_column: "u32", epsilon: "f32",
  }),
  matmul: new Struct("m40_op_matmul", {
    input: "u32", output: "u32", residual: "u32", n_weights: "u32", columns: "u32", scale: "f32",
    weight: ["u32", 3], bias: ["u32", 3], factor: ["u32", 3], rows: ["u32", 3],
    output_column: ["u32", 3], arithmetic: "u32",
  }),
  rope_store: new Struct("m40_op_rope_store", {
    q: "u32", kv: "u32", k_column: "u32", v_column: "u32", layer: "u32", n_heads: "u32",
    n_kv_heads: "u32", head_dim: "u32", value_dim: "u32", rope_dim: "u32", rope_offset: "u32",
    rope: "u32", factors: "u32", head_norm: "u32", q_norm: "u32", k_norm: "u32", v_norm: "u32",
    original_context: "u32", temperature_length: "u32", temperature_offset: "u32",
    temperature_scale: "f32", norm_epsilon: "f32", freq_base: "f32", freq_scale: "f32",
    ext_factor: "f32", attention_factor: "f32", beta_fast: "f32", beta_slow: "f32",
  }),
  attention: new Struct("m40_op_attention", {
    q: "u32", output: "u32", sinks: "u32", layer: "u32", n_heads: "u32", n_kv_heads: "u32",
    head_dim: "u32", value_dim: "u32", window: "u32", chunk: "u32", scale: "f32", softcap: "f32",
  }),
  activation: new Struct("m40_op_activation", {
    input: "u32", up: "u32", output: "u32", activation: "u32", gated: "u32", columns: "u32",
    up_column: "u32", alpha: "f32", limit: "f32",
  }),
  add: new Struct("m40_op_add", {
    a: "u32", b: "u32", gate: "u32", output: "u32", columns: "u32",
  }),
  select: new Struct("m40_op_select", { input: "u32", output: "u32", columns: "u32" }),
  softcap: new Struct("m40_op_softcap", {
    input: "u32", output: "u32", columns: "u32", scale: "f32", softcap: "f32",
  }),
  route: new Struct("m40_op_route", {
    input: "u32", experts: "u32", weights: "u32", bias: "u32", n_experts: "u32", n_used: "u32",
    n_shared: "u32", score: "u32", normalise: "u32", n_groups: "u32", n_groups_used: "u32",
    scale: "f32", least_sum: "f32",
  }),
  expert_matmul: new Struct("m40_op_expert_matmul", {
    input: "u32", experts: "u32", output: "u32", weights: "u32", n_weights: "u32", columns: "u32",
    n_used: "u32", n_experts: "u32", n_shared: "u32", weight: ["u32", 2], shared: ["u32", 2],
    bias: ["u32", 2], factor: ["u32", 2], rows: ["u32", 2], output_column: ["u32", 2],
    arithmetic: "u32",
  }),
  expert_sum: new Struct("m40_op_expert_sum", {
    input: "u32", weights: "u32", residual: "u32", output: "u32", columns: "u32", n_used: "u32",
    output_column: "u32", scale: "f32",
  }),
  sample: new Struct("m40_op_sample", {
    logits: "u32", columns: "u32", hidden: "u32", hidden_columns: "u32",
  }),
  head_matmul: new Struct("m40_op_head_matmul", {
    input: "u32", output: "u32", weight: "u32", n_heads: "u32", columns: "u32", rows: "u32",
    input_stride: "u32", output_stride: "u32", copied: "u32",
  }),
  conv: new Struct("m40_op_conv", {
    input: "u32", output: "u32", weight: "u32", bias: "u32", state: "u32", columns: "u32",
    kernel: "u32", activation: "u32", input_column: "u32", factor_column: "u32", gate_column: "u32",
    output_column: "u32",
  }),
  delta_rule: new Struct("m40_op_delta_rule", {
    qkv: "u32", gates: "u32", output: "u32", decay: "u32", a_bias: "u32", state: "u32",
    n_heads: "u32", n_k_heads: "u32", key_dim: "u32", value_dim: "u32", q_column: "u32",
    k_column: "u32", v_column: "u32", a_column: "u32", b_column: "u32", gate_heads: "u32",
    gate_stride: "u32", k_heads: "u32", scale: "f32", epsilon: "f32",
  }),
  selective_scan: new Struct("m40_op_selective_scan", {
    input: "u32", steps: "u32", output: "u32", decay: "u32", skip: "u32", dt_bias: "u32",
    state: "u32", n_heads: "u32", n_groups: "u32", head_dim: "u32", state_dim: "u32",
    x_column: "u32", b_column: "u32", c_column: "u32", dt_column: "u32",
  }),
  copy: new Struct("m40_op_copy", {
    input: "u32", output: "u32", columns: "u32", n_groups: "u32", input_column: "u32",
    input_stride: "u32", output_column: "u32", output_stride: "u32",
  }),
  exchange: new Struct("m40_op_exchange", {
    input: "u32", output: "u32", input_column: "u32", n_cards: "u32", card: "u32",
    bounds: ["u32", 9],
  }),
};
export const ERROR = new Struct("m40_error", { status: "i32", message: ["text", 508] });
export const DEVICE_INFO = new Struct("m40_device_info", {
  name: ["text", 128], memory_bytes: "u64", free_bytes: "u64", compute_capability: "u32",
  multiprocessors: "u32", clock_khz: "u32", memory_clock_khz: "u32", memory_bus_bits: "u32",
  ecc: "u32", driver_version: "u32", kind: "u32", instruction_set: ["text", 32],
  driver: ["text", 32], tile_tokens: ["u32", 4],
});
export const DEVICE_STATE = new Struct("m40_device_state", {
  memory_bytes: "u64", used_bytes: "u64", free_bytes: "u64", energy_millijoules: "u64",
  temperature_celsius: "u32", power_milliwatts: "u32", power_limit_milliwatts: "u32",
  clock_khz: "u32", memory_clock_khz: "u32", utilisation_percent: "u32",
});
export const MANAGEMENT = new Struct("m40_management", {
  status: "u32", code: "u32", n_devices: "u32", reserved: "u32", driver: ["text", 32],
});
export const DEVICE_HEALTH = new Struct("m40_device_health", {
  name: ["text", 96], memory_bytes: "u64", used_bytes: "u64", free_bytes: "u64",
  corrected_errors: "u64", uncorrected_errors: "u64", lifetime_corrected_errors: "u64",
  lifetime_uncorrected_errors: "u64", process_bytes: ["u64", 16], process_id: ["u32", 16],
  n_processes: "u32", code: "u32", cuda_device: "u32", compute_capability: "u32",
  compute_mode: "u32", persistence: "u32", ecc: "u32", ecc_next: "u32", retired_pages: "u32",
  retired_pages_uncorrected: "u32", retirement_pending: "u32", pcie_generation: "u32",
  pcie_width: "u32", pcie_max_generation: "u32", pcie_max_width: "u32", pcie_replays: "u32",
  clock_khz: "u32", max_clock_khz: "u32", set_clock_khz: "u32", memory_clock_khz: "u32",
  max_memory_clock_khz: "u32", throttle: "u32", power_milliwatts: "u32",
  power_limit_milliwatts: "u32", default_power_limit_milliwatts: "u32",
  min_power_limit_milliwatts: "u32", max_power_limit_milliwatts: "u32", temperature_celsius: "u32",
  slowdown_celsius: "u32", shutdown_celsius: "u32",
});
export const POWER_LIMIT = new Struct("m40_power_limit", {
  code: "u32", before_milliwatts: "u32", least_milliwatts: "u32", most_milliwatts: "u32",
});
export const CONTEXT_OPTIONS = new Struct("m40_context_options", {
  device: "u32", n_threads: "u32", executor: "u32", instruction_set: ["text", 32],
});
export const TENSOR_DESC = new Struct("m40_tensor_desc", {
  type: "u32", n_experts: "u32", rows: "u32", columns: "u32", first_row: "u32", whole_rows: "u32",
});
export const CACHE_DESC = new Struct("m40_cache_desc", {
  n_layers: "u32", n_groups: "u32", kv_block_tokens: "u32", n_kv_blocks: "u32", type: "u32",
  n_kv_heads: ["u32", 256], head_dim: ["u32", 256], value_dim: ["u32", 256], group: ["u32", 256],
  n_states: "u32", n_slots: "u32", state_values: ["u32", 256],
});
export const BUFFER_DESC = new Struct("m40_buffer_desc", {
  rows: "u32", rows_factor: "u32", columns: "u32", element: "u32",
});
export const OP = new Struct("m40_op", { kind: "u32", flags: "u32", payload: ["u32", 30] });
export const LIMITS = new Struct("m40_limits", {
  n_tokens: "u32", n_sequences: "u32", n_outputs: "u32", n_sequence_kv_blocks: "u32",
  n_vocab: "u32", lane: "u32", step_bytes: "u64",
});
export const INBOX = new Struct("m40_inbox", {
  process: "u64", address: "u64", offset: "u64", n_bytes: "u64", device: "u32", handle: ["u32", 16],
  reserved: "u32",
});
export const STEP_HEADER = new Struct("m40_step_header", {
  n_tokens: "u32", n_sequences: "u32", n_outputs: "u32", n_decode: "u32", kv_block_stride: "u32",
  tokens: "u32", positions: "u32", sequences: "u32", kv_block_table: "u32", outputs: "u32",
  sampling: "u32", token_counts: "u32", n_token_counts: "u32", token_biases: "u32",
  n_token_biases: "u32", masks: "u32", n_masks: "u32", states: "u32", prefill_share: "u32",
});
export const OUTPUT = new Struct("m40_output", { row: "u32", kind: "u32" });
export const SAMPLING = new Struct("m40_sampling", {
  temperature: "f32", top_p: "f32", min_p: "f32", repetition_penalty: "f32",
  frequency_penalty: "f32", presence_penalty: "f32", top_k: "u32", n_top_logprobs: "u32",
  seed_low: "u32", seed_high: "u32", counter: "u32", stream: "u32", mask: "u32",
  first_token_count: "u32", n_token_counts: "u32", first_token_bias: "u32", n_token_biases: "u32",
  typical_p: "f32", xtc_probability: "f32", xtc_threshold: "f32", dynatemp_range: "f32",
  dynatemp_exponent: "f32", mirostat: "u32", mirostat_mu: "f32",
});
export const TOKEN_COUNT = new Struct("m40_token_count", { token: "i32", count: "u32" });
export const TOKEN_BIAS = new Struct("m40_token_bias", { token: "i32", bias: "f32" });
export const SAMPLE = new Struct("m40_sample", {
  token: "i32", logprob: "f32", top_tokens: ["i32", 20], top_logprobs: ["f32", 20], surprise: "f32",
});
export const RESULT = new Struct("m40_result", {
  kind: "u32", status: "u32", sample: ["u32", SAMPLE.bytes / 4],
});
export const RUN_HEADER = new Struct("m40_run_header", {
  n_steps: "u32", rows: "u32", end_tokens: "u32", n_end_tokens: "u32",
});
export const RUN_ROW = new Struct("m40_run_row", {
  n_tokens: "u32", first_end_token: "u32", n_end_tokens: "u32", later_slot: "u32",
  later_from: "u32",
});
export const RING = new Struct("m40_ring", {
  read: "u32", stop: "u32", host_reserved: ["u32", 14], over: "u32", device_reserved: ["u32", 15],
});
export const RING_ENTRY = new Struct("m40_ring_entry", {
  number: "u32", step: "u32", row: "u32", status: "u32", goes_on: "u32",
  sample: ["u32", SAMPLE.bytes / 4],
});
export const CHANNEL_ARGUMENT = new Struct("m40_channel_argument", { value: "u64", n_bytes: "u64" });
/** Every struct that crosses. */
export const STRUCTS = [
  ERROR, DEVICE_INFO, DEVICE_STATE, MANAGEMENT, DEVICE_HEALTH, POWER_LIMIT, CONTEXT_OPTIONS,
  TENSOR_DESC, CACHE_DESC, BUFFER_DESC, OP, LIMITS, INBOX, STEP_HEADER, OUTPUT, SAMPLING,
  TOKEN_COUNT, TOKEN_BIAS, SAMPLE, RESULT, RUN_HEADER, RUN_ROW, RING, RING_ENTRY, CHANNEL_ARGUMENT,
  ...Object.values(OPS),
];
