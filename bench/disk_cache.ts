/**
 * What the disk cache saves and costs. It measures the time to the first token of a prompt that is computed, found in
 * memory, and found on disk after a restart, warm and cold. Then it measures how much longer steps of running streams
 * wait while a prompt's KV blocks are written and read. `deno run -A bench/disk_cache.ts MODEL.gguf [--device auto]
 * [--tokens 4000] [--folder DIR] [--streams 4] [--steps 300] [--process]`
 *
 * The cold reading needs to be root (it writes to /proc/sys/vm/drop_caches). The folder should be on the disk that is
 * meant; default is a new one in the system's folder for temporary files. It is removed in the end.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { Engine } from "../engine/mod.ts";

const args = parseArgs(Deno.args, {
  string: ["device", "tokens", "folder", "streams", "steps"],
  boolean: ["process"],
  default: { device: "auto", tokens: "4000", streams: "4", steps: "300" },
});
const tokens = Number(args.tokens);
const streams = Number(args.streams);
const steps = Number(args.steps);
const folder = await Deno.makeTempDir({ dir: args.folder, prefix: "m40-disk-cache-" });

function load(withDisk: boolean): Promise<Engine> {
  const onProblem = (problem: string) => console.log(problem);
  return Engine.load(String(args._[0]), {
    device: args.device,
    parallel: streams + 1,
    contextTokens: tokens + steps + 100,
    hostCacheBytes: 0,
    deviceProcess: args.process,
    diskCache: withDisk ? { folder, bytes: 2 ** 40, onProblem } : undefined,
  });
}

/** A prompt of that many tokens that differs from those of other kinds in its first token. */
function promptOf(engine: Engine, count: number, kind = 0): number[] {
  const different = Math.min(1000, engine.model.vocabSize - 10);
  return Array.from({ length: count }, (_, i) => 10 + (i * 7 + kind * 13) % different);
}

interface Answer {
  readonly firstMs: number;
  readonly text: string;
  readonly cached: number;
}

async function ask(engine: Engine, kind = 0): Promise<Answer> {
  const start = performance.now();
  let firstMs: number | undefined;
  const sampled: unknown[] = [];
  const prompt = promptOf(engine, tokens, kind);
  const before = engine.status().cachedTokens;
  const sampling = { temperature: 0 };
  for await (const chunk of engine.generate({ prompt, maxTokens: 16, sampling, topLogprobs: 0 })) {
    firstMs ??= performance.now() - start;
    sampled.push(...chunk.tokens.map(({ token, logprob }) => [token, logprob]));
  }
  const cached = engine.status().cachedTokens - before;
  return { firstMs: firstMs!, text: JSON.stringify(sampled), cached };
}

const seconds = (milliseconds: number) => `${(milliseconds / 1000).toFixed(3)} s`;
const megabytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

function dropCaches(): boolean {
  try {
    Deno.writeTextFileSync("/proc/sys/vm/drop_caches", "1");
    return true;
  } catch {
    return false;
  }
}

async function timeFirstTokens(): Promise<void> {
  let engine = await load(true);
  console.log(`${engine.model.name} on ${engine.device.name}, a prompt of ${tokens} tokens`);
  const computed = await ask(engine);
  const memory = await ask(engine);
  const unwritten = engine.status().disk!.writtenKvBlocks;
  const start = performance.now();
  await engine.close();
  const closing = performance.now() - start;
  console.log(`computed: first token after ${seconds(computed.firstMs)}`);
  console.log(`in memory: ${seconds(memory.firstMs)}, ${memory.cached} tokens found`);
  console.log(`closed in ${seconds(closing)}; ${unwritten} KV blocks had been written before`);
  for (const kind of ["warm", "cold"]) {
    engine = await load(true);
    if (kind === "cold" && !dropCaches()) {
      console.log("on disk, cold: not measured, as the system's file cache cannot be emptied");
      await engine.close();
      continue;
    }
    const disk = await ask(engine);
    const { readKvBlocks, readBytes } = engine.status().disk!;
    console.log(
      `on disk, ${kind}: ${
        seconds(disk.firstMs)
      }, ${disk.cached} tokens found, ${readKvBlocks} KV blocks, ` +
        `${megabytes(readBytes)}, ${megabytes(readBytes / disk.firstMs * 1000)}/s in all; ` +
        (disk.text === computed.text ? "the answer has the same bits" : "ANOTHER ANSWER"),
    );
    await engine.close();
  }
}

/** Streams decode while a prompt arrives and its KV blocks are written, or read where it was there before. */
async function timeStreams(withDisk: boolean): Promise<void> {
  const engine = await load(withDisk);
  // Its KV blocks are to be written while streams run.
  const kind = withDisk ? 1 : 2;
  await ask(engine, kind);
  const times: number[] = [];
  const gaps: number[] = [];
  engine.observer = {
    step({ promptTokens, decodeTokens, milliseconds, gapMilliseconds = 0 }) {
      if (promptTokens > 0 || decodeTokens < streams) return;
      times.push(milliseconds);
      gaps.push(gapMilliseconds);
    },
  };
  const logitBias = new Map([...engine.tokenizer.endTokens].map((token) => [token, -100]));
  await Promise.all(Array.from({ length: streams }, async (_, i) => {
    const prompt = promptOf(engine, 8 + i, 3 + i);
    const sampling = { temperature: 0, logitBias };
    for await (const _ of engine.generate({ prompt, maxTokens: steps, sampling }));
  }));
  const at = (values: number[], share: number) =>
    values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * share)].toFixed(2);
  console.log(
    `${streams} streams, ${withDisk ? "with" : "without"} a disk cache: steps of ${
      at(times, 0.5)
    } ms; between them ${at(gaps, 0.5)} ms (median), ${at(gaps, 0.99)} (99%), ${
      at(gaps, 1)
    } (most)` +
      (withDisk ? `; ${engine.status().disk!.writtenKvBlocks} KV blocks written meanwhile` : ""),
  );
  await engine.close();
}

try {
  await timeFirstTokens();
  await timeStreams(false);
  await timeStreams(true);
} finally {
  await Deno.remove(folder, { recursive: true });
}
