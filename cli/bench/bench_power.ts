/**
 * `m40 bench --power`: tokens per joule by power limit.
 *
 * @module
 */
import { EndSignals, formatTable, Progress } from "../terminal/mod.ts";
import { type DeviceState, openDevice } from "../../engine/device/mod.ts";
import {
  assertSaysPower,
  measurePower,
  type PowerMeasurement,
  type PowerWork,
} from "../../engine/measuring/mod.ts";
import { PowerLimiter } from "../../engine/power/mod.ts";
import { type Engine, M40Error } from "../../engine/mod.ts";

/** What is measured, and for how long. */
export interface PowerPlan {
  readonly works: readonly PowerWork[];
  /** Absent: five from the largest to the smallest that can be set, or shares of the power used without one. */
  readonly limits?: readonly number[];
  /** Of each measurement. */
  readonly seconds: number;
  /** Before each; absent: as long as clocks, or pauses, take to be those of the limit. */
  readonly settleSeconds?: number;
  readonly steps: number;
}

/** How a limit is held: by the driver's clocks, or by pauses between steps, and why then. */
type Way = { readonly by: "driver"; readonly beforeWatts: number } | {
  readonly by: "pacing";
  readonly because: string;
};

/** A line of the result. */
interface Line extends PowerMeasurement {
  /** Absent: none was set. */
  readonly limitWatts?: number;
}

/** What was found. */
export interface PowerReport {
  readonly way: Way;
  readonly lines: readonly Line[];
}

/** How long a device computes before it is measured: clocks follow a limit at once, pauses in many small steps. */
const SETTLE_SECONDS = { driver: 3, pacing: 30 };
/** Limits where none are named. */
const LIMITS = 5;
const PACED_SHARES = [0.9, 0.8, 0.7, 0.6];

/**
 * Measures each work at each limit. The limit that was set before is put back at the end, at an error, and at once when
 * a signal asks the program to end.
 *
 * @throws {M40Error} `cancelled` after a signal.
 */
export async function benchmarkPower(
  engine: Engine,
  device: string,
  plan: PowerPlan,
): Promise<PowerReport> {
  const { library, index } = openDevice(device);
  await using _closing = library;
  using ends = new EndSignals("SIGINT", "SIGTERM", "SIGHUP");
  const state = () => library.deviceState(index);
  const { powerWatts } = await reading(state);
  const limiter = await PowerLimiter.open((watts) => library.setPowerLimit(index, watts));
  if (typeof limiter === "string") {
    if (powerWatts === undefined) throw new M40Error("unsupported", holdsNothing(limiter));
    const lines = await paced(engine, state, plan, ends.signal);
    return { way: { by: "pacing", because: limiter }, lines };
  }
  // Not after the step that runs: the second signal ends the program, and a step may hang.
  ends.signal.addEventListener("abort", () => limiter.restore().catch(() => {}));
  try {
    const lines = await limited(engine, state, plan, limiter, ends.signal);
    return { way: { by: "driver", beforeWatts: limiter.beforeWatts }, lines };
  } finally {
    await limiter.restore();
  }
}

/** The device without a limit, where it reports its power. */
async function reading(state: () => Promise<DeviceState>): Promise<DeviceState> {
  const now = await state();
  assertSaysPower(now);
  return now;
}

function holdsNothing(because: string): string {
  return `the driver's power limit cannot be set: ${because}; and pauses between steps hold none on a ` +
    "device that does not report its power now";
}

/** Limits that the driver holds. */
async function limited(
  engine: Engine,
  state: () => Promise<DeviceState>,
  plan: PowerPlan,
  limiter: PowerLimiter,
  signal: AbortSignal,
): Promise<Line[]> {
  const limits = plan.limits ?? limitsBetween(limiter);
  const lines: Line[] = [];
  await using progress = new Progress("measuring");
  for (const limitWatts of limits) {
    await limiter.set(limitWatts);
    for (const work of plan.works) {
      const run = { engine, state, signal, ...times(plan, SETTLE_SECONDS.driver) };
      const measured = await measurePower(work, run);
      if (measured) lines.push({ ...measured, limitWatts });
      progress.update(lines.length, limits.length * plan.works.length);
    }
  }
  return lines;
}

/** Limits kept by pauses between steps, as shares of the power used without one. */
async function paced(
  engine: Engine,
  state: () => Promise<DeviceState>,
  plan: PowerPlan,
  signal: AbortSignal,
): Promise<Line[]> {
  const lines: Line[] = [];
  await using progress = new Progress("measuring");
  const count = 1 + (plan.limits?.length ?? PACED_SHARES.length);
  const measure = async (work: PowerWork, limitWatts: number | undefined, settle: number) => {
    const run = { engine, state, signal, paceWatts: limitWatts, ...times(plan, settle) };
    const measured = await measurePower(work, run);
    if (measured) lines.push({ ...measured, limitWatts });
    progress.update(lines.length, count * plan.works.length);
  };
  for (const work of plan.works) await measure(work, undefined, SETTLE_SECONDS.driver);
  const most = Math.max(...lines.map(wattsOf));
  const limits = plan.limits ?? PACED_SHARES.map((share) => Math.round(share * most));
  for (const limit of limits) {
    for (const work of plan.works) await measure(work, limit, SETTLE_SECONDS.pacing);
  }
  return lines;
}

function times({ seconds, settleSeconds, steps }: PowerPlan, settle: number) {
  return { measureMs: 1000 * seconds, settleMs: 1000 * (settleSeconds ?? settle), steps };
}

/** From the largest to the least that can be set, in whole watts. */
function limitsBetween({ leastWatts, mostWatts, beforeWatts }: PowerLimiter): number[] {
  if (leastWatts === undefined || mostWatts === undefined) return [beforeWatts];
  const step = (mostWatts - leastWatts) / (LIMITS - 1);
  const limits = Array.from({ length: LIMITS }, (_, i) => Math.round(mostWatts - i * step));
  return [...new Set(limits)];
}

function wattsOf({ energy }: PowerMeasurement): number {
  return energy.joules / energy.seconds;
}

function rates(line: Line) {
  const { tokens, energy } = line;
  return {
    watts: wattsOf(line),
    tokensPerSecond: tokens / energy.seconds,
    // Nothing divided by nothing is no number: a driver that counts coarsely, and a time that is short.
    tokensPerJoule: energy.joules > 0 ? tokens / energy.joules : undefined,
  };
}

/** The report for a terminal, its lines by work. */
export function powerAsText({ way, lines }: PowerReport): string {
  const head = ["", "size", "limit W", "W", "tokens/s", "tokens/J", "pauses", "MHz", "°C"];
  const rows = byWork(lines).map((line) => {
    const { watts, tokensPerSecond, tokensPerJoule } = rates(line);
    const { clockKhz, temperatureCelsius } = line.state;
    return [
      line.work.kind,
      String(line.work.size),
      line.limitWatts === undefined ? "none" : String(line.limitWatts),
      watts.toFixed(1),
      tokensPerSecond.toFixed(1),
      tokensPerJoule?.toFixed(3) ?? "",
      line.restShare > 0 ? `${(100 * line.restShare).toFixed(0)}%` : "",
      clockKhz === undefined ? "" : (clockKhz / 1000).toFixed(0),
      temperatureCelsius?.toFixed(0) ?? "",
    ];
  });
  const how = way.by === "driver"
    ? `limits set in the driver, and ${way.beforeWatts} W put back`
    : `limits held by pauses between steps, as m40 serve --max-power does, because the driver's cannot be set: ${way.because}`;
  const from = lines[0]?.energy.from === "counter"
    ? "energy as the driver counts it"
    : "energy from the power that the driver reports, ten times a second";
  return formatTable([head, ...rows], [1, 2, 3, 4, 5, 6, 7, 8]) + `${how}; ${from}\n`;
}

/** The report as JSON. */
export function powerAsJson({ way, lines }: PowerReport): unknown {
  return {
    limited_by: way.by,
    ...(way.by === "driver"
      ? { power_limit_before_watts: way.beforeWatts }
      : { not_by_driver: way.because }),
    results: byWork(lines).map((line) => {
      const { watts, tokensPerSecond, tokensPerJoule } = rates(line);
      return {
        kind: line.work.kind,
        size: line.work.size,
        power_limit_watts: line.limitWatts,
        power_watts: watts,
        energy_joules: line.energy.joules,
        energy_from: line.energy.from,
        seconds: line.energy.seconds,
        tokens: line.tokens,
        tokens_per_second: tokensPerSecond,
        tokens_per_joule: tokensPerJoule,
        rest_share: line.restShare,
        clock_khz: line.state.clockKhz,
        temperature_celsius: line.state.temperatureCelsius,
      };
    }),
  };
}

/** Prompts first, as elsewhere; of one work from the largest limit to the least, as they were measured. */
function byWork(lines: readonly Line[]): Line[] {
  const order = ({ work }: Line) => (work.kind === "prefill" ? 0 : 1e9) + work.size;
  return lines.toSorted((a, b) => order(a) - order(b));
}
