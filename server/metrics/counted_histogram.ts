/**
 * A histogram without labels that counts fast: it observes every token. It has what prom-client's registry asks of a
 * metric, under one or several names.
 */
export class CountedHistogram {
  /** Values up to each bound and above the one before; the last are above all. */
  private readonly counts: number[];
  private sum = 0;
  private count = 0;

  /** @param bounds Upper bounds, rising. */
  constructor(private readonly help: string, private readonly bounds: readonly number[]) {
    this.counts = new Array(bounds.length + 1).fill(0);
  }

  /**
   * Counts a value.
   *
   * @throws {TypeError} For one that is not finite.
   */
  observe(value: number): void {
    if (!Number.isFinite(value)) throw new TypeError(`got the value ${value}; wanted a finite one`);
    const { bounds } = this;
    let at = 0;
    while (at < bounds.length && value > bounds[at]) at++;
    this.counts[at]++;
    this.sum += value;
    this.count++;
  }

  /** The metric under a name, as a registry asks for it. */
  named(name: string) {
    return { name, get: () => Promise.resolve(this.collect(name)) };
  }

  private collect(name: string) {
    const metricName = `${name}_bucket`;
    let below = 0;
    const buckets = [...this.bounds, "+Inf"].map((le, i) => {
      below += this.counts[i];
      return { labels: { le }, value: below, metricName };
    });
    const values = [
      ...buckets,
      { labels: {}, value: this.sum, metricName: `${name}_sum` },
      { labels: {}, value: this.count, metricName: `${name}_count` },
    ];
    return { name, help: this.help, type: "histogram", values, aggregator: "sum" };
  }
}
