import type { GenerationObserver, GenerationReport } from "./generation_report.ts";
import type { StepReport } from "../scheduler/mod.ts";

/** Observes an engine. */
export interface EngineObserver extends GenerationObserver {
  /** After every step. */
  step?(report: StepReport): void;
}

/** Notifies an observer, and catches what it throws. */
export class GuardedObserver implements Required<EngineObserver> {
  /** The observer; it may change at any time. */
  observer?: EngineObserver;
  /** How often it has thrown. */
  errors = 0;

  /** @param onError Receives what it throws first. */
  constructor(private readonly onError?: (error: unknown) => void) {}

  step(report: StepReport): void {
    this.notify((observer) => observer.step?.(report));
  }

  firstToken(milliseconds: number): void {
    this.notify((observer) => observer.firstToken?.(milliseconds));
  }

  token(milliseconds: number): void {
    this.notify((observer) => observer.token?.(milliseconds));
  }

  generation(report: GenerationReport): void {
    this.notify((observer) => observer.generation?.(report));
  }

  private notify(say: (observer: EngineObserver) => void): void {
    if (this.observer === undefined) return;
    try {
      say(this.observer);
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
