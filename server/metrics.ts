/**
 * What `GET /metrics` tells Prometheus. Metrics have m40's own name, and vLLM's beside it where vLLM
 * has one of the same meaning, so that dashboards and load balancers made for it can read them.
 *
 * @module
 */
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Engine, EngineObserver, GenerationReport, StepReport } from "../engine/mod.ts";
import { VERSION } from "./version.ts";

/** m40's name of a metric, then vLLM's. */
type Names = readonly [string, ...string[]];

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
  private readonly registry = new Registry();
  private readonly firstToken = this.histogram(
    ["m40_time_to_first_token_seconds", "vllm:time_to_first_token_seconds"],
    "From a request's arrival to its first token.",
    BUCKETS.request,
  );
  private readonly interToken = this.histogram(
    [
      "m40_inter_token_seconds",
      "vllm:inter_token_latency_seconds",
      "vllm:time_per_output_token_seconds",
    ],
    "Between two tokens of a request.",
    BUCKETS.token,
  );
  private readonly meanToken = this.histogram(
    ["m40_request_token_seconds", "vllm:request_time_per_output_token_seconds"],
    "The mean time between a request's tokens after the first.",
    BUCKETS.token,
  );
  private readonly total = this.histogram(
    ["m40_request_seconds", "vllm:e2e_request_latency_seconds"],
    "From a request's arrival to its end, whatever became of it.",
    BUCKETS.request,
  );
  private readonly queue = this.histogram(
    ["m40_request_queue_seconds", "vllm:request_queue_time_seconds"],
    "From a request's arrival until it was first let in.",
    BUCKETS.request,
  );
  private readonly promptLength = this.histogram(
    ["m40_request_prompt_tokens", "vllm:request_prompt_tokens"],
    "Tokens of a request's prompt.",
    BUCKETS.tokens,
  );
  private readonly outputLength = this.histogram(
    ["m40_request_generation_tokens", "vllm:request_generation_tokens"],
    "Tokens that were drawn for a request.",
    BUCKETS.tokens,
  );
  private readonly stepTime = this.histogram(
    ["m40_step_seconds"],
    "From the call of a step to its result.",
    BUCKETS.step,
  );
  private readonly stepGap = this.histogram(
    ["m40_step_gap_seconds"],
    "From the result of a step to the call of the next one.",
    BUCKETS.gap,
  );
  private readonly stepTokens = this.histogram(
    ["m40_step_tokens", "vllm:iteration_tokens_total"],
    "Tokens of a step: those of prompts, and one for each sequence that decodes.",
    BUCKETS.tokens,
  );
  private readonly requests = new Counter({
    name: "m40_requests_total",
    help: "Requests that ended, by what became of them.",
    labelNames: ["outcome"],
    registers: [this.registry],
  });
  private readonly finished = new Counter({
    name: "vllm:request_success_total",
    help: "Requests that ended, by what became of them.",
    labelNames: ["finished_reason"],
    registers: [this.registry],
  });
  private readonly responses = new Counter({
    name: "m40_http_responses_total",
    help: "HTTP responses by their status.",
    labelNames: ["status"],
    registers: [this.registry],
  });

  /** @param modelName The name that clients ask for: the label `model_name` of every metric. */
  constructor(private readonly engine: Engine, modelName: string) {
    this.registry.setDefaultLabels({ model_name: modelName });
    // Those that have not happened yet are there, as 0: a rate over them is 0 and not absent.
    for (const [outcome, reason] of Object.entries(FINISHED_REASON)) {
      this.requests.inc({ outcome }, 0);
      this.finished.inc({ finished_reason: reason }, 0);
    }
    this.addState();
    this.addSums();
    this.addMachine();
  }

  step({ promptTokens, decodeTokens, milliseconds, gapMilliseconds }: StepReport): void {
    this.stepTime(milliseconds / 1000);
    this.stepTokens(promptTokens + decodeTokens);
    if (gapMilliseconds !== undefined) this.stepGap(gapMilliseconds / 1000);
  }

  token(milliseconds: number): void {
    this.interToken(milliseconds / 1000);
  }

  generation(report: GenerationReport): void {
    const { outcome, firstTokenMs, tokenMs, queueMs, totalMs } = report;
    this.requests.inc({ outcome });
    this.finished.inc({ finished_reason: FINISHED_REASON[outcome] });
    this.total(totalMs / 1000);
    this.promptLength(report.promptTokens);
    this.outputLength(report.completionTokens);
    if (firstTokenMs !== undefined) this.firstToken(firstTokenMs / 1000);
    if (tokenMs !== undefined) this.meanToken(tokenMs / 1000);
    if (queueMs !== undefined) this.queue(queueMs / 1000);
  }

  /** An HTTP response begins. */
  response(status: number): void {
    this.responses.inc({ status: String(status) });
  }

  /** All metrics in Prometheus's text format. */
  async page(): Promise<Response> {
    const { contentType } = this.registry;
    return new Response(await this.registry.metrics(), {
      headers: { "Content-Type": contentType },
    });
  }

  private addState(): void {
    const { engine } = this;
    this.gauge(
      ["m40_requests_running", "vllm:num_requests_running"],
      "Sequences that take part in steps.",
      () => engine.status().running,
    );
    this.gauge(
      ["m40_requests_waiting", "vllm:num_requests_waiting"],
      "Sequences that wait for their turn, those that gave way to others included.",
      () => engine.status().waiting,
    );
    this.gauge(
      ["m40_requests_preempted"],
      "Sequences that wait because they gave way to others.",
      () => engine.status().preempted,
    );
    this.gauge(
      ["m40_kv_cache_usage_ratio", "vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"],
      "KV pages that sequences hold, of all; 1 is all of them.",
      () => engine.status().usedPages / engine.status().pages,
    );
    this.gauge(
      ["m40_kv_cache_idle_ratio"],
      "KV pages that nobody holds and that are kept for prompts that begin alike, of all.",
      () => engine.status().idlePages / engine.status().pages,
    );
    this.gauge(
      ["m40_device_failed"],
      "1 when the device was lost: nothing can be served any more.",
      () => engine.status().failed === undefined ? 0 : 1,
    );
  }

  private addSums(): void {
    const { engine } = this;
    this.counter(
      ["m40_prompt_tokens_total", "vllm:prompt_tokens_total"],
      "Tokens of prompts, computed or found in the prefix cache.",
      () => engine.status().promptTokens + engine.status().cachedTokens,
    );
    this.counter(
      ["m40_prompt_tokens_computed_total"],
      "Tokens of prompts that were computed.",
      () => engine.status().promptTokens,
    );
    this.counter(
      ["m40_generation_tokens_total", "vllm:generation_tokens_total"],
      "Tokens that were drawn.",
      () => engine.status().generatedTokens,
    );
    this.counter(
      ["m40_prefix_cache_queries_total", "vllm:prefix_cache_queries_total"],
      "Tokens that were looked for in the prefix cache.",
      () => engine.status().queriedTokens,
    );
    this.counter(
      ["m40_prefix_cache_hits_total", "vllm:prefix_cache_hits_total"],
      "Tokens that were found in the prefix cache.",
      () => engine.status().cachedTokens,
    );
    this.counter(
      ["m40_preemptions_total", "vllm:num_preemptions_total"],
      "Sequences that gave way to others.",
      () => engine.status().preemptions,
    );
    this.counter(
      ["m40_recomputations_total"],
      "Of those, the ones that found no room in host memory and were computed again.",
      () => engine.status().recomputations,
    );
    this.counter(["m40_steps_total"], "Steps of the device.", () => engine.status().steps);
  }

  private addMachine(): void {
    const { engine } = this;
    const { model, device, plan } = engine;
    this.gauge(
      ["m40_device_memory_total_bytes"],
      "Memory of the device.",
      () => engine.deviceMemory().total,
    );
    this.gauge(
      ["m40_device_memory_free_bytes"],
      "Memory of the device that no program holds.",
      () => engine.deviceMemory().free,
    );
    const parts = new Gauge({
      name: "m40_memory_bytes",
      help: "Memory of the device that this server holds, by what it is for.",
      labelNames: ["part"],
      registers: [this.registry],
    });
    parts.set({ part: "weights" }, plan.weightBytes);
    parts.set({ part: "kv_cache" }, plan.cacheBytes);
    parts.set({ part: "activations" }, plan.programBytes);
    this.gauge(
      ["process_resident_memory_bytes"],
      "Memory of this process in bytes.",
      () => Deno.memoryUsage().rss,
    );
    this.gauge(
      ["process_start_time_seconds"],
      "When this process started, in seconds since 1970.",
      () => performance.timeOrigin / 1000,
    );
    this.info("m40_info", "What is served, and on what.", {
      version: VERSION,
      model: model.name,
      architecture: model.architecture,
      quantisation: model.quantisation,
      backend: device.backend,
      device: device.name,
    });
    const cache = {
      block_size: String(plan.pageTokens),
      num_gpu_blocks: String(plan.pages),
      cache_dtype: plan.kvType,
    };
    this.info("vllm:cache_config_info", "The KV cache: tokens of a page, and pages.", cache);
  }

  private gauge(names: Names, help: string, value: () => number): void {
    for (const name of names) {
      new Gauge({
        name,
        help,
        registers: [this.registry],
        collect() {
          this.set(value());
        },
      });
    }
  }

  private counter(names: Names, help: string, sum: () => number): void {
    for (const name of names) {
      new Counter({
        name,
        help,
        registers: [this.registry],
        collect() {
          this.reset();
          this.inc(sum());
        },
      });
    }
  }

  private histogram(names: Names, help: string, buckets: number[]): (value: number) => void {
    const histograms = names.map((name) =>
      new Histogram({ name, help, buckets, registers: [this.registry] })
    );
    return (value) => {
      for (const histogram of histograms) histogram.observe(value);
    };
  }

  private info(name: string, help: string, labels: Record<string, string>): void {
    new Gauge({ name, help, labelNames: Object.keys(labels), registers: [this.registry] })
      .set(labels, 1);
  }
}
