import type { StepResult, StepSequence } from "../../device/mod.ts";
import type { Deliveries } from "../sequences/deliveries.ts";
import type { Outcomes } from "./outcomes.ts";
import type { KvBlockManager } from "../kv_blocks/kv_block_manager.ts";
import type { SchedulerCounts, StepReport } from "../report.ts";
import type { Roster } from "../sequences/roster.ts";
import { runLimits, RunPlanner } from "./run_planner.ts";
import { RunUnderWay } from "./run_under_way.ts";
import type { SchedulerDevice } from "../scheduler_options.ts";
import type { States } from "../kv_blocks/states.ts";
import type { Turn } from "./turn.ts";

/** The scheduler's parts that {@link Runs} use. */
export interface RunsClient {
  readonly device: Pick<SchedulerDevice, "run" | "wantsSteps">;
  readonly roster: Roster;
  readonly kvBlockManager: KvBlockManager;
  readonly states?: States;
  readonly outcomes: Outcomes;
  readonly deliveries: Deliveries;
  readonly counts: Pick<SchedulerCounts, "runs" | "runSteps">;
  readonly now: () => number;
  /** Called after each step of a run. */
  readonly onStep: (report: StepReport) => void;
}

/** The runs of a scheduler: steps that its device makes by itself, whose tokens are processed as they come. */
export class Runs {
  private readonly planner: RunPlanner;
  /** The run that the device has or is about to get, and whether it should be short. */
  private current?: RunUnderWay;
  private endsSoon = false;

  /**
   * @param mostSteps Of one run; 1: there are none.
   * @param maxRunning Sequences that run at the same time.
   */
  constructor(private readonly client: RunsClient, mostSteps: number, maxRunning: number) {
    const { device, roster, kvBlockManager, states } = client;
    const steps = device.run === undefined ? 1 : mostSteps;
    const wantsSteps = (rows: number) => device.wantsSteps?.(rows) ?? false;
    this.planner = new RunPlanner(roster, kvBlockManager, states, steps, maxRunning, wantsSteps);
  }

  /** Another user wants the device: the current or planned run begins no more steps. */
  endRunSoon(): void {
    this.endsSoon = true;
    this.current?.stop();
  }

  /** A sequence has arrived. */
  arrive(): void {
    if (this.planner.hasPlaces) this.endRunSoon();
  }

  /** Earlier requests for the device are served before the next step. */
  relax(): void {
    this.endsSoon = false;
  }

  /** See {@link RunPlanner.plan}. */
  plan(turns: readonly Turn[]): number {
    return this.planner.plan(turns);
  }

  /**
   * A run is about to be given to the device.
   *
   * @param before When the step before was over, where there was one.
   */
  begin(turns: readonly Turn[], before?: number): RunUnderWay {
    const run = this.current = new RunUnderWay(turns, this.client.now(), before);
    if (this.endsSoon) run.stop();
    return run;
  }

  /** Gives the device a run of so many steps at most; resolves when it is over. */
  async give(
    run: RunUnderWay,
    parts: readonly StepSequence[],
    steps: number,
  ): Promise<StepResult> {
    const { device, outcomes, deliveries, states, counts } = this.client;
    counts.runs++;
    const limits = run.turns.map(({ sequence }) => ({
      ...runLimits(sequence),
      later: states?.laterOf(sequence),
    }));
    const given = device.run!(parts, steps, limits, (outputs) => {
      const step = run.next(outputs);
      outcomes.take(step.turns, step.outputs);
      deliveries.deliver();
      // They are fewer from the next step on.
      if (run.hasEnded) run.stop();
      // Several may have come together.
      queueMicrotask(() => this.report(run));
    });
    run.begins(given);
    await given.over;
    return { outputs: [] };
  }

  /** A run is over, however it ended. */
  end(run: RunUnderWay): void {
    this.current = undefined;
    this.report(run);
    this.trim(run.turns);
  }

  /** Gives back what was reserved for steps that will not be. */
  trim(turns: readonly Turn[]): void {
    const { roster, states } = this.client;
    for (const { sequence } of turns) {
      if (!sequence.runs) continue;
      roster.trim(sequence);
      states?.endRun(sequence);
    }
  }

  /** Reports the steps that have come since the last time. */
  private report(run: RunUnderWay): void {
    const { counts, now, onStep } = this.client;
    for (const report of run.takeReports(now())) {
      counts.runSteps++;
      onStep(report);
    }
  }
}
