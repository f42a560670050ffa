import type {
  Engine,
  EngineCard,
  EngineObserver,
  EngineStatus,
  GenerationReport,
  ReplicaState,
  StepReport,
} from "../../engine/mod.ts";
import { deviceLabel, DeviceMetrics } from "./device_metrics.ts";
import { DiskMetrics } from "./disk_metrics.ts";
import { histogramsIn } from "./model_histograms.ts";
import { type RunTime, StepRate } from "./rates.ts";
import { MetricRegistry } from "./registry.ts";
import { VERSION } from "../version.ts";

type Outcome = GenerationReport["outcome"];

/** What an engine counts, and what a model's engines have counted before it. */
const COUNTED = [
  "promptTokens",
  "cachedTokens",
  "queriedTokens",
  "generatedTokens",
  "preemptions",
  "recomputations",
  "restedMs",
  "steps",
  "runs",
  "runSteps",
] as const satisfies readonly (keyof EngineStatus)[];
type Counted = typeof COUNTED[number];

/**
 * What a model does, for Prometheus. It stays when the model is unloaded, so that what it counts never falls;
 * what is so of the present alone is absent then.
 */
export class ModelMetrics implements EngineObserver {
  private readonly registry: MetricRegistry;
  private readonly device: DeviceMetrics;
  private readonly disk: DiskMetrics;
  private readonly histograms: ReturnType<typeof histogramsIn>;
  private readonly outcomes: Record<Outcome, number> = {
    stop: 0,
    length: 0,
    cancelled: 0,
    timeout: 0,
    error: 0,
  };
  /** What its steps were. */
  readonly rate = new StepRate();
  private engine?: Engine;
  /** What engines have counted that are gone. */
  private readonly past = new Map<Counted, number>();

  /**
   * @param modelName The name that clients ask for: the label `model_name` of every metric.
   * @param waiting How many requests wait for the model to be loaded.
   * @param runTime Of the requests of all models.
   */
  constructor(
    modelName: string,
    private readonly waiting: () => number,
    private readonly runTime: RunTime,
  ) {
    const registry = this.registry = new MetricRegistry(modelName);
    const help = "Requests that ended, by what became of them.";
    const { outcomes } = this;
    registry.counters("m40_requests_total", help, "outcome", () => Object.entries(outcomes));
    registry.counters("vllm:request_success_total", help, "finished_reason", () => {
      const { stop, length, cancelled, timeout, error } = outcomes;
      return Object.entries({ stop, length, abort: cancelled + timeout, error });
    });
    this.histograms = histogramsIn(registry);
    this.device = new DeviceMetrics(registry);
    this.disk = new DiskMetrics(registry, () => this.engine);
    this.addState();
    this.addSums();
    this.addMachine();
    addReplicas(registry, () => this.engine?.replicas ?? []);
  }

  /** The model is in memory: its engine is observed from now on. */
  attach(engine: Engine): void {
    this.detach();
    this.engine = engine;
    engine.observer = this;
  }

  /** The model is in memory no more. */
  detach(): void {
    const { engine, past } = this;
    if (engine === undefined) return;
    const status = engine.status();
    for (const key of COUNTED) past.set(key, (past.get(key) ?? 0) + status[key]);
    this.disk.detach();
    this.engine = undefined;
  }

  step(report: StepReport): void {
    const { histograms } = this;
    histograms.step.observe(report.milliseconds / 1000);
    histograms.stepTokens.observe(report.promptTokens + report.decodeTokens);
    if (report.gapMilliseconds !== undefined) histograms.gap.observe(report.gapMilliseconds / 1000);
    this.rate.step(report);
  }

  firstToken(milliseconds: number): void {
    this.histograms.firstToken.observe(milliseconds / 1000);
  }

  token(milliseconds: number): void {
    this.histograms.token.observe(milliseconds / 1000);
  }

  generation(report: GenerationReport): void {
    const { histograms } = this;
    const { outcome, queueMs, firstTokenMs, decodeMs, tokenMs, totalMs } = report;
    this.outcomes[outcome]++;
    this.runTime.add(report);
    histograms.total.observe(totalMs / 1000);
    histograms.promptTokens.observe(report.promptTokens);
    histograms.generationTokens.observe(report.completionTokens);
    histograms.maxTokens.observe(report.maxTokens);
    if (queueMs !== undefined) {
      histograms.queue.observe(queueMs / 1000);
      histograms.run.observe((totalMs - queueMs) / 1000);
      if (firstTokenMs !== undefined) histograms.prefill.observe((firstTokenMs - queueMs) / 1000);
    }
    if (decodeMs !== undefined) histograms.decode.observe(decodeMs / 1000);
    if (tokenMs !== undefined) histograms.meanToken.observe(tokenMs / 1000);
  }

  /** All of them in Prometheus's text format. */
  async text(): Promise<string> {
    await this.device.refresh(this.engine);
    return await this.registry.text();
  }

  /** The engine's state, where there is one. */
  private get status(): EngineStatus | undefined {
    return this.engine?.status();
  }

  private sum(key: Counted): number {
    return (this.past.get(key) ?? 0) + (this.status?.[key] ?? 0);
  }

  private addState(): void {
    const { registry } = this;
    registry.gauge(
      ["m40_requests_running", "vllm:num_requests_running"],
      "Sequences that take part in steps.",
      () => this.status?.running ?? 0,
    );
    registry.gauge(
      ["m40_requests_waiting", "vllm:num_requests_waiting"],
      "Sequences that wait for their turn, preempted ones included, and requests that wait for " +
        "the model to be loaded.",
      () => (this.status?.waiting ?? 0) + this.waiting(),
    );
    registry.gauge(
      ["m40_requests_preempted"],
      "Sequences that wait because they were preempted.",
      () => this.status?.preempted ?? 0,
    );
    registry.gauge(
      ["m40_kv_cache_usage_ratio", "vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"],
      "KV blocks that sequences hold, of all; 1 is all of them.",
      () => share(this.status?.usedKvBlocks, this.status?.kvBlocks),
    );
    registry.gauge(
      ["m40_kv_cache_idle_ratio"],
      "Unused KV blocks that are kept for prompts that begin alike, of all.",
      () => share(this.status?.idleKvBlocks, this.status?.kvBlocks),
    );
    registry.gauge(
      ["m40_state_slots"],
      "Slots of recurrent states; 0 of a model that keeps none.",
      () => this.status?.slots,
    );
    registry.gauge(
      ["m40_state_slots_used"],
      "Those of them that sequences go on from.",
      () => this.status?.usedSlots,
    );
    registry.gauge(
      ["m40_state_slots_idle"],
      "Those of states that are kept for prompts that begin alike.",
      () => this.status?.idleSlots,
    );
    registry.gauge(
      ["m40_device_failed"],
      "1 when the device was lost.",
      () => this.status?.failed === undefined ? 0 : 1,
    );
  }

  private addSums(): void {
    const { registry } = this;
    registry.counter(
      ["m40_prompt_tokens_total", "vllm:prompt_tokens_total"],
      "Tokens of prompts, computed or found in the prefix cache.",
      () => this.sum("promptTokens") + this.sum("cachedTokens"),
    );
    registry.counter(
      ["m40_prompt_tokens_computed_total"],
      "Tokens of prompts that were computed.",
      () => this.sum("promptTokens"),
    );
    registry.counter(
      ["m40_prompt_tokens_cached_total", "vllm:prompt_tokens_cached_total"],
      "Tokens of prompts that were found in the prefix cache.",
      () => this.sum("cachedTokens"),
    );
    registry.counter(
      ["m40_generation_tokens_total", "vllm:generation_tokens_total"],
      "Tokens that were sampled.",
      () => this.sum("generatedTokens"),
    );
    registry.counter(
      ["m40_prefix_cache_queries_total", "vllm:prefix_cache_queries_total"],
      "Tokens that were looked for in the prefix cache.",
      () => this.sum("queriedTokens"),
    );
    registry.counter(
      ["m40_prefix_cache_hits_total", "vllm:prefix_cache_hits_total"],
      "Tokens that were found in the prefix cache.",
      () => this.sum("cachedTokens"),
    );
    registry.counter(
      ["m40_preemptions_total", "vllm:num_preemptions_total"],
      "Preempted sequences.",
      () => this.sum("preemptions"),
    );
    registry.counter(
      ["m40_recomputations_total"],
      "Of those, the ones that found no room in host memory and were computed again.",
      () => this.sum("recomputations"),
    );
    registry.counter(
      ["m40_rested_seconds_total"],
      "Seconds in which steps waited so that the device stayed below its limits of temperature and power.",
      () => this.sum("restedMs") / 1000,
    );
    registry.counter(["m40_steps_total"], "Steps of the device.", () => this.sum("steps"));
    registry.counter(
      ["m40_runs_total"],
      "Runs, in which the device went from step to step by itself.",
      () => this.sum("runs"),
    );
    registry.counter(
      ["m40_run_steps_total"],
      "Of the steps, those that were parts of runs.",
      () => this.sum("runSteps"),
    );
  }

  private addMachine(): void {
    const { registry } = this;
    registry.gauges(
      "m40_memory_bytes",
      "Memory of the device that the model holds, by what it is for.",
      ["part", "device"],
      () => this.engine?.cards.flatMap(memoryOf) ?? [],
    );
    registry.info(
      "m40_info",
      "What is served, and on what.",
      [
        ...["version", "model", "architecture", "quantisation", "arithmetic"],
        ...["backend", "device", "driver"],
      ],
      () => this.engine && factsOf(this.engine),
    );
    registry.info(
      "vllm:cache_config_info",
      "The KV cache: tokens of a page, and pages.",
      ["block_size", "num_gpu_blocks", "cache_dtype", "enable_prefix_caching"],
      () => this.engine && cacheOf(this.engine),
    );
  }
}

function share(part: number | undefined, whole: number | undefined): number | undefined {
  return part === undefined || whole === undefined ? undefined : part / whole;
}

function memoryOf(card: EngineCard) {
  const { weightBytes, cacheBytes, stateBytes, programBytes } = card.memory;
  const parts = Object.entries({
    weights: weightBytes,
    kv_cache: cacheBytes,
    states: stateBytes,
    activations: programBytes,
  });
  return parts.map(([part, bytes]) => [{ part, ...deviceLabel(card) }, bytes] as const);
}

/** What each of several replicas is, and does. */
function addReplicas(registry: MetricRegistry, replicas: () => readonly ReplicaState[]): void {
  const each = (value: (replica: ReplicaState) => number) => () =>
    replicas().map((one) => [{ device: one.name }, value(one)] as const);
  registry.gauges(
    "m40_replica_ready",
    "1 where a replica computes, 0 while it is lost or loaded again; absent where there are not several.",
    ["device"],
    each(({ state }) => state === "ready" ? 1 : 0),
  );
  registry.gauges(
    "m40_replica_sequences",
    "Sequences that a replica has been given.",
    ["device"],
    each(({ sequences }) => sequences),
  );
  registry.gauges(
    "m40_replica_losses",
    "How often a replica was lost since its model was loaded.",
    ["device"],
    each(({ losses }) => losses),
  );
}

function factsOf({ model, arithmetic, device }: Engine) {
  return {
    version: VERSION,
    model: model.name,
    architecture: model.architecture,
    quantisation: model.quantisation,
    arithmetic,
    backend: device.backend,
    device: device.name,
    driver: device.driver,
  };
}

function cacheOf({ plan }: Engine) {
  return {
    block_size: String(plan.kvBlockTokens),
    num_gpu_blocks: String(plan.kvBlocks),
    cache_dtype: plan.kvType,
    enable_prefix_caching: "True",
  };
}
