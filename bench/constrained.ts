/**
 * What it costs to hold answers to the tools of an agent: tokens a second of eight streams, free and constrained in
 * turn, with as many tokens each. Two kinds of answers:
 *
 * - calls: a model that writes calls as trained ones do. Only the next token of a given call is left of what the
 * grammar allows, so that a random model samples it; grammar, masks, drafts and steps are the real ones.
 * - noise: whatever a model of noise makes of the grammar: tokens cut in any way, texts without sense. Nothing of it
 *   can be foreseen.
 *
 * `deno task bench constrained [--device cuda] [--model MODEL.gguf] [--vocabulary FILE.gguf] [--rounds N] [--threads N]
 * [--only calls|noise] [--step-ms N,...]`: with a made model of 128k tokens, with the vocabulary of another file where
 * one is given; with `--step-ms` a device in its place that takes so long for a step (of up to 8, 16, ... rows) and
 * computes nothing. Prints, asserts nothing.
 *
 * @module
 */
import process from "node:process";
import { parseArgs } from "@std/cli/parse-args";
import type { MetadataEntry } from "../engine/gguf/metadata.ts";
import { writeGguf } from "../engine/gguf/writer.ts";
import { Constraints } from "../engine/grammar/constraints.ts";
import { tokensWithin } from "../engine/grammar/likely_texts.ts";
import { Engine, type GenerateRequest, readGguf } from "../engine/mod.ts";
import type { StepReport } from "../engine/scheduler/report.ts";
import type { Steering } from "../engine/sampling/steering.ts";
import { llamaShape } from "../tools/make_model/families/llama.ts";
import { randomModel } from "../tools/make_model/model.ts";
import { AGENT_CALLS, CALL_SCHEMA, spacedJson } from "./agent_tools.ts";
import { paceDevice, parseStepTimes } from "./paced_device.ts";

const STREAMS = 8;
/** Answers of each stream in a round. */
const ANSWERS = 1;
const NOISE_TOKENS = 96;

/** A llama of 38 million parameters, most of them in a vocabulary of 128k tokens. */
async function madeModel(vocabularyPath?: string): Promise<string> {
  const vocabulary = vocabularyPath === undefined
    ? undefined
    : (await readGguf(vocabularyPath)).metadata;
  const shape = llamaShape({
    name: "bench-constrained",
    hiddenSize: 256,
    layers: 6,
    heads: 4,
    kvHeads: 2,
    headDimension: 64,
    feedForward: 768,
    vocabSize: vocabulary?.strings("tokenizer.ggml.tokens").length ?? 128_000,
    contextLength: 1024,
    ropeBase: 10_000,
    tied: true,
  });
  const model = randomModel(shape, "Q8_0", 1, "byte-level");
  const isVocabulary = (key: string) => key.startsWith("tokenizer.");
  const own = [...model.metadata as Iterable<[string, MetadataEntry]>];
  const metadata = vocabulary === undefined ? own : [
    ...own.filter(([key]) => !isVocabulary(key)),
    ...[...vocabulary.entries()].filter(([key]) => isVocabulary(key)),
  ];
  const path = await Deno.makeTempFile({ suffix: ".gguf" });
  await writeGguf(path, { ...model, metadata });
  return path;
}

/** A grammar's steering that leaves nothing of what it allows but the next token of a script. */
function scripted(steering: Steering, script: readonly number[], words: number): Steering {
  const masks = script.map((token) => {
    const mask = new Uint32Array(words);
    mask[token >> 5] |= 1 << (token & 31);
    return mask;
  });
  const place = (generated: readonly number[]) => {
    const same = generated.every((token, i) => token === script[i]);
    return same ? masks[generated.length] : undefined;
  };
  return {
    next: () => undefined,
    allowed(generated, drafted) {
      const allowed = steering.allowed!(generated, drafted);
      const mask = place(generated);
      // After a wrong draft the grammar alone holds.
      return mask === undefined || allowed === undefined ? allowed : { ...allowed, mask };
    },
    draft: (generated, most) => steering.draft!(generated, most),
    prepare: (generated) => steering.prepare!(generated),
  };
}

/** A request of each stream, one after the other. */
type Requests = readonly (readonly GenerateRequest[])[];

interface Round {
  readonly tokens: number;
  readonly seconds: number;
  /** Seconds of processors that the process took: what a machine that does other things as well leaves comparable. */
  readonly cpuSeconds: number;
  readonly steps: number;
  readonly drafted: number;
  readonly certain: number;
  readonly reports: readonly StepReport[];
}

class Bench {
  private readonly words: number;
  private readonly scripts: readonly (readonly number[])[];
  private readonly constraints: Constraints;
  private schemas = 0;

  constructor(private readonly engine: Engine) {
    const { tokenizer, model } = engine;
    this.words = Math.ceil(model.vocabSize / 32);
    this.constraints = new Constraints(tokenizer, model.vocabSize);
    const [end] = tokenizer.endTokens;
    this.scripts = AGENT_CALLS.map((call) => [
      ...tokensWithin(tokenizer, spacedJson(call)),
      end,
    ]);
  }

  /**
   * Steers answers of a round: to a schema that no round had before, so that its grammar and all its masks are made
   * again.
   */
  private steering(): () => Steering {
    const schema = { ...CALL_SCHEMA, description: `Schema ${++this.schemas}` };
    return () => this.constraints.steering({ kind: "json_schema", schema });
  }

  private requests(make: (index: number) => Partial<GenerateRequest>) {
    return Array.from(
      { length: STREAMS },
      (_, stream) =>
        Array.from({ length: ANSWERS }, (_, n): GenerateRequest => {
          const index = stream * ANSWERS + n;
          const prompt = Array.from({ length: 48 }, (_, i) => 300 + (i * 7 + index * 31) % 1000);
          return { prompt, sampling: { temperature: 1, seed: index }, ...make(index) };
        }),
    );
  }

  /** Answers of a number of tokens, without any constraint. */
  free(tokens: (index: number) => number, temperature: number): Requests {
    return this.requests((index) => ({
      maxTokens: tokens(index),
      sampling: { temperature, seed: index, ignoreEos: true },
    }));
  }

  calls(): Requests {
    const steering = this.steering();
    return this.requests((index) => {
      const script = this.scripts[index % this.scripts.length];
      return {
        steering: scripted(steering(), script, this.words),
        maxTokens: script.length,
        sampling: { temperature: 0 },
      };
    });
  }

  noise(): Requests {
    const steering = this.steering();
    return this.requests(() => ({ steering: steering(), maxTokens: NOISE_TOKENS }));
  }

  /** Eight streams at once, each asking for the next answer when it has one. */
  async run(requests: Requests): Promise<Round & { readonly lengths: number[] }> {
    const { engine } = this;
    const before = engine.status();
    const lengths: number[] = [];
    const reports: StepReport[] = [];
    engine.observer = { step: (report) => reports.push(report) };
    const cpuBefore = process.cpuUsage();
    const started = performance.now();
    await Promise.all(requests.map(async (own, stream) => {
      for (const [n, request] of own.entries()) {
        for await (const { usage } of engine.generate(request)) {
          if (usage) lengths[stream * ANSWERS + n] = usage.completionTokens;
        }
      }
    }));
    const seconds = (performance.now() - started) / 1000;
    const cpu = process.cpuUsage(cpuBefore);
    const { steps, draftTokens, certainTokens, generatedTokens } = engine.status();
    return {
      lengths,
      seconds,
      cpuSeconds: (cpu.user + cpu.system) / 1e6,
      tokens: generatedTokens - before.generatedTokens,
      steps: steps - before.steps,
      drafted: draftTokens - before.draftTokens,
      certain: certainTokens - before.certainTokens,
      reports,
    };
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1];
}

function describe(name: string, rounds: readonly Round[]): string {
  const speed = median(rounds.map(({ tokens, seconds }) => tokens / seconds));
  const { tokens, steps, drafted, certain } = rounds[0];
  return `  ${name.padEnd(24)} ${
    speed.toFixed(1).padStart(8)
  } tokens/s; ${tokens} tokens in ${steps} ` +
    `steps, ${drafted} drafted, ${certain} certain\n${describeSteps(rounds)}`;
}

/** Where a round's time goes: in steps, by their rows, and between them. */
function describeSteps(rounds: readonly Round[]): string {
  const reports = rounds.flatMap(({ reports }) => reports);
  const sum = (of: readonly StepReport[], what: (report: StepReport) => number) =>
    of.reduce((sum, report) => sum + what(report), 0) / rounds.length;
  const kindOf = ({ promptTokens, decodeTokens }: StepReport) => {
    if (promptTokens > 0) return "prompts";
    const groups = Math.ceil(decodeTokens / 8);
    return `${8 * groups - 7} to ${8 * groups} rows`;
  };
  const kinds = [...Map.groupBy(reports, kindOf)].map(([kind, own]) => {
    const ms = sum(own, ({ milliseconds }) => milliseconds);
    const steps = own.length / rounds.length;
    return `${steps.toFixed(1)} of ${kind} ${ms.toFixed(0)} (${(ms / steps).toFixed(2)} each)`;
  });
  // Before its first step a round's grammars are made, which is not measured.
  const others = rounds.flatMap(({ reports: [, ...others] }) => others);
  const gaps = sum(others, ({ gapMilliseconds = 0 }) => gapMilliseconds);
  return `    milliseconds of a round in steps: ${kinds.join(", ")}; between them ${
    gaps.toFixed(1)
  }`;
}

/** Free and constrained rounds in turn, so that both have the machine at its best and at its worst. */
async function compare(
  bench: Bench,
  name: string,
  rounds: number,
  constrained: () => Requests,
  temperature: number,
  cpu: boolean,
): Promise<void> {
  const with_: Round[] = [];
  const without: Round[] = [];
  const { lengths } = await bench.run(constrained());
  await bench.run(bench.free((index) => lengths[index], temperature));
  for (let i = 0; i < rounds; i++) {
    with_.push(await bench.run(constrained()));
    without.push(await bench.run(bench.free((index) => lengths[index], temperature)));
  }
  console.log(describe(`${name}, free`, without));
  console.log(describe(`${name}, constrained`, with_));
  const share = (what: string, time: (round: Round) => number) => {
    const shares = with_.map((one, i) =>
      100 * (one.tokens / time(one)) / (without[i].tokens / time(without[i]))
    );
    const [least, most] = [Math.min(...shares), Math.max(...shares)];
    console.log(
      `    ${
        median(shares).toFixed(1)
      }% of free in tokens a second ${what} (median of ${rounds}; ` +
        `${least.toFixed(1)} to ${most.toFixed(1)})`,
    );
  };
  share("by the clock", ({ seconds }) => seconds);
  if (cpu) share("of the processor", ({ cpuSeconds }) => cpuSeconds);
}

if (import.meta.main) {
  const args = parseArgs(Deno.args, {
    string: ["model", "vocabulary", "device", "rounds", "threads", "step-ms", "only"],
    default: { device: "cpu", rounds: "5" },
  });
  const path = args.model ?? await madeModel(args.vocabulary);
  try {
    const engine = await Engine.load(path, {
      device: args.device,
      threads: args.threads === undefined ? undefined : Number(args.threads),
      contextTokens: 512,
      parallel: STREAMS,
    });
    const { model, device } = engine;
    console.log(`${model.name}, ${model.vocabSize} tokens, on ${device.name}; ${STREAMS} streams`);
    if (args["step-ms"] !== undefined) {
      paceDevice(engine, parseStepTimes(args["step-ms"]));
    }
    const bench = new Bench(engine);
    const rounds = Number(args.rounds);
    const isCpu = device.kind === "cpu";
    const { only } = args;
    if (only !== "noise") await compare(bench, "calls", rounds, () => bench.calls(), 0, isCpu);
    if (only !== "calls") await compare(bench, "noise", rounds, () => bench.noise(), 1, isCpu);
    await engine.close();
  } finally {
    if (args.model === undefined) await Deno.remove(path);
  }
}
