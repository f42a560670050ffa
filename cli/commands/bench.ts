import {
  benchmark,
  type BenchmarkPlan,
  copyBandwidth,
  type DeviceState,
  type Engine,
  type Executor,
  type Measurement,
  profile,
  sizeOf,
  type StepProfile,
} from "../../engine/mod.ts";
import {
  type Command,
  command,
  FILES,
  flag,
  integer,
  integers,
  number,
  option,
  type OptionValues,
  text,
} from "../arguments/mod.ts";
import {
  benchmarkPower,
  flameGraph,
  fp32Limit,
  powerAsJson,
  powerAsText,
  profileAsJson,
  profileAsText,
  type Statistics,
  statistics,
} from "../bench/mod.ts";
import {
  ALONE,
  arithmeticNote,
  loadModel,
  MODEL_ARGUMENT,
  MODEL_OPTIONS,
  sayFallback,
} from "../models/mod.ts";
import { formatBytes, formatRowShare, formatTable, Progress, write } from "../terminal/mod.ts";
import { readGguf } from "../../engine/gguf/mod.ts";
import type { ModelDevice } from "../../engine/loading/mod.ts";
import { readModel } from "../../engine/models/mod.ts";
import { type Program, stepWork } from "../../engine/program/mod.ts";
import { resolveModel } from "../../engine/store/mod.ts";
import { UsageError } from "../errors.ts";

const OPTIONS = {
  prompts: option(integers(1), "Lengths of prompts, in tokens; default 512 (GPU: 512,2048)"),
  batches: option(
    integers(1, 256),
    "Sequences that decode at a time; default 1,4 (GPU: 1,2,4,8,16,32)",
  ),
  depths: option(
    integers(0),
    "Tokens that a sequence has before those that are timed; default 0 (GPU: 0,4096)",
  ),
  steps: option(integer(1, 10_000), "Decode steps of a repetition", { default: 32 }),
  repetitions: option(integer(1, 1000), "How often each is timed, after one run to warm up", {
    default: 5,
  }),
  "device-process": flag("Have the device in a process of its own, as m40 serve has"),
  profile: flag("Time the operations of a step, one by one: where a token's time goes"),
  flame: option(text("FILE", FILES), "With --profile: write a flame graph (SVG) for a browser"),
  power: flag(
    "Tokens per joule by power limit: the driver's where it can be set (as root), else held by pauses between steps",
  ),
  limits: option(
    integers(1, 10_000),
    "With --power: limits in watts; default: five that the driver allows",
  ),
  seconds: option(number({ min: 0, above: true, max: 3600 }), "With --power: of each measurement", {
    default: 10,
  }),
  settle: option(
    number({ min: 0, max: 3600 }),
    "With --power: seconds of work before each measurement; default 3 (pauses: 30)",
  ),
  json: flag("Write a JSON object"),
  ...MODEL_OPTIONS,
};

/** What is measured where nothing is said, on a GPU and on the CPU. */
const DEFAULTS = {
  gpu: { prompts: [512, 2048], batches: [1, 2, 4, 8, 16, 32], depths: [0, 4096] },
  cpu: { prompts: [512], batches: [1, 4], depths: [0] },
};

/** `m40 bench MODEL`. */
export const bench: Command = command({
  name: "bench",
  summary: "Measure how fast a model runs here",
  description:
    "Times the device's steps, without server and scheduler. Prefill: a prompt of made-up tokens. Decode: " +
    "one token of each of so many sequences a step. Mean and standard deviation over the repetitions, the " +
    "bytes that a step has to read, and their share of the device's own measured bandwidth. What does not " +
    "fit the context or the KV cache is left out.",
  arguments: [MODEL_ARGUMENT],
  options: OPTIONS,
  refused: {
    replicas:
      "it times the steps of one device: time each by itself, with --device cuda:0 and then cuda:1",
  },
  examples: {
    "m40 bench demo": "Tokens per second",
    "m40 bench mistral --batches 1,8,32 --depths 0,4096": "Many sequences, deep",
    "sudo m40 bench mistral --power": "Tokens per joule by power limit",
    "m40 bench demo --threads 4 --repetitions 10 --json": "For a script",
  },
  async run([name], options) {
    if (options.flame !== undefined && !options.profile) {
      throw new UsageError("--flame: wanted --profile with it");
    }
    if (options.power) return await showPower(name, options);
    if (options.limits !== undefined || options.settle !== undefined) {
      throw new UsageError("--limits and --settle: wanted --power with them");
    }
    const { path } = await resolveModel(name);
    const gguf = await readGguf(path, { overrides: options.override });
    const { program } = readModel(gguf);
    const { engine, plan } = await load(name, options);
    await using _closing = engine;
    const bandwidth = await copyBandwidth(engine);
    if (options.profile) return await showProfile(engine, program, plan, bandwidth, options);
    const results: Result[] = [];
    {
      await using progress = new Progress("measuring");
      const total = plan.prompts.length + plan.batches.length * plan.depths.length;
      for await (const measured of benchmark(engine, plan)) {
        // At once, while the device is as warm and as fast as it was.
        const state = await engine.deviceState();
        const executors = measured.kind === "decode" ? await engine.cards[0].executors() : [];
        const executor = executors[measured.size - 1];
        results.push({ ...resultOf(program, engine, measured, bandwidth, state), executor });
        progress.update(results.length, total);
      }
    }
    const asked = options.executor === "resident" && plan.batches.length > 0;
    const noResident = asked ? await engine.cards[0].noResident() : "";
    await write(
      options.json
        ? JSON.stringify({
          ...asJson(engine, results, bandwidth),
          ...(noResident === "" ? {} : { no_resident: noResident }),
        }) + "\n"
        : asText(engine, results, bandwidth) +
          (noResident && `not all by a persistent kernel: ${noResident}\n`),
    );
  },
});

/** Measures tokens per joule, and writes what that gave. */
async function showPower(name: string, options: OptionValues<typeof OPTIONS>): Promise<void> {
  if (options.profile) throw new UsageError("--power and --profile: wanted one of them");
  if (options.depths) throw new UsageError("--depths: not with --power, which decodes from 0");
  // In a process of its own: whatever becomes of it, this one puts the limit back.
  const { engine, plan } = await load(name, { ...options, "device-process": true });
  await using _closing = engine;
  const works = [
    ...(options.prompts ?? [Math.min(...plan.prompts)]).map((size) => ({
      kind: "prefill" as const,
      size,
    })),
    ...(options.batches ?? [1, Math.max(...plan.batches)]).map((size) => ({
      kind: "decode" as const,
      size,
    })),
  ];
  const report = await benchmarkPower(engine, options.device, {
    works,
    limits: options.limits,
    seconds: options.seconds,
    settleSeconds: options.settle,
    steps: plan.steps,
  });
  await write(
    options.json
      ? JSON.stringify({ model: engine.model.name, ...powerAsJson(report) as object }) + "\n"
      : `${engine.model.name} on ${describeDevice(engine)}\n` + powerAsText(report),
  );
}

/** Times the operations, and writes what that gave. */
async function showProfile(
  engine: Engine,
  program: Program,
  plan: BenchmarkPlan,
  bandwidth: number | undefined,
  { flame, json }: OptionValues<typeof OPTIONS>,
): Promise<void> {
  const profiles: StepProfile[] = [];
  {
    await using progress = new Progress("measuring");
    const total = plan.prompts.length + plan.batches.length * plan.depths.length;
    for await (const found of profile(engine, program, plan)) {
      profiles.push(found);
      progress.update(profiles.length, total);
    }
  }
  const limits = { bandwidth, flop: fp32Limit(engine.device) };
  if (flame !== undefined) await Deno.writeTextFile(flame, flameGraph(profiles));
  await write(
    json
      ? JSON.stringify({ model: engine.model.name, ...profileAsJson(profiles, limits) }) + "\n"
      : `${engine.model.name} on ${describeDevice(engine)}\n` + profileAsText(profiles, limits),
  );
}

async function load(name: string, options: OptionValues<typeof OPTIONS>) {
  const { openDevice } = await import("../../engine/device/open.ts");
  const { parseDeviceList } = await import("../../engine/device/device_list.ts");
  const { library, index } = openDevice(parseDeviceList(options.device)[0]);
  const defaults = DEFAULTS[library.device(index).kind];
  library.close();
  const plan = {
    prompts: options.prompts ?? defaults.prompts,
    batches: options.batches ?? defaults.batches,
    depths: options.depths ?? defaults.depths,
    steps: options.steps,
    repetitions: options.repetitions,
  };
  const { engine } = await loadModel(name, options, {
    ...ALONE,
    deviceProcess: options["device-process"],
    onFallback: sayFallback,
    parallel: Math.max(...plan.batches),
  });
  return { engine, plan };
}

interface Result {
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

function resultOf(
  program: Program,
  engine: Engine,
  measured: Measurement,
  bandwidth: number | undefined,
  state: DeviceState,
): Result {
  const { tokens, steps, milliseconds } = measured;
  const stepSize = sizeOf(engine, measured);
  const work = stepWork(program, stepSize);
  const tokensPerSecond = statistics(milliseconds.map((ms) => tokens / ms * 1000));
  const stepMs = statistics(milliseconds.map((ms) => ms / steps));
  const bytesPerSecond = work.bytes / stepMs.mean * 1000;
  const flopPerToken = work.flop / stepSize.tokens;
  return {
    measured,
    tokensPerSecond,
    milliseconds: stepMs,
    bytesPerStep: work.bytes,
    flopPerToken,
    bytesPerSecond,
    flopPerSecond: flopPerToken * tokensPerSecond.mean,
    bandwidthShare: bandwidth && bytesPerSecond / bandwidth,
    state,
  };
}

function asText(engine: Engine, results: Result[], bandwidth: number | undefined): string {
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

function describeDevice({ cards }: Engine): string {
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

function asJson(engine: Engine, results: Result[], bandwidth: number | undefined): object {
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
