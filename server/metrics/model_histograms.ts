import type { MetricRegistry } from "./registry.ts";

/** Bounds of histograms, in seconds, each a little more than twice the one before. */
const BUCKETS = {
  request: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500],
  token: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.5, 1, 2.5, 5],
  step: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
  gap: [0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.1, 0.5],
  tokens: [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144],
};

/** Adds a model's histograms to a registry; what they are given, by name. */
export function histogramsIn(registry: MetricRegistry) {
  return {
    firstToken: registry.histogram(
      ["m40_time_to_first_token_seconds", "vllm:time_to_first_token_seconds"],
      "From a request's arrival to its first token.",
      BUCKETS.request,
    ),
    token: registry.histogram(
      [
        "m40_inter_token_seconds",
        "vllm:inter_token_latency_seconds",
        "vllm:time_per_output_token_seconds",
      ],
      "Between two tokens of a request.",
      BUCKETS.token,
    ),
    meanToken: registry.histogram(
      ["m40_request_token_seconds", "vllm:request_time_per_output_token_seconds"],
      "The mean time between a request's tokens after the first.",
      BUCKETS.token,
    ),
    total: registry.histogram(
      ["m40_request_seconds", "vllm:e2e_request_latency_seconds"],
      "From a request's arrival to its end, whatever became of it.",
      BUCKETS.request,
    ),
    queue: registry.histogram(
      ["m40_request_queue_seconds", "vllm:request_queue_time_seconds"],
      "From a request's arrival until it was first admitted.",
      BUCKETS.request,
    ),
    run: registry.histogram(
      ["m40_request_run_seconds", "vllm:request_inference_time_seconds"],
      "From when a request was first admitted to its end.",
      BUCKETS.request,
    ),
    prefill: registry.histogram(
      ["m40_request_prefill_seconds", "vllm:request_prefill_time_seconds"],
      "From when a request was first admitted to its first token.",
      BUCKETS.request,
    ),
    decode: registry.histogram(
      ["m40_request_decode_seconds", "vllm:request_decode_time_seconds"],
      "From a request's first token to its last.",
      BUCKETS.request,
    ),
    promptTokens: registry.histogram(
      ["m40_request_prompt_tokens", "vllm:request_prompt_tokens"],
      "Tokens of a request's prompt.",
      BUCKETS.tokens,
    ),
    generationTokens: registry.histogram(
      ["m40_request_generation_tokens", "vllm:request_generation_tokens"],
      "Tokens that were sampled for a request.",
      BUCKETS.tokens,
    ),
    maxTokens: registry.histogram(
      ["m40_request_max_tokens", "vllm:request_params_max_tokens"],
      "Tokens that might have been sampled for a request.",
      BUCKETS.tokens,
    ),
    step: registry.histogram(
      ["m40_step_seconds"],
      "From the call of a step to its result.",
      BUCKETS.step,
    ),
    gap: registry.histogram(
      ["m40_step_gap_seconds"],
      "From the result of a step to the call of the next one.",
      BUCKETS.gap,
    ),
    stepTokens: registry.histogram(
      ["m40_step_tokens", "vllm:iteration_tokens_total"],
      "Tokens of a step: those of prompts, and one for each sequence that decodes.",
      BUCKETS.tokens,
    ),
  };
}
