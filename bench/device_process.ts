/**
 * What a device in a separate process costs a token. A tiny model answers with and without it in turns, so that other
 * work of the machine affects both alike. `deno run -A bench/device_process.ts [MODEL.gguf] [--device NAME] [--rounds
 * N]`
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { Engine } from "../engine/mod.ts";

const TOKENS = 64;
const STREAMS = [1, 8];

const args = parseArgs(Deno.args, {
  string: ["device", "rounds"],
  default: { device: "cpu", rounds: "60" },
});
const path = String(
  args._[0] ?? new URL("../tests/data/golden/llama.gguf", import.meta.url).pathname,
);

/** Microseconds of each step of an answer, from its start to that of the next. */
async function stepsOf(engine: Engine, streams: number, round: number): Promise<number[]> {
  const times: number[] = [];
  engine.observer = {
    step: ({ decodeTokens, milliseconds, gapMilliseconds }) => {
      if (decodeTokens !== streams || gapMilliseconds === undefined) return;
      times.push(1000 * (milliseconds + gapMilliseconds));
    },
  };
  const generations = Array.from({ length: streams }, (_, i) =>
    engine.generate({
      prompt: [1, 5 + i, 6 + round % 100],
      maxTokens: TOKENS,
      sampling: { temperature: 0, logitBias: new Map([[2, -100]]) },
    }));
  await Promise.all(generations.map(async (generation) => {
    for await (const chunk of generation) void chunk;
  }));
  return times;
}

function quantile(values: number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(part * (values.length - 1))];
}

const engines = await Promise.all(
  [false, true].map((deviceProcess) =>
    Engine.load(path, { device: args.device, threads: 1, parallel: 8, deviceProcess })
  ),
);
for (const streams of STREAMS) {
  const times: number[][] = [[], []];
  for (let round = -3; round < Number(args.rounds); round++) {
    for (const [i, engine] of engines.entries()) {
      const measured = await stepsOf(engine, streams, round + 3);
      if (round >= 0) times[i].push(...measured);
    }
  }
  const [without, within] = times;
  const line = (values: number[]) =>
    [0.1, 0.5, 0.9].map((part) => quantile(values, part).toFixed(1).padStart(8)).join(" ");
  console.log(`${streams} streams, us a step      p10      p50      p90`);
  console.log(`  in this process    ${line(without)}`);
  console.log(`  in its own         ${line(within)}`);
  const cost = quantile(within, 0.5) - quantile(without, 0.5);
  console.log(`  difference of the medians: ${cost.toFixed(1)} us`);
}
await Promise.all(engines.map((engine) => engine.close()));
