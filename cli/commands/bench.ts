import {
  benchmark,
  type BenchmarkPlan,
  copyBandwidth,
  type DeviceState,
  type Engine,
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
  type BenchResult,
  describeDevice,
  flameGraph,
  fp32Limit,
  powerAsJson,
  powerAsText,
  profileAsJson,
  profileAsText,
  resultsAsJson,
  resultsAsText,
  statistics,
} from "../bench/mod.ts";
import { ALONE, loadModel, MODEL_ARGUMENT, MODEL_OPTIONS, sayFallback } from "../models/mod.ts";
import { Progress, write } from "../terminal/mod.ts";
import { readGguf } from "../../engine/gguf/mod.ts";
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
    const results: BenchResult[] = [];
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
          ...resultsAsJson(engine, results, bandwidth),
          ...(noResident === "" ? {} : { no_resident: noResident }),
        }) + "\n"
        : resultsAsText(engine, results, bandwidth) +
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

function resultOf(
  program: Program,
  engine: Engine,
  measured: Measurement,
  bandwidth: number | undefined,
  state: DeviceState,
): BenchResult {
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
