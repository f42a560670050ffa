import { fitsRun, type RunLimits } from "../../device/mod.ts";
import type { KvBlockManager } from "../kv_blocks/kv_block_manager.ts";
import type { Roster } from "../sequences/roster.ts";
import type { Sequence } from "../sequences/sequence.ts";
import type { States } from "../kv_blocks/states.ts";
import type { Turn } from "./turn.ts";

/**
 * Plans runs: steps of the same sequences that a device makes by itself, from token to token.
 *
 * All sequences of a run decode, one token each, and their sampling depends on the token's number alone. None
 * may wait that could be admitted. A run reserves all memory when it begins and preempts no sequence.
 */
export class RunPlanner {
  /**
   * @param mostSteps Of one run; 1: there are no runs.
   * @param maxRunning Sequences that run at the same time.
   * @param wantsSteps Whether the device is to be given steps of so many rows one by one all the same.
   */
  constructor(
    private readonly roster: Roster,
    private readonly kvBlockManager: KvBlockManager,
    private readonly states: States | undefined,
    private readonly mostSteps: number,
    private readonly maxRunning: number,
    private readonly wantsSteps: (rows: number) => boolean,
  ) {}

  /** Whether an arriving sequence could take part in the next step. */
  get hasPlaces(): boolean {
    return this.roster.running.length < this.maxRunning;
  }

  /**
   * How many steps these turns, which are planned and have not begun, are the first of; 1: no run. Afterwards each of their
   * sequences holds the KV blocks and slots that it writes to in all of them.
   */
  plan(turns: readonly Turn[]): number {
    const { running, waiting } = this.roster;
    if (this.mostSteps <= 1 || turns.length === 0 || turns.length < running.length) return 1;
    if (waiting.length > 0 && this.hasPlaces) return 1;
    if (!turns.every(isPlain) || this.wantsSteps(turns.length)) return 1;
    const limits = turns.map(({ sequence }) => runLimits(sequence));
    if (!fitsRun(limits)) return 1;
    const left = limits.map(({ tokens }) => tokens);
    let steps = Math.min(this.mostSteps, this.states ? Math.min(...left) : Math.max(...left));
    while (steps > 1 && this.kvBlocksFor(turns, steps) > this.kvBlockManager.freeKvBlocks) {
      steps = Math.floor(steps / 2);
    }
    if (steps <= 1) return 1;
    for (const { sequence } of turns) steps = this.states?.reserveRun(sequence, steps) ?? steps;
    const reserved = steps > 1 &&
      turns.every(({ sequence }) => this.roster.reserve(sequence, rowsOf(sequence, steps), false));
    if (reserved) return steps;
    for (const { sequence } of turns) this.states?.endRun(sequence);
    return 1;
  }

  /** KV blocks that they need in addition to their own. */
  private kvBlocksFor(turns: readonly Turn[], steps: number): number {
    const { kvBlockTokens } = this.kvBlockManager;
    let needed = 0;
    for (const { sequence } of turns) {
      const end = Math.ceil((sequence.begun + rowsOf(sequence, steps)) / kvBlockTokens);
      for (const kvBlocks of sequence.kvBlocks) needed += Math.max(0, end - kvBlocks.length);
    }
    return needed;
  }
}

/** When a sequence of a run samples no more. */
export function runLimits({ maxTokens, sampled, endTokens }: Sequence): RunLimits {
  return { tokens: maxTokens - sampled, endTokens };
}

/** Rows that a sequence computes in so many steps, at most. */
function rowsOf(sequence: Sequence, steps: number): number {
  return Math.min(steps, runLimits(sequence).tokens);
}

/** Whether a turn is one of those that follow from the one before. */
function isPlain({ sequence, count, guesses, outputs, samplesNext }: Turn): boolean {
  return samplesNext && count === 1 && guesses.length === 0 && outputs === 1 && sequence.canRun;
}
