import type { ManagedEngine, ResidentState, UnloadReason } from "./types.ts";

/** The longest that a timer can run. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** A model in memory, or on its way in or out. {@link ModelManager} alone changes it. */
export class Resident<E extends ManagedEngine> {
  state: ResidentState = "loading";
  engine?: E;
  /** How many use it. */
  leases = 0;
  /** Counts up with every use of any model: the least is the least recently used. */
  used = 0;
  keepAliveMs = Infinity;
  /** Why it must go when its users are done. It takes no new ones then, unless it has only expired. */
  leaving?: UnloadReason;
  private timer?: number;
  private expiresAt?: number;
  private readonly left = Promise.withResolvers<void>();

  constructor(readonly name: string, private readonly now: () => number) {}

  /** Resolves when it is gone. */
  get gone(): Promise<void> {
    return this.left.promise;
  }

  /** Whether it takes new users. */
  get open(): boolean {
    return this.state === "ready" && (this.leaving === undefined || this.leaving === "idle");
  }

  /** Why its engine cannot compute any more. */
  get failure(): string | undefined {
    return this.engine?.status().failed;
  }

  /** Milliseconds until it expires. */
  get expiresMs(): number | undefined {
    return this.expiresAt === undefined ? undefined : Math.max(0, this.expiresAt - this.now());
  }

  /** It has no user: its time begins. */
  rest(expired: () => void): void {
    this.wake();
    if (this.keepAliveMs > LONGEST_TIMER_MS) return;
    this.expiresAt = this.now() + this.keepAliveMs;
    this.timer = setTimeout(expired, this.keepAliveMs);
    Deno.unrefTimer(this.timer);
  }

  /** It has a user. */
  wake(): void {
    clearTimeout(this.timer);
    this.timer = this.expiresAt = undefined;
  }

  /** It is gone. */
  leave(): void {
    this.wake();
    this.left.resolve();
  }
}
