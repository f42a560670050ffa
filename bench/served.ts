/**
 * What a server adds to a batch. It compares the tokens a second of N decoding streams over HTTP with the device alone,
 * for a batch of N at the same depth. With --replicas each of the devices of a list has the model, and what they give
 * alone is that of a batch of its share, times their number. `deno run -A bench/served.ts [MODEL.gguf] [--device auto]
 * [--split rows] [--clients 8,32] [--tokens 256] [--run-steps 32] [--device-process] [--replicas]`; with `--step-ms 15`
 * steps compute nothing and take as long as a GPU's of that speed do, several at the same time too.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { fromFileUrl } from "@std/path";
import { RUN_STEPS, type Split } from "../engine/engine_options.ts";
import { benchmark, Engine } from "../engine/mod.ts";
import { serve } from "../server/mod.ts";
import { paceDevice, parseStepTimes } from "./paced_device.ts";
import { appOf } from "../tests/fixtures/fixed_model.ts";

const PROMPT = "Once upon a time";

/** Milliseconds of this process at which a stream's tokens arrived. */
async function stream(
  url: string,
  tokens: number,
  seed: number,
): Promise<number[]> {
  const response = await fetch(`${url}/v1/completions`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    // With log-probabilities, an event comes with every token, whatever it stands for.
    body: JSON.stringify({
      model: "bench",
      prompt: PROMPT,
      max_tokens: tokens,
      stream: true,
      seed,
      logprobs: 0,
      // Random weights end a text soon; so all are as long as was asked for.
      ignore_eos: true,
    }),
  });
  if (!response.ok) throw new Error(`status ${response.status}: ${await response.text()}`);
  const decoder = new TextDecoder();
  const times: number[] = [];
  let last = new Uint8Array();
  for await (const chunk of response.body!) {
    const events = decoder.decode(chunk, { stream: true }).split("data: {").length - 1;
    const now = performance.now();
    for (let i = 0; i < events; i++) times.push(now);
    last = events > 0 ? chunk : last;
  }
  if (times.length >= tokens) return times;
  throw new Error(`${times.length} tokens of ${tokens} came; last: ${decoder.decode(last)}`);
}

/** Tokens a second of that many streams while all of them decode. */
async function throughput(n: number, one: (seed: number) => Promise<number[]>): Promise<number> {
  await one(0);
  const streams = await Promise.all(Array.from({ length: n }, (_, i) => one(i)));
  const start = Math.max(...streams.map((times) => times[2]));
  const end = Math.min(...streams.map((times) => times.at(-1)!));
  const arrived = streams.flat().filter((time) => time > start && time <= end).length;
  return arrived / (end - start) * 1000;
}

async function measure(): Promise<void> {
  const args = parseArgs(Deno.args, {
    string: ["device", "split", "clients", "tokens", "run-steps", "step-ms"],
    boolean: ["device-process", "replicas"],
    default: { device: "auto", clients: "8,32", tokens: "256", "run-steps": String(RUN_STEPS) },
  });
  const clients = String(args.clients).split(",").map(Number);
  const tokens = Number(args.tokens);
  const path = String(
    args._[0] ?? fromFileUrl(new URL("../tools/demo_model/demo.gguf", import.meta.url)),
  );
  const engine = await Engine.load(path, {
    device: args.device,
    split: args.split as Split,
    deviceProcess: args["device-process"],
    replicas: args.replicas,
    runSteps: Number(args["run-steps"]),
    parallel: Math.max(...clients),
    contextTokens: Math.max(512, tokens + 64),
  });
  if (args["step-ms"] !== undefined) paceDevice(engine, parseStepTimes(args["step-ms"]));
  const app = appOf({ engine, modelName: "bench" });
  const controller = new AbortController();
  const { port, finished } = serve(app, {
    hostname: "127.0.0.1",
    port: 0,
    signal: controller.signal,
    drainMs: 0,
  });
  const replicas = engine.replicas?.length ?? 1;
  const own = engine.observer!;
  for (const n of clients) {
    const share = Math.ceil(n / replicas);
    const gaps: number[] = [];
    const before = engine.status();
    engine.observer = {
      firstToken: (milliseconds) => own.firstToken?.(milliseconds),
      token: (milliseconds) => own.token?.(milliseconds),
      generation: (report) => own.generation?.(report),
      step: ({ gapMilliseconds, decodeTokens }) => {
        if (gapMilliseconds !== undefined && decodeTokens === share) gaps.push(gapMilliseconds);
      },
    };
    // A process of their own, as clients are: what they do with what they get is not the server's time.
    const { success, stdout } = await new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "-A",
        "--no-check",
        import.meta.filename!,
        "--streams",
        `http://127.0.0.1:${port}`,
        String(n),
        String(tokens),
      ],
      stdout: "piped",
      stderr: "inherit",
    }).output();
    if (!success) throw new Error("the clients failed");
    const served = Number(new TextDecoder().decode(stdout));
    const plan = {
      prompts: [],
      batches: [share],
      depths: [tokens >> 1],
      steps: 32,
      repetitions: 3,
    };
    for await (const measured of benchmark(engine, plan)) {
      const alone = replicas * measured.tokens / Math.min(...measured.milliseconds) * 1000;
      const { runs, runSteps } = engine.status();
      const length = (runSteps - before.runSteps) / Math.max(1, runs - before.runs);
      const gap = gaps.toSorted((a, b) => a - b)[gaps.length >> 1];
      console.log(
        `${n} clients: ${served.toFixed(1)} tokens/s served, ${alone.toFixed(1)} by the device${
          replicas > 1 ? `s, ${replicas} of ${share} each,` : ""
        } ` +
          `alone: ${(100 * served / alone).toFixed(1)}%; median gap between steps ` +
          `${gap?.toFixed(3)} ms; ${runs - before.runs} runs of ${length.toFixed(1)} steps`,
      );
    }
  }
  controller.abort();
  await finished;
  await engine.close();
}

if (Deno.args[0] === "--streams") {
  const [url, n, tokens] = Deno.args.slice(1);
  console.log(await throughput(Number(n), (seed) => stream(url, Number(tokens), seed)));
} else {
  await measure();
}
