import type { DeviceState, Engine, Executor, Measurement } from "../../engine/mod.ts";
import type { ModelDevice } from "../../engine/loading/mod.ts";
import { formatBytes, formatRowShare, formatTable } from "../terminal/mod.ts";
import type { Statistics } from "./statistics.ts";

/** What one measurement gave. */
export interface BenchResult {
  readonly measured: Measurement;
  readonly tokensPerSecond: Statistics;
  /** Of one step. */
  readonly milliseconds: Statistics;
  /** Weights, keys and values that a step has to read, at least. */
  readonly bytesPerStep: number;
  /** Multiplications and additions that a token takes. */
  readonly flopPerToken: number;
  readonly bytesPerSecond: number;
  readonly flopPerSecond: number;
  /** Of the device's bandwidth, 0 to 1. */
  readonly bandwidthShare?: number;
  /** The device at the end of it. */
  readonly state: DeviceState;
  /** What decode steps were run by, on a GPU. */
  readonly executor?: Executor;
}

/** What a line on a model says in the end of products that are not exact. */
export function arithmeticNote({ arithmetic }: Engine): string {
  return arithmetic === "exact" ? "" : `, ${arithmetic} arithmetic`;
}

/** A line on the model and its device, and a table. */
export function resultsAsText(
  engine: Engine,
  results: BenchResult[],
  bandwidth: number | undefined,
): string {
  const { model, plan } = engine;
  const spread = ({ mean, deviation }: Statistics, digits: number) =>
    `${mean.toFixed(digits)} ± ${deviation.toFixed(digits)}`;
  const rows = results.map((result) => [
    result.measured.kind,
    String(result.measured.size),
    String(result.measured.depth),
    spread(result.tokensPerSecond, 1),
    spread(result.milliseconds, 2),
    (result.bytesPerSecond / 1e9).toFixed(1),
    result.bandwidthShare === undefined ? "" : `${(100 * result.bandwidthShare).toFixed(0)}%`,
    (result.flopPerSecond / 1e12).toFixed(2),
    result.executor === undefined ? "" : `by ${result.executor}`,
  ]);
  const head = ["", "size", "depth", "tokens/s", "ms/step", "GB/s", "of copy", "TFLOP/s", ""];
  return `${model.name} (${model.architecture}, ${model.quantisation}, ` +
    `${formatBytes(plan.weightBytes)} of weights${arithmeticNote(engine)}) on ${
      describeDevice(engine)
    }\n` +
    formatTable([head, ...rows], [1, 2, 3, 4, 5, 6, 7]) +
    (bandwidth
      ? `the device copies ${(bandwidth / 1e9).toFixed(1)} GB/s, read and written\n`
      : "") +
    describeStates(results.map(({ state }) => state));
}

/** The device's temperature, power and clock, as far as they are known. */
function describeStates(states: readonly DeviceState[]): string {
  const range = (of: (state: DeviceState) => number | undefined, unit: string) => {
    const values = states.map(of).filter((value) => value !== undefined).map(Math.round);
    if (values.length === 0) return [];
    const [least, most] = [Math.min(...values), Math.max(...values)];
    return [`${least === most ? "" : `${least} to `}${most} ${unit}`];
  };
  const facts = [
    ...range(({ temperatureCelsius }) => temperatureCelsius, "°C"),
    ...range(({ powerWatts }) => powerWatts, "W"),
    ...range(({ clockKhz }) => clockKhz && clockKhz / 1000, "MHz"),
  ];
  const limit = states[0]?.powerLimitWatts;
  return facts.length === 0
    ? ""
    : `at the end of each: ${facts.join(", ")}${
      limit === undefined ? "" : `; its limit is ${limit.toFixed(0)} W`
    }\n`;
}

/** The cards that compute, each with what its speed follows from. */
export function describeDevice({ cards }: Engine): string {
  return cards.map(({ name, device, layers, rowShare }) => {
    const some = layers !== undefined
      ? `${name}, layers ${layers[0]} to ${layers[1]}: `
      : rowShare === undefined
      ? ""
      : `${name}, ${formatRowShare(rowShare)}: `;
    return some + describeCard(device);
  }).join("; ");
}

function describeCard(device: ModelDevice): string {
  const facts = [
    device.backend,
    ...(device.instructionSet ? [device.instructionSet] : []),
    ...(device.threads ? [`${device.threads} threads`] : []),
    ...(device.clockKhz ? [`${Math.round(device.clockKhz / 1000)} MHz`] : []),
    ...(device.memoryClockKhz ? [`memory ${Math.round(device.memoryClockKhz / 1000)} MHz`] : []),
    ...(device.driverVersion === 0 ? [] : [`ECC ${device.ecc ? "on" : "off"}`]),
    ...(device.driverVersion ? [describeDriver(device.driver, device.driverVersion)] : []),
  ];
  return `${device.name} (${facts.join(", ")})`;
}

/** @param cuda The newest CUDA that it knows: 11080 for 11.8. */
function describeDriver(version: string, cuda: number): string {
  const newest = `${Math.floor(cuda / 1000)}.${cuda % 1000 / 10}`;
  return version === "" ? `driver for CUDA ${newest}` : `driver ${version} for CUDA ${newest}`;
}

/** The same for a script. */
export function resultsAsJson(
  engine: Engine,
  results: BenchResult[],
  bandwidth: number | undefined,
): object {
  const { device, model, plan } = engine;
  return {
    model: model.name,
    architecture: model.architecture,
    quantisation: model.quantisation,
    parameters: model.parameters,
    weight_bytes: plan.weightBytes,
    context_tokens: engine.contextTokens,
    kv_type: plan.kvType,
    arithmetic: engine.arithmetic,
    device: {
      backend: device.backend,
      name: device.name,
      instruction_set: device.instructionSet,
      threads: device.threads,
      memory_bytes: device.memoryBytes,
      clock_khz: device.clockKhz,
      memory_clock_khz: device.memoryClockKhz,
      ecc: device.ecc,
      driver_version: device.driverVersion,
      driver: device.driver || undefined,
      copy_bytes_per_second: bandwidth,
    },
    results: results.map((result) => ({
      kind: result.measured.kind,
      size: result.measured.size,
      depth: result.measured.depth,
      executor: result.executor,
      repetitions: result.measured.milliseconds.length,
      steps: result.measured.steps,
      tokens_per_second: result.tokensPerSecond.mean,
      tokens_per_second_deviation: result.tokensPerSecond.deviation,
      milliseconds_per_step: result.milliseconds.mean,
      milliseconds_per_step_deviation: result.milliseconds.deviation,
      bytes_per_step: result.bytesPerStep,
      flop_per_token: result.flopPerToken,
      bytes_per_second: result.bytesPerSecond,
      flop_per_second: result.flopPerSecond,
      bandwidth_share: result.bandwidthShare,
      temperature_celsius: result.state.temperatureCelsius,
      power_watts: result.state.powerWatts,
      power_limit_watts: result.state.powerLimitWatts,
      clock_khz: result.state.clockKhz,
      memory_clock_khz: result.state.memoryClockKhz,
    })),
  };
}
