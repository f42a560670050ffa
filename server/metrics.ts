/**
 * What `GET /metrics` tells Prometheus. Metrics have m40's own name, and vLLM's beside it where vLLM
 * has one of the same meaning, so that dashboards and load balancers made for it can read them.
 *
 * @module
 */
import type { Engine, EngineObserver, GenerationReport, StepReport } from "../engine/mod.ts";
import { DeviceMetrics } from "./device_metrics.ts";
import { MetricRegistry } from "./registry.ts";
import { VERSION } from "./version.ts";

/** Bounds of histograms, in seconds, each a little more than twice the one before. */
const BUCKETS = {
  request: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500],
  token: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.5, 1, 2.5, 5],
  step: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
  gap: [0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.1, 0.5],
  tokens: [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144],
};

/** What vLLM calls the ways in which a request can end. */
const FINISHED_REASON: Record<GenerationReport["outcome"], string> = {
  stop: "stop",
  length: "length",
  cancelled: "abort",
  timeout: "abort",
  error: "error",
};

/** Counts what an engine and its server do, and writes it down for Prometheus. */
export class Metrics implements EngineObserver {
  private readonly registry: MetricRegistry;
  private readonly device: DeviceMetrics;
  private readonly histograms: ReturnType<typeof histogramsIn>;
  private readonly outcome: (outcome: string) => void;
  private readonly finished: (reason: string) => void;
  private readonly status: (status: string) => void;

  /** @param modelName The name that clients ask for: the label `model_name` of every metric. */
  constructor(private readonly engine: Engine, modelName: string) {
    const registry = this.registry = new MetricRegistry(modelName);
    const help = "Requests that ended, by what became of them.";
    const outcomes = Object.keys(FINISHED_REASON);
    const reasons = Object.values(FINISHED_REASON);
    this.outcome = registry.labelled("m40_requests_total", help, "outcome", outcomes);
    this.finished = registry.labelled(
      "vllm:request_success_total",
      help,
      "finished_reason",
      reasons,
    );
    this.status = registry.labelled(
      "m40_http_responses_total",
      "HTTP responses by their status.",
      "status",
    );
    this.histograms = histogramsIn(registry);
    this.device = new DeviceMetrics(engine, registry);
    this.addState();
    this.addSums();
    this.addMachine();
  }

  step({ promptTokens, decodeTokens, milliseconds, gapMilliseconds }: StepReport): void {
    this.histograms.step(milliseconds / 1000);
    this.histograms.stepTokens(promptTokens + decodeTokens);
    if (gapMilliseconds !== undefined) this.histograms.gap(gapMilliseconds / 1000);
  }

  firstToken(milliseconds: number): void {
    this.histograms.firstToken(milliseconds / 1000);
  }

  token(milliseconds: number): void {
    this.histograms.token(milliseconds / 1000);
  }

  generation(report: GenerationReport): void {
    const { histograms } = this;
    const { outcome, queueMs, firstTokenMs, decodeMs, tokenMs, totalMs } = report;
    this.outcome(outcome);
    this.finished(FINISHED_REASON[outcome]);
    histograms.total(totalMs / 1000);
    histograms.promptTokens(report.promptTokens);
    histograms.generationTokens(report.completionTokens);
    histograms.maxTokens(report.maxTokens);
    if (queueMs !== undefined) {
      histograms.queue(queueMs / 1000);
      histograms.run((totalMs - queueMs) / 1000);
      if (firstTokenMs !== undefined) histograms.prefill((firstTokenMs - queueMs) / 1000);
    }
    if (decodeMs !== undefined) histograms.decode(decodeMs / 1000);
    if (tokenMs !== undefined) histograms.meanToken(tokenMs / 1000);
  }

  /** An HTTP response begins. */
  response(status: number): void {
    this.status(String(status));
  }

  /** All metrics in Prometheus's text format. */
  async page(): Promise<Response> {
    await this.device.refresh();
    const { contentType, text } = await this.registry.page();
    return new Response(text, { headers: { "Content-Type": contentType } });
  }

  private addState(): void {
    const { engine, registry } = this;
    registry.gauge(
      ["m40_requests_running", "vllm:num_requests_running"],
      "Sequences that take part in steps.",
      () => engine.status().running,
    );
    registry.gauge(
      ["m40_requests_waiting", "vllm:num_requests_waiting"],
      "Sequences that wait for their turn, those that gave way to others included.",
      () => engine.status().waiting,
    );
    registry.gauge(
      ["m40_requests_preempted"],
      "Sequences that wait because they gave way to others.",
      () => engine.status().preempted,
    );
    registry.gauge(
      ["m40_kv_cache_usage_ratio", "vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"],
      "KV pages that sequences hold, of all; 1 is all of them.",
      () => engine.status().usedPages / engine.status().pages,
    );
    registry.gauge(
      ["m40_kv_cache_idle_ratio"],
      "KV pages that nobody holds and that are kept for prompts that begin alike, of all.",
      () => engine.status().idlePages / engine.status().pages,
    );
    registry.gauge(
      ["m40_device_failed"],
      "1 when the device was lost: nothing can be served any more.",
      () => engine.status().failed === undefined ? 0 : 1,
    );
  }

  private addSums(): void {
    const { engine, registry } = this;
    registry.counter(
      ["m40_prompt_tokens_total", "vllm:prompt_tokens_total"],
      "Tokens of prompts, computed or found in the prefix cache.",
      () => engine.status().promptTokens + engine.status().cachedTokens,
    );
    registry.counter(
      ["m40_prompt_tokens_computed_total"],
      "Tokens of prompts that were computed.",
      () => engine.status().promptTokens,
    );
    registry.counter(
      ["m40_prompt_tokens_cached_total", "vllm:prompt_tokens_cached_total"],
      "Tokens of prompts that were found in the prefix cache.",
      () => engine.status().cachedTokens,
    );
    registry.counter(
      ["m40_generation_tokens_total", "vllm:generation_tokens_total"],
      "Tokens that were drawn.",
      () => engine.status().generatedTokens,
    );
    registry.counter(
      ["m40_prefix_cache_queries_total", "vllm:prefix_cache_queries_total"],
      "Tokens that were looked for in the prefix cache.",
      () => engine.status().queriedTokens,
    );
    registry.counter(
      ["m40_prefix_cache_hits_total", "vllm:prefix_cache_hits_total"],
      "Tokens that were found in the prefix cache.",
      () => engine.status().cachedTokens,
    );
    registry.counter(
      ["m40_preemptions_total", "vllm:num_preemptions_total"],
      "Sequences that gave way to others.",
      () => engine.status().preemptions,
    );
    registry.counter(
      ["m40_recomputations_total"],
      "Of those, the ones that found no room in host memory and were computed again.",
      () => engine.status().recomputations,
    );
    registry.counter(["m40_steps_total"], "Steps of the device.", () => engine.status().steps);
  }

  private addMachine(): void {
    const { registry } = this;
    const { model, device, plan } = this.engine;
    registry.constants(
      "m40_memory_bytes",
      "Memory of the device that this server holds, by what it is for.",
      "part",
      { weights: plan.weightBytes, kv_cache: plan.cacheBytes, activations: plan.programBytes },
    );
    registry.gauge(
      ["process_resident_memory_bytes"],
      "Memory of this process in bytes.",
      () => Deno.memoryUsage().rss,
    );
    registry.gauge(
      ["process_start_time_seconds"],
      "When this process started, in seconds since 1970.",
      () => performance.timeOrigin / 1000,
    );
    registry.info("m40_info", "What is served, and on what.", {
      version: VERSION,
      model: model.name,
      architecture: model.architecture,
      quantisation: model.quantisation,
      backend: device.backend,
      device: device.name,
      driver: device.driver,
    });
    registry.info("vllm:cache_config_info", "The KV cache: tokens of a page, and pages.", {
      block_size: String(plan.pageTokens),
      num_gpu_blocks: String(plan.pages),
      cache_dtype: plan.kvType,
      enable_prefix_caching: "True",
    });
  }
}

/** The histograms, by what is observed. */
function histogramsIn(registry: MetricRegistry) {
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
      "From a request's arrival until it was first let in.",
      BUCKETS.request,
    ),
    run: registry.histogram(
      ["m40_request_run_seconds", "vllm:request_inference_time_seconds"],
      "From when a request was first let in to its end.",
      BUCKETS.request,
    ),
    prefill: registry.histogram(
      ["m40_request_prefill_seconds", "vllm:request_prefill_time_seconds"],
      "From when a request was first let in to its first token.",
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
      "Tokens that were drawn for a request.",
      BUCKETS.tokens,
    ),
    maxTokens: registry.histogram(
      ["m40_request_max_tokens", "vllm:request_params_max_tokens"],
      "Tokens that might have been drawn for a request.",
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
