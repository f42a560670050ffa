import type { GenerationObserver, GenerationReport } from "./generation_report.ts";
import type { StepReport } from "../scheduler/mod.ts";

/** Who is told what happens in an engine. */
export interface EngineObserver extends GenerationObserver {
  /** After every step. */
  step?(report: StepReport): void;
}

/** Tells an observer, and keeps what it throws from everybody else. */
export class GuardedObserver implements Required<EngineObserver> {
  /** Who is told; it may change at any time. */
  observer?: EngineObserver;
  /** How often it has thrown. */
  errors = 0;

  /** @param onError Told what it throws, the first time. */
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

  /** Counts an error that nobody is told of otherwise, and reports the first. */
  note(error: unknown): void {
    if (this.errors++ > 0) return;
    try {
      this.onError?.(error);
    } catch {
      // Who cannot even be told of an error is not told.
    }
  }
}
