import { type DeviceRun, fitsRun, type RunLimits, type StepResult } from "../../device/mod.ts";
import type { KvBlockManager } from "../kv_blocks/kv_block_manager.ts";
import type { States } from "../kv_blocks/states.ts";
import type { SchedulerCounts } from "../report.ts";
import type { SchedulerDevice } from "../scheduler_options.ts";
import type { Roster } from "../sequences/roster.ts";
import type { Sequence, Turn } from "../sequences/sequence.ts";
import type { Outcomes } from "./outcomes.ts";
import type { StepsUnderWay, StepUnderWay } from "./steps_under_way.ts";

/** The scheduler's parts that {@link Runs} use. */
export interface RunsClient {
  readonly device: Pick<SchedulerDevice, "run" | "wantsSteps">;
  readonly roster: Roster;
  readonly kvBlockManager: KvBlockManager;
  readonly states?: States;
  readonly outcomes: Outcomes;
  readonly underWay: StepsUnderWay;
  readonly counts: SchedulerCounts;
  readonly now: () => number;
}

/**
 * Runs: steps of the same sequences that a device makes by itself, from token to token, whose tokens are processed as
 * they come. There is one at a time.
 *
 * All sequences of a run decode, one token each, and their sampling depends on the token's number alone. None
 * may wait that could be admitted. A run reserves all memory when it begins and preempts no sequence.
 */
export class Runs {
  /** Whether the device has others to serve: the current run, or the next, begins no more steps. */
  endsSoon = false;
  /** The device's run, while nothing has asked it to stop. */
  private current?: DeviceRun;
  private readonly mostSteps: number;

  /**
   * @param mostSteps Of one run; 1: there are none.
   * @param maxRunning Sequences that run at the same time.
   */
  constructor(
    private readonly client: RunsClient,
    mostSteps: number,
    private readonly maxRunning: number,
  ) {
    this.mostSteps = client.device.run === undefined ? 1 : mostSteps;
  }

  /** The current run, or the next, begins no more steps. */
  endSoon(): void {
    this.endsSoon = true;
    this.current?.stop();
    this.current = undefined;
  }

  /**
   * How many steps these turns, which are planned and have not begun, are the first of; 1: no run. Afterwards each of their
   * sequences holds the KV blocks and slots that it writes to in all of them.
   */
  plan(turns: readonly Turn[]): number {
    const { roster, kvBlockManager, states, device } = this.client;
    const { running, waiting } = roster;
    if (this.mostSteps <= 1 || turns.length === 0 || turns.length < running.length) return 1;
    if (waiting.length > 0 && running.length < this.maxRunning) return 1;
    if (device.wantsSteps?.(turns.length)) return 1;
    const limits: RunLimits[] = [];
    let fewest = Infinity;
    let most = 0;
    for (const turn of turns) {
      if (!isPlain(turn)) return 1;
      const { maxTokens, sampled, endTokens } = turn.sequence;
      const tokens = maxTokens - sampled;
      limits.push({ tokens, endTokens });
      fewest = Math.min(fewest, tokens);
      most = Math.max(most, tokens);
    }
    if (!fitsRun(limits)) return 1;
    let steps = Math.min(this.mostSteps, states ? fewest : most);
    while (steps > 1 && this.kvBlocksFor(turns, steps) > kvBlockManager.freeKvBlocks) {
      steps = Math.floor(steps / 2);
    }
    if (steps <= 1) return 1;
    if (states) { for (const { sequence } of turns) steps = states.reserveRun(sequence, steps); }
    const reserved = steps > 1 &&
      turns.every(({ sequence }) => roster.reserve(sequence, rowsIn(sequence, steps), false));
    if (reserved) return steps;
    if (states) { for (const { sequence } of turns) states.endRun(sequence); }
    return 1;
  }

  /** Gives the device a run of so many steps at most; resolves when it is over. */
  async give(step: StepUnderWay, steps: number): Promise<StepResult> {
    const { device, outcomes, states, counts, underWay, now } = this.client;
    const { turns } = step;
    counts.runs++;
    const limits = turns.map(({ sequence }) => ({
      tokens: sequence.maxTokens - sequence.sampled,
      endTokens: sequence.endTokens,
      later: states?.laterOf(sequence),
    }));
    const run = this.current = device.run!(turns, steps, limits, (outputs, isOver) => {
      let rows = 0;
      for (const output of outputs) if (output !== undefined) rows++;
      if (rows > 0) step.unreported.push(rows);
      outcomes.take(turns, outputs);
      // The last samples are delivered when the device has its next step.
      if (!isOver) outcomes.deliver();
      for (const turn of turns) {
        turn.position++;
        // They are fewer from the next step on.
        if (!turn.sequence.runs) this.endSoon();
      }
      // Several may have come together.
      queueMicrotask(() => underWay.report(step, now()));
    });
    if (this.endsSoon) this.endSoon();
    await run.over;
    return { outputs: [] };
  }

  /** A run is over, however it ended. */
  end(step: StepUnderWay): void {
    this.current = undefined;
    this.client.underWay.report(step, this.client.now());
    this.trim(step.turns);
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

  /** KV blocks that they need in addition to their own. */
  private kvBlocksFor(turns: readonly Turn[], steps: number): number {
    const { kvBlockTokens } = this.client.kvBlockManager;
    let needed = 0;
    for (const { sequence } of turns) {
      const end = Math.ceil((sequence.begun + rowsIn(sequence, steps)) / kvBlockTokens);
      for (const kvBlocks of sequence.kvBlocks) needed += Math.max(0, end - kvBlocks.length);
    }
    return needed;
  }
}

/** Rows that a sequence computes in so many steps, at most. */
function rowsIn({ maxTokens, sampled }: Sequence, steps: number): number {
  return Math.min(steps, maxTokens - sampled);
}

/** Whether a turn is one of those that follow from the one before. */
function isPlain({ sequence, tokens, outputs, samplesNext }: Turn): boolean {
  return samplesNext && tokens.length === 1 && outputs.length === 1 &&
    sequence.draft === undefined && sequence.hidden === undefined && sequence.uncomputed === 0 &&
    sequence.sampler.isFixed;
}
