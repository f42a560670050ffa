import { Counter, Gauge, Histogram, Registry } from "prom-client";

/** m40's name of a metric, then vLLM's. */
export type Names = readonly [string, ...string[]];

/** What the names of vLLM's metrics begin with. */
const VLLM = "vllm:";

/**
 * Metrics under m40's names and vLLM's. All have the label `model_name`; vLLM's have `engine` too, the
 * number that tells engines of one server apart, which its dashboards and load balancers select by.
 */
export class MetricRegistry {
  private readonly own = new Registry();
  private readonly vllm = new Registry();

  constructor(modelName: string) {
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

  /** A sum that somebody else keeps, asked for whenever metrics are read. */
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

  /** A counter by the value of a label. Values that have not come up yet are there, as 0: a rate is 0 then and not absent. */
  labelled(
    name: string,
    help: string,
    label: string,
    values: readonly string[] = [],
  ): (value: string) => void {
    const counter = new Counter({
      name,
      help,
      labelNames: [label],
      registers: [this.of(name)],
    });
    for (const value of values) counter.inc({ [label]: value }, 0);
    return (value) => counter.inc({ [label]: value });
  }

  /** @param buckets Upper bounds, rising. */
  histogram(names: Names, help: string, buckets: number[]): (value: number) => void {
    const histograms = names.map((name) =>
      new Histogram({ name, help, buckets, registers: [this.of(name)] })
    );
    return (value) => {
      for (const histogram of histograms) histogram.observe(value);
    };
  }

  /** Values that do not change, by a label. */
  constants(name: string, help: string, label: string, values: Record<string, number>): void {
    const gauge = new Gauge({ name, help, labelNames: [label], registers: [this.of(name)] });
    for (const [key, value] of Object.entries(values)) gauge.set({ [label]: key }, value);
  }

  /** Facts as labels; the value is 1. */
  info(name: string, help: string, labels: Record<string, string>): void {
    const labelNames = Object.keys(labels);
    new Gauge({ name, help, labelNames, registers: [this.of(name)] }).set(labels, 1);
  }

  /** All of them in Prometheus's text format. */
  async page(): Promise<{ contentType: string; text: string }> {
    const pages = await Promise.all([this.own.metrics(), this.vllm.metrics()]);
    return { contentType: this.own.contentType, text: pages.join("\n") };
  }

  private of(name: string): Registry {
    return name.startsWith(VLLM) ? this.vllm : this.own;
  }
}
