import { Random } from "./random.ts";

/** Values that are kept of each kind; of more, a random part stands for all. */
const MOST_SAMPLES = 500_000;

/** Durations, in milliseconds. */
export class Samples {
  private readonly values: number[] = [];
  private readonly random = new Random(7);
  count = 0;
  max = 0;

  add(value: number): void {
    this.count++;
    this.max = Math.max(this.max, value);
    if (this.values.length < MOST_SAMPLES) {
      this.values.push(value);
      return;
    }
    const place = this.random.integer(0, this.count - 1);
    if (place < MOST_SAMPLES) this.values[place] = value;
  }

  summary(): Percentiles | undefined {
    if (this.count === 0) return undefined;
    const sorted = Float64Array.from(this.values).sort();
    // The smallest value that so large a share of all does not exceed.
    const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
    return { count: this.count, p50: at(0.5), p90: at(0.9), p99: at(0.99), max: this.max };
  }
}

/** How durations are spread, in milliseconds. */
export interface Percentiles {
  readonly count: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

/** What clients have seen. */
export class Results {
  /** Requests that were answered to their end. */
  completed = 0;
  /** Requests that their client left. */
  left = 0;
  /** Answers with 429: the queue was full. */
  refused = 0;
  promptTokens = 0;
  generatedTokens = 0;
  readonly errors = new Map<string, number>();
  /** From sending a streamed request to its first text. */
  readonly firstToken = new Samples();
  /** Between two events with text of a stream. */
  readonly perToken = new Samples();
  /** From sending a request to the end of its answer. */
  readonly whole = new Samples();

  error(kind: string): void {
    this.errors.set(kind, (this.errors.get(kind) ?? 0) + 1);
  }

  report(seconds: number): Report {
    return {
      seconds,
      completed: this.completed,
      left: this.left,
      refused: this.refused,
      errors: Object.fromEntries(this.errors),
      requestsPerSecond: this.completed / seconds,
      promptTokens: this.promptTokens,
      generatedTokens: this.generatedTokens,
      generatedTokensPerSecond: this.generatedTokens / seconds,
      firstTokenMs: this.firstToken.summary(),
      perTokenMs: this.perToken.summary(),
      requestMs: this.whole.summary(),
    };
  }
}

/** The result of a run. */
export interface Report {
  readonly seconds: number;
  readonly completed: number;
  readonly left: number;
  readonly refused: number;
  /** By kind. */
  readonly errors: Readonly<Record<string, number>>;
  readonly requestsPerSecond: number;
  /** Of completed requests, as their answers report. */
  readonly promptTokens: number;
  readonly generatedTokens: number;
  readonly generatedTokensPerSecond: number;
  readonly firstTokenMs?: Percentiles;
  readonly perTokenMs?: Percentiles;
  readonly requestMs?: Percentiles;
}

/** A report for a person. */
export function formatReport(report: Report): string {
  const lines = [
    `${
      report.seconds.toFixed(1)
    } s: ${report.completed} requests completed, ${report.left} left by ` +
    `their client, ${report.refused} refused (429)`,
    `${report.requestsPerSecond.toFixed(2)} requests/s, ${
      report.generatedTokensPerSecond.toFixed(1)
    } generated tokens/s (${report.promptTokens} prompt and ${report.generatedTokens} generated ` +
    "tokens of completed requests)",
    "",
    "ms".padEnd(16) +
    ["count", "p50", "p90", "p99", "max"].map((head) => head.padStart(10)).join(""),
  ];
  const rows: [string, Percentiles | undefined][] = [
    ["first token", report.firstTokenMs],
    ["per token", report.perTokenMs],
    ["whole request", report.requestMs],
  ];
  for (const [name, row] of rows) {
    const cells = row === undefined
      ? ["0", "-", "-", "-", "-"]
      : [String(row.count), ...[row.p50, row.p90, row.p99, row.max].map((ms) => ms.toFixed(1))];
    lines.push(name.padEnd(16) + cells.map((cell) => cell.padStart(10)).join(""));
  }
  const errors = Object.entries(report.errors);
  lines.push("", errors.length === 0 ? "no errors" : "errors:");
  for (const [kind, count] of errors) lines.push(`  ${count} × ${kind}`);
  return lines.join("\n") + "\n";
}
