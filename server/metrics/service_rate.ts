import type { EngineStatus, GenerationReport, StepReport } from "../../engine/mod.ts";

/** How far back {@link ServiceRate.tokensPerSecond} looks, in seconds. */
const WINDOW_SECONDS = 10;
/** The weight of the newest request in the mean time that one takes. */
const NEWEST = 0.1;
/** The longest that a client is asked to stay away, in seconds. */
const LONGEST_WAIT_SECONDS = 60;

/** How fast requests are served at present. */
export class ServiceRate {
  /** Tokens sampled in each of the last seconds, by the second modulo the window. */
  private readonly sampled = new Float64Array(WINDOW_SECONDS);
  private newest = 0;
  private first?: number;
  /** The mean time from a request's admission to its end, in milliseconds. */
  private runMs?: number;

  /** @param now Milliseconds, rising. */
  constructor(private readonly now: () => number = () => performance.now()) {}

  step({ decodeTokens }: Pick<StepReport, "decodeTokens">): void {
    this.advance();
    this.sampled[this.newest % WINDOW_SECONDS] += decodeTokens;
  }

  generation({ totalMs, queueMs }: Pick<GenerationReport, "totalMs" | "queueMs">): void {
    if (queueMs === undefined) return;
    const took = totalMs - queueMs;
    this.runMs = this.runMs === undefined ? took : this.runMs + NEWEST * (took - this.runMs);
  }

  /** Tokens a second that sequences decoded in the last seconds. */
  tokensPerSecond(): number {
    this.advance();
    if (this.first === undefined) return 0;
    const seconds = Math.min(WINDOW_SECONDS - 1, (this.now() - this.first) / 1000);
    return this.sampled.reduce((sum, one) => sum + one, 0) / Math.max(1, seconds);
  }

  /**
   * When a client that found the queue full may come again, in seconds: when half of the waiting requests will have
   * been admitted, judged by how long requests took so far.
   */
  retryAfterSeconds({ running, waiting }: Pick<EngineStatus, "running" | "waiting">): number {
    const letIn = Math.max(1, waiting / 2);
    const seconds = (this.runMs ?? 0) / 1000 * letIn / Math.max(1, running);
    return Math.min(LONGEST_WAIT_SECONDS, Math.max(1, Math.ceil(seconds)));
  }

  /** Empties the seconds that have started since the last call. */
  private advance(): void {
    const now = this.now();
    this.first ??= now;
    const second = Math.floor(now / 1000);
    const passed = Math.min(second - this.newest, WINDOW_SECONDS);
    for (let i = 1; i <= passed; i++) this.sampled[(second - passed + i) % WINDOW_SECONDS] = 0;
    this.newest = second;
  }
}
