import type { StepReport } from "../scheduler/mod.ts";

/** Why a generation is complete: an end token or a stop string, or as many tokens as were asked for. */
export type FinishReason = "stop" | "length";

/** How long a request took, in milliseconds. */
export interface GenerationTimes {
  /** From the request's arrival until its first admission; absent where it was never admitted. */
  readonly queueMs?: number;
  /** From the request's arrival to its first token; absent where there was none. */
  readonly firstTokenMs?: number;
  /** From its first token to its last; absent where there was none. */
  readonly decodeMs?: number;
}

/** The outcome and the times of a request, in milliseconds. */
export interface GenerationReport extends GenerationTimes {
  readonly promptTokens: number;
  /** Those of them that were found in the prefix cache. */
  readonly cachedTokens: number;
  readonly completionTokens: number;
  /** Tokens that might have been sampled. */
  readonly maxTokens: number;
  /**
   * "cancelled" where it ended before it was complete, "timeout" where its deadline passed, "error" where
   * it failed.
   */
  readonly outcome: FinishReason | "cancelled" | "timeout" | "error";
  /** The mean time between its tokens after the first; absent where there was one at most. */
  readonly tokenMs?: number;
  /** From the request's arrival to its end. */
  readonly totalMs: number;
}

/** Observes an engine. */
export interface EngineObserver {
  /** Called at a request's first token: milliseconds since the request's arrival. */
  firstToken?(milliseconds: number): void;
  /** After every token but a request's first: milliseconds since the one before it. */
  token?(milliseconds: number): void;
  /** After every request, whatever became of it. */
  generation?(report: GenerationReport): void;
  /** After every step. */
  step?(report: StepReport): void;
}

/** Notifies an observer, and catches what it throws. */
export class GuardedObserver {
  /** The observer; it may change at any time. */
  observer?: EngineObserver;
  /** How often it has thrown. */
  errors = 0;

  /** @param onError Receives what it throws first. */
  constructor(private readonly onError?: (error: unknown) => void) {}

  /** Calls one of the observer's functions, where it has that. */
  notify<K extends keyof EngineObserver>(
    kind: K,
    value: Parameters<Required<EngineObserver>[K]>[0],
  ): void {
    try {
      this.observer?.[kind]?.(value as never);
    } catch (error) {
      this.note(error);
    }
  }

  /** Another callback, which then throws nothing. */
  guard<T>(call: (value: T) => void): (value: T) => void {
    return (value) => {
      try {
        call(value);
      } catch (error) {
        this.note(error);
      }
    };
  }

  /** Counts an error that is reported nowhere else, and reports the first. */
  note(error: unknown): void {
    if (this.errors++ > 0) return;
    try {
      this.onError?.(error);
    } catch {
      // An error in reporting an error is dropped.
    }
  }
}
