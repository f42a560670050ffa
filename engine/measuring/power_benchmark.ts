/**
 * Tokens per joule: a device that computes the same for a while, at one power after the other.
 *
 * @module
 */
import { benchmark } from "./benchmark.ts";
import type { DeviceState } from "../device/mod.ts";
import { type Energy, Pacer, PowerMeter } from "../power/mod.ts";
import type { Engine } from "../engine.ts";
import { M40Error } from "../errors.ts";

/** What a device computes again and again. */
export interface PowerWork {
  readonly kind: "prefill" | "decode";
  /** Tokens of the prompt, or sequences that decode. */
  readonly size: number;
}

/** How a measurement is made. */
export interface PowerRun {
  readonly engine: Engine;
  /** The device's state now. */
  readonly state: () => Promise<DeviceState>;
  /** How long the device computes before it is measured, until its clocks are those of the limit, and how long then. */
  readonly settleMs: number;
  readonly measureMs: number;
  /** Decode steps before a sequence starts again. */
  readonly steps: number;
  /** Held by pauses between steps; absent: not by those. */
  readonly paceWatts?: number;
  readonly signal?: AbortSignal;
}

/** What a time of work took. */
export interface PowerMeasurement {
  readonly work: PowerWork;
  readonly tokens: number;
  readonly energy: Energy;
  /** The share of the time in which the device paused between steps, 0 to 1. */
  readonly restShare: number;
  /** The device at the end of it. */
  readonly state: DeviceState;
}

/** Ends the work from within a step. */
class Over extends Error {}

/**
 * Has the device compute, and measures what it draws.
 *
 * @returns Undefined where the work does not fit the context or the KV cache.
 * @throws {M40Error} `unsupported` where the device does not say what it draws; `cancelled` when the signal aborts.
 */
export async function measurePower(
  work: PowerWork,
  { engine, state, settleMs, measureMs, steps, paceWatts, signal }: PowerRun,
): Promise<PowerMeasurement | undefined> {
  const pacer = paceWatts === undefined
    ? undefined
    : new Pacer({ maxPowerWatts: paceWatts }, state);
  const start = performance.now();
  let meter: PowerMeter | undefined;
  let tokens = 0;
  let restedMs = 0;
  let last = { tookMs: 0, ended: start };
  const plan = {
    prompts: work.kind === "prefill" ? [work.size] : [],
    batches: work.kind === "decode" ? [work.size] : [],
    depths: work.kind === "decode" ? [0] : [],
    steps,
    repetitions: Infinity,
  };
  let energy: Energy | undefined;
  try {
    const timed = benchmark(engine, plan, async (device, sequences) => {
      signal?.throwIfAborted();
      if (meter === undefined && performance.now() - start >= settleMs) {
        meter = await PowerMeter.start(state);
        if (meter === undefined) throw new M40Error("unsupported", SAYS_NOTHING);
        [tokens, restedMs] = [0, 0];
      }
      restedMs += await pacer?.rest(last.tookMs, performance.now() - last.ended) ?? 0;
      const begun = performance.now();
      const result = await device.step(sequences);
      const ended = performance.now();
      last = { tookMs: ended - begun, ended };
      tokens += sequences.reduce((sum, { tokens }) => sum + tokens.length, 0);
      if (meter !== undefined && ended - start >= settleMs + measureMs) {
        energy = await meter.stop();
        throw new Over();
      }
      return result;
    });
    // It goes on until it is over, or begins not at all.
    await timed.next();
    return undefined;
  } catch (error) {
    if (error instanceof Over && energy !== undefined) {
      const restShare = restedMs / 1000 / energy.seconds;
      return { work, tokens, energy, restShare, state: await state() };
    }
    if (signal?.aborted) throw new M40Error("cancelled", "The measurement was ended.");
    throw error;
  } finally {
    if (energy === undefined) await meter?.stop().catch(() => {});
  }
}

/** @throws {M40Error} `unsupported` where a device says neither what it draws nor what it drew. */
export function assertSaysPower({ powerWatts, energyJoules }: DeviceState): void {
  if (powerWatts === undefined && energyJoules === undefined) {
    throw new M40Error("unsupported", SAYS_NOTHING);
  }
}

const SAYS_NOTHING = "the device does not say what it draws, so there is nothing to measure by: " +
  "its driver's management library tells neither power nor energy (m40 doctor says more)";
