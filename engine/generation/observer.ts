import type { GenerationObserver } from "./generation_report.ts";
import type { StepReport } from "../scheduler/mod.ts";

/** Observes an engine. */
export interface EngineObserver extends GenerationObserver {
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
