/**
 * What `GET /metrics` reports to Prometheus. Metrics have m40's own name, and also vLLM's where vLLM has one of the
 * same meaning, so that dashboards and load balancers made for it can read them.
 *
 * @module
 */
import type { Engine } from "../../engine/mod.ts";
import type { ManagerObserver, UnloadReason } from "../../engine/manager/mod.ts";
import { busy, type Models } from "../models/mod.ts";
import type { CountedHistogram } from "./counted_histogram.ts";
import { ModelMetrics } from "./model_metrics.ts";
import { RunTime, tokensPerSecond } from "./rates.ts";
import { mergeTexts, MetricRegistry, METRICS_TYPE } from "./registry.ts";

/** Bounds of the time that loading takes, in seconds. */
const LOAD_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500];

/** Counts what a server and its models do, and writes it down for Prometheus. */
export class Metrics implements ManagerObserver<Engine> {
  private readonly registry = new MetricRegistry();
  private readonly byModel = new Map<string, ModelMetrics>();
  private readonly runTime = new RunTime();
  private readonly statuses = new Map<number, number>();
  private readonly loads = { loaded: 0, failed: 0 };
  private readonly unloads: Record<UnloadReason, number> = {
    asked: 0,
    idle: 0,
    replaced: 0,
    lost: 0,
    closed: 0,
  };
  private readonly loadSeconds: CountedHistogram;

  /** The models are observed from now on: what they do, and what becomes of them. */
  constructor(private readonly models: Models) {
    const { registry } = this;
    for (const { name, engine } of models.loaded()) {
      if (engine !== undefined) this.of(name).attach(engine);
    }
    models.observe(this);
    registry.counters(
      "m40_http_responses_total",
      "HTTP responses by their status.",
      "status",
      () => this.statuses,
    );
    registry.counters(
      "m40_model_loads_total",
      "Models that were loaded, or could not be.",
      "outcome",
      () => Object.entries(this.loads),
    );
    registry.counters(
      "m40_model_unloads_total",
      "Models that were unloaded, by why.",
      "reason",
      () => Object.entries(this.unloads),
    );
    this.loadSeconds = registry.histogram(
      ["m40_model_load_seconds"],
      "From when a model begins to be loaded until it is ready.",
      LOAD_SECONDS,
    );
    registry.gauge(
      ["m40_models_loaded"],
      "Models in memory.",
      () => models.loaded().filter(({ state }) => state === "ready").length,
    );
    registry.gauge(
      ["m40_model_requests_waiting"],
      "Requests that wait for a model to be loaded.",
      () => models.waiting(),
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
  }

  /** The metrics of a model, which begin when it is first asked for. */
  of(name: string): ModelMetrics {
    let metrics = this.byModel.get(name);
    if (metrics === undefined) {
      metrics = new ModelMetrics(name, () => this.models.waiting(name), this.runTime);
      this.byModel.set(name, metrics);
    }
    return metrics;
  }

  /** A model was loaded within that time. */
  loaded(name: string, engine: Engine, milliseconds: number): void {
    this.of(name).attach(engine);
    this.loads.loaded++;
    this.loadSeconds.observe(milliseconds / 1000);
  }

  loadFailed(): void {
    this.loads.failed++;
  }

  unloaded(name: string, reason: UnloadReason): void {
    this.of(name).detach();
    this.unloads[reason]++;
  }

  /** An HTTP response begins. */
  response(status: number): void {
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
  }

  /** Tokens a second that sequences decoded in the last seconds. */
  tokensPerSecond(): number {
    return tokensPerSecond([...this.byModel.values()].map(({ rate }) => rate));
  }

  /** When a client that found the queue full may come again, in seconds. */
  retryAfterSeconds(): number {
    return this.runTime.retryAfterSeconds(busy(this.models));
  }

  /** All metrics in Prometheus's text format. */
  async page(): Promise<Response> {
    const registries = [...this.byModel.values(), this.registry];
    const texts = await Promise.all(registries.map((registry) => registry.text()));
    return new Response(mergeTexts(texts), { headers: { "Content-Type": METRICS_TYPE } });
  }
}
