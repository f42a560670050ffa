import type { DeviceRun, StepOutput } from "../../device/mod.ts";
import type { StepReport } from "../report.ts";
import type { Turn } from "./turn.ts";

/** One step of a run: its turns and their outputs. */
export interface RunStep {
  readonly turns: readonly Turn[];
  readonly outputs: readonly StepOutput[];
}

/** A run that the device has not ended: its sequences, and when its steps came. */
export class RunUnderWay {
  private steps = 0;
  private stops = false;
  private run?: DeviceRun;
  /** The rows of steps not reported yet, and when the last reported one came. */
  private unreported: number[] = [];
  private lastAt: number;
  private gapMilliseconds?: number;

  /**
   * @param turns Those of the first step.
   * @param start When it was given, in milliseconds.
   * @param before When the step before was over, where there was one.
   */
  constructor(readonly turns: readonly Turn[], start: number, before?: number) {
    this.lastAt = start;
    this.gapMilliseconds = before && start - before;
  }

  /** The device has it. */
  begins(run: DeviceRun): void {
    this.run = run;
    if (this.stops) run.stop();
  }

  /** No more steps begin than the device was given already. */
  stop(): void {
    if (this.stops) return;
    this.stops = true;
    this.run?.stop();
  }

  /** Whether a sequence of the run has ended. */
  get hasEnded(): boolean {
    return this.turns.some(({ sequence }) => !sequence.runs);
  }

  /** The next step, as what its outputs gave says it: none of a sequence that ended before. */
  next(outputs: readonly (StepOutput | undefined)[]): RunStep {
    const index = this.steps++;
    const own = this.turns.flatMap((turn, i) => {
      const output = outputs[i];
      const one = { ...turn, position: turn.position + index };
      return output === undefined ? [] : [{ turn: one, output }];
    });
    if (own.length > 0) this.unreported.push(own.length);
    return { turns: own.map(({ turn }) => turn), outputs: own.map(({ output }) => output) };
  }

  /** Reports of the steps that came since the last call. The device does not wait between two of them. */
  takeReports(now: number): StepReport[] {
    if (this.unreported.length === 0) return [];
    const milliseconds = (now - this.lastAt) / this.unreported.length;
    const reports = this.unreported.map((decodeTokens) => {
      const { gapMilliseconds } = this;
      this.gapMilliseconds = 0;
      return { promptTokens: 0, decodeTokens, milliseconds, gapMilliseconds, inRun: true };
    });
    this.unreported = [];
    this.lastAt = now;
    return reports;
  }
}
