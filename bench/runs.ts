/**
 * What runs win a token: a tiny model's answers with each of some numbers of `runSteps`, in turns, so that what else the
 * machine does weighs on all alike. The time of a token is that of a whole answer, so that it has in it what is between runs.
 * `deno run -A bench/runs.ts [MODEL.gguf] [--device NAME] [--executor auto] [--rounds N] [--steps 1,8,32] [--device-process]`
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { Engine, type Executor } from "../engine/mod.ts";

const TOKENS = 128;
const STREAMS = [1, 8];

const args = parseArgs(Deno.args, {
  string: ["device", "executor", "rounds", "steps"],
  boolean: ["device-process"],
  default: { device: "cpu", executor: "auto", rounds: "40", steps: "1,8,32,128" },
});
const path = String(
  args._[0] ?? new URL("../tests/data/golden/llama.gguf", import.meta.url).pathname,
);

/** Microseconds of a token of each of the answers: from the first to the last, shared by those between. */
async function tokenTime(engine: Engine, streams: number, round: number): Promise<number> {
  const generations = Array.from({ length: streams }, (_, i) =>
    engine.generate({
      prompt: [1, 5 + i, 6 + round % 100],
      maxTokens: TOKENS,
      sampling: { temperature: 0, logitBias: new Map([[2, -100]]) },
    }));
  let first: number | undefined;
  await Promise.all(generations.map(async (generation) => {
    for await (const chunk of generation) {
      void chunk;
      first ??= performance.now();
    }
  }));
  return 1000 * (performance.now() - first!) / (TOKENS - 1);
}

function quantile(values: number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(part * (values.length - 1))];
}

const steps = args.steps.split(",").map(Number);
const engines: Engine[] = [];
for (const runSteps of steps) {
  engines.push(
    await Engine.load(path, {
      device: args.device,
      executor: args.executor as Executor,
      threads: args.device === "cpu" ? 1 : undefined,
      parallel: Math.max(...STREAMS),
      deviceProcess: args["device-process"],
      runSteps,
    }),
  );
}
for (const streams of STREAMS) {
  const times: number[][] = steps.map(() => []);
  for (let round = -3; round < Number(args.rounds); round++) {
    for (const [i, engine] of engines.entries()) {
      const time = await tokenTime(engine, streams, round + 3);
      if (round >= 0) times[i].push(time);
    }
  }
  console.log(`${streams} streams, us a step      p10      p50      p90`);
  for (const [i, runSteps] of steps.entries()) {
    const line = [0.1, 0.5, 0.9].map((part) => quantile(times[i], part).toFixed(1).padStart(8));
    console.log(`  runs of ${String(runSteps).padStart(4)}       ${line.join(" ")}`);
  }
}
await Promise.all(engines.map((engine) => engine.close()));
