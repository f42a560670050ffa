/**
 * The structs and constants of cuda/include/m40.h, field for field and in its order. A test compares
 * these layouts with the ones that the library reports.
 *
 * @module
 */
import {
  DEVICE_HEALTH,
  DEVICE_INFO,
  DEVICE_STATE,
  MANAGEMENT,
  POWER_LIMIT,
} from "./device_structs.ts";
import { BUFFER_DESC, OP, OPS } from "./operation_structs.ts";
import { type FieldType, Struct, type StructValue } from "./struct.ts";

export * from "./device_structs.ts";
export * from "./operation_structs.ts";

/** The values of a struct described here. */
export type StructOf<S> = S extends Struct<infer F extends Record<string, FieldType>>
  ? StructValue<F>
  : never;

/** The version of m40.h that this program speaks. */
export const ABI_VERSION = 18;
/** An index that is absent. */
export const NONE = 0xFFFFFFFF;
/** The most log-probabilities a sampled token can carry. */
export const MAX_TOP_LOGPROBS = 20;
/** Layers of a KV cache at most. */
export const MAX_CACHE_LAYERS = 256;
/** Groups of them at most. */
export const MAX_CACHE_GROUPS = 16;

/** States of a sequence at most. */
export const MAX_STATES = 256;

/** m40_status. */
export const Status = {
  ok: 0,
  invalidArgument: 1,
  outOfMemory: 2,
  io: 3,
  unsupported: 4,
  deviceLost: 5,
  internal: 6,
  notReady: 7,
} as const;

export const ERROR = new Struct("m40_error", { status: "i32", message: ["text", 508] });

/** What decode steps are run by; "auto" where that is to be measured, or is not decided yet. */
export const Executors = { auto: 0, launches: 1, graphs: 2, resident: 3 } as const;

export const CONTEXT_OPTIONS = new Struct("m40_context_options", {
  device: "u32",
  n_threads: "u32",
  executor: "u32",
  instruction_set: ["text", 32],
});

export const TENSOR_DESC = new Struct("m40_tensor_desc", {
  type: "u32",
  n_experts: "u32",
  rows: "u32",
  columns: "u32",
  first_row: "u32",
  whole_rows: "u32",
});

export const CACHE_DESC = new Struct("m40_cache_desc", {
  n_layers: "u32",
  n_groups: "u32",
  page_tokens: "u32",
  n_pages: "u32",
  type: "u32",
  n_kv_heads: ["u32", MAX_CACHE_LAYERS],
  head_dim: ["u32", MAX_CACHE_LAYERS],
  value_dim: ["u32", MAX_CACHE_LAYERS],
  group: ["u32", MAX_CACHE_LAYERS],
  n_states: "u32",
  n_slots: "u32",
  state_values: ["u32", MAX_STATES],
});

/** M40_LANE_*: which steps of a context follow each other. */
export const Lanes = { main: 0, prompts: 1 } as const;

export const LIMITS = new Struct("m40_limits", {
  n_tokens: "u32",
  n_sequences: "u32",
  n_outputs: "u32",
  n_sequence_pages: "u32",
  n_vocab: "u32",
  lane: "u32",
  step_bytes: "u64",
});

/** Where a program takes what other cards hand over. */
export const INBOX = new Struct("m40_inbox", {
  process: "u64",
  address: "u64",
  offset: "u64",
  n_bytes: "u64",
  device: "u32",
  handle: ["u32", 16],
  reserved: "u32",
});

export const STEP_HEADER = new Struct("m40_step_header", {
  n_tokens: "u32",
  n_sequences: "u32",
  n_outputs: "u32",
  n_decode: "u32",
  page_stride: "u32",
  tokens: "u32",
  positions: "u32",
  sequences: "u32",
  page_table: "u32",
  outputs: "u32",
  sampling: "u32",
  token_counts: "u32",
  n_token_counts: "u32",
  token_biases: "u32",
  n_token_biases: "u32",
  masks: "u32",
  n_masks: "u32",
  states: "u32",
  prefill_share: "u32",
});

/** M40_OUTPUT_*: what an output is asked for. */
export const OutputKind = { sample: 0, logits: 1, hidden: 2 } as const;
/** M40_OUTPUT_*: how it went. */
export const OutputStatus = { ok: 0, not_finite: 1, nothing_allowed: 2 } as const;
/** M40_MAX_RUN_END_TOKENS. */
export const MAX_RUN_END_TOKENS = 4096;
/** M40_OUTPUT_ENDED: of a row of a run that ended in a step before. */
export const OUTPUT_ENDED = 3;

export const OUTPUT = new Struct("m40_output", { row: "u32", kind: "u32" });

export const SAMPLING = new Struct("m40_sampling", {
  temperature: "f32",
  top_p: "f32",
  min_p: "f32",
  repetition_penalty: "f32",
  frequency_penalty: "f32",
  presence_penalty: "f32",
  top_k: "u32",
  n_top_logprobs: "u32",
  seed_low: "u32",
  seed_high: "u32",
  counter: "u32",
  stream: "u32",
  mask: "u32",
  first_token_count: "u32",
  n_token_counts: "u32",
  first_token_bias: "u32",
  n_token_biases: "u32",
  typical_p: "f32",
  xtc_probability: "f32",
  xtc_threshold: "f32",
  dynatemp_range: "f32",
  dynatemp_exponent: "f32",
  mirostat: "u32",
  mirostat_mu: "f32",
});

export const TOKEN_COUNT = new Struct("m40_token_count", { token: "i32", count: "u32" });
export const TOKEN_BIAS = new Struct("m40_token_bias", { token: "i32", bias: "f32" });

export const SAMPLE = new Struct("m40_sample", {
  token: "i32",
  logprob: "f32",
  top_tokens: ["i32", MAX_TOP_LOGPROBS],
  top_logprobs: ["f32", MAX_TOP_LOGPROBS],
  surprise: "f32",
});

export const RUN_HEADER = new Struct("m40_run_header", {
  n_steps: "u32",
  rows: "u32",
  end_tokens: "u32",
  n_end_tokens: "u32",
});

export const RUN_ROW = new Struct("m40_run_row", {
  n_tokens: "u32",
  first_end_token: "u32",
  n_end_tokens: "u32",
  later_slot: "u32",
  later_from: "u32",
});

export const RING = new Struct("m40_ring", {
  read: "u32",
  stop: "u32",
  host_reserved: ["u32", 14],
  over: "u32",
  device_reserved: ["u32", 15],
});

export const RING_ENTRY = new Struct("m40_ring_entry", {
  number: "u32",
  step: "u32",
  row: "u32",
  status: "u32",
  goes_on: "u32",
  sample: ["u32", SAMPLE.bytes / 4],
});

/** What is handed to a function of another process: a number, a handle or an address; bytes there. */
export const CHANNEL_ARGUMENT = new Struct("m40_channel_argument", {
  value: "u64",
  n_bytes: "u64",
});

/** The sample's fields are those of {@link SAMPLE}. */
export const RESULT = new Struct("m40_result", {
  kind: "u32",
  status: "u32",
  sample: ["u32", SAMPLE.bytes / 4],
});

/** Every struct that crosses. */
export const STRUCTS = [
  ERROR,
  DEVICE_INFO,
  DEVICE_STATE,
  MANAGEMENT,
  DEVICE_HEALTH,
  POWER_LIMIT,
  CONTEXT_OPTIONS,
  TENSOR_DESC,
  CACHE_DESC,
  BUFFER_DESC,
  OP,
  ...Object.values(OPS),
  LIMITS,
  INBOX,
  STEP_HEADER,
  OUTPUT,
  SAMPLING,
  TOKEN_COUNT,
  TOKEN_BIAS,
  SAMPLE,
  RESULT,
  RUN_HEADER,
  RUN_ROW,
  RING,
  RING_ENTRY,
  CHANNEL_ARGUMENT,
];
