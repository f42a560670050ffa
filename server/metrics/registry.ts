import { Counter, Gauge, type Metric, Registry } from "prom-client";
import { CountedHistogram } from "./counted_histogram.ts";

/** m40's name of a metric, then vLLM's. */
export type Names = readonly [string, ...string[]];

/** What the names of vLLM's metrics begin with. */
const VLLM = "vllm:";

/**
 * Metrics under m40's names and vLLM's. Those of a model have the label `model_name`. vLLM's also have `engine`, the
 * number of an engine in its server, which vLLM's dashboards and load balancers select by.
 */
export class MetricRegistry {
  private readonly own = new Registry();
  private readonly vllm = new Registry();

  /** @param modelName The model that they are of; absent: of the server as a whole. */
  constructor(modelName?: string) {
    if (modelName === undefined) return;
    this.own.setDefaultLabels({ model_name: modelName });
    this.vllm.setDefaultLabels({ model_name: modelName, engine: "0" });
  }

  /** A value that is asked for whenever metrics are read; undefined where it is not known: then it is absent. */
  gauge(names: Names, help: string, value: () => number | undefined): void {
    for (const name of names) {
      new Gauge({
        name,
        help,
        registers: [this.of(name)],
        collect() {
          const present = value();
          if (present === undefined) this.remove({});
          else this.set(present);
        },
      });
    }
  }

  /** A sum that other code keeps, read whenever metrics are read. */
  counter(names: Names, help: string, sum: () => number): void {
    for (const name of names) {
      new Counter({
        name,
        help,
        registers: [this.of(name)],
        collect() {
          this.reset();
          this.inc(sum());
        },
      });
    }
  }

  /**
   * Sums by the value of a label, which other code keeps. Values that have not come up yet should be there, as 0: a
   * rate is 0 then and not absent.
   */
  counters(
    name: string,
    help: string,
    label: string,
    sums: () => Iterable<readonly [value: string | number, sum: number]>,
  ): void {
    new Counter({
      name,
      help,
      labelNames: [label],
      registers: [this.of(name)],
      collect() {
        this.reset();
        for (const [value, sum] of sums()) this.inc({ [label]: value }, sum);
      },
    });
  }

  /** @param buckets Upper bounds, rising. */
  histogram(names: Names, help: string, buckets: number[]): CountedHistogram {
    const histogram = new CountedHistogram(help, buckets);
    for (const name of names) {
      this.of(name).registerMetric(histogram.named(name) as unknown as Metric);
    }
    return histogram;
  }

  /** Values by labels, of which each may have some; they are asked for whenever metrics are read. */
  gauges<Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[],
    values: () => readonly (readonly [Readonly<Partial<Record<Label, string>>>, number])[],
  ): void {
    new Gauge({
      name,
      help,
      labelNames,
      registers: [this.of(name)],
      collect() {
        this.reset();
        for (const [labels, value] of values()) this.set({ ...labels }, value);
      },
    });
  }

  /** Facts as labels; the value is 1. They are asked for whenever metrics are read; undefined: there are none. */
  info<Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[],
    facts: () => Readonly<Record<Label, string>> | undefined,
  ): void {
    new Gauge({
      name,
      help,
      labelNames,
      registers: [this.of(name)],
      collect() {
        this.reset();
        const present = facts();
        if (present !== undefined) this.set(present, 1);
      },
    });
  }

  /** All of them in Prometheus's text format. */
  async text(): Promise<string> {
    const pages = await Promise.all([this.own.metrics(), this.vllm.metrics()]);
    return pages.join("\n");
  }

  private of(name: string): Registry {
    return name.startsWith(VLLM) ? this.vllm : this.own;
  }
}

/** The content type of {@link MetricRegistry.text}. */
export const METRICS_TYPE = new Registry().contentType;

/** Several registries' texts as one, in which the samples of a metric stand together, as Prometheus wants them. */
export function mergeTexts(texts: readonly string[]): string {
  const families = new Map<string, string[]>();
  for (const text of texts) {
    let samples: string[] = [];
    for (const line of text.split("\n")) {
      if (line.startsWith("# HELP ")) {
        const known = families.get(line);
        samples = known ?? [];
        if (known === undefined) families.set(line, samples);
      } else if (line !== "" && !(line.startsWith("# TYPE ") && samples.includes(line))) {
        samples.push(line);
      }
    }
  }
  return [...families].map(([help, lines]) => [help, ...lines].join("\n") + "\n").join("\n");
}
