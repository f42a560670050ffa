/**
 * How long the device waits between two steps while streams are served over HTTP by the CPU library:
 * from a step's result to the call of the next. In that time the tokens are taken in and the next step is
 * prepared; text and events are made while the next step runs. The clients are a process of their own.
 * `deno run -A bench/gap.ts [MODEL.gguf]`
 *
 * @module
 */
import { fromFileUrl } from "@std/path";
import { Engine } from "../engine/mod.ts";
import { serve } from "../server/mod.ts";
import { appOf } from "../tests/fixtures/fixed_model.ts";

const TOKENS = 100;
const ROUNDS = 5;

/** Reads that many streams at a time, round after round: the part of the clients. */
async function readStreams(url: string, streams: number): Promise<void> {
  const one = async (i: number) => {
    for (let round = 0; round < ROUNDS; round++) {
      const response = await fetch(`${url}/v1/completions`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({
          prompt: [1, 5 + i, 6 + round],
          max_tokens: TOKENS,
          temperature: 0,
          logit_bias: { 2: -100 },
          stream: true,
        }),
      });
      if (!response.ok) throw new Error(`status ${response.status}: ${await response.text()}`);
      const text = await response.text();
      if (!text.endsWith("data: [DONE]\n\n")) throw new Error("a stream was cut off");
    }
  };
  await Promise.all(Array.from({ length: streams }, (_, i) => one(i)));
}

async function measure(path: string, streams: number) {
  const engine = await Engine.load(path, { device: "cpu", threads: 1, parallel: streams });
  const app = appOf({ engine, modelName: "bench" });
  const inner = engine.observer!;
  const gaps: number[] = [];
  const steps: number[] = [];
  engine.observer = {
    firstToken: (milliseconds) => inner.firstToken?.(milliseconds),
    token: (milliseconds) => inner.token?.(milliseconds),
    generation: (report) => inner.generation?.(report),
    step(report) {
      inner.step?.(report);
      // Steps in which all take part.
      if (report.decodeTokens < streams || report.gapMilliseconds === undefined) return;
      gaps.push(report.gapMilliseconds);
      steps.push(report.milliseconds);
    },
  };
  const controller = new AbortController();
  const { port, finished } = serve(app, {
    hostname: "127.0.0.1",
    port: 0,
    signal: controller.signal,
  });
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "--no-check",
      import.meta.filename!,
      "--clients",
      `http://127.0.0.1:${port}`,
      String(streams),
    ],
  }).spawn().status;
  if (!success) throw new Error("the clients failed");
  controller.abort();
  await finished;
  await engine.close();
  return { gaps: gaps.sort((a, b) => a - b), steps: steps.sort((a, b) => a - b) };
}

if (Deno.args[0] === "--clients") {
  await readStreams(Deno.args[1], Number(Deno.args[2]));
} else {
  const path = Deno.args[0] ??
    fromFileUrl(new URL("../tests/data/golden/llama.gguf", import.meta.url));
  for (const streams of [8, 32]) {
    const { gaps, steps } = await measure(path, streams);
    const at = (values: number[], share: number) => values[Math.floor(share * (values.length - 1))];
    console.log(
      `${String(streams).padStart(2)} streams, ${gaps.length} steps of ${
        (at(steps, 0.5) * 1000).toFixed(0)
      } µs (median): gap ${(at(gaps, 0.5) * 1000).toFixed(0)} µs median, ${
        (at(gaps, 0.9) * 1000).toFixed(0)
      } µs 90%, ${(at(gaps, 0.99) * 1000).toFixed(0)} µs 99%`,
    );
  }
}
