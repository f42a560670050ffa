/**
 * What each kind of operation costs: the time of a step with all of them, and of steps whose program
 * leaves one kind out. `deno run -A bench/operations.ts MODEL.gguf [--device cuda] [--batches 1,8,32]
 * [--prompts 512] [--depth 0]`
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { openDevice } from "../engine/device/open.ts";
import { readGguf } from "../engine/gguf/reader.ts";
import { KV_BLOCK_TOKENS, planMemory } from "../engine/memory/memory_plan.ts";
import { architectureOf } from "../engine/models/architecture.ts";
import { place } from "../engine/memory/placement.ts";
import type { DeviceProgram } from "../engine/device/device_program.ts";

const STEPS = 20;

const args = parseArgs(Deno.args, {
  string: ["device", "batches", "prompts", "depth"],
  default: { device: "auto", batches: "1,8,32", prompts: "512", depth: "0" },
});
const numbers = (text: string) => text.split(",").filter((word) => word !== "").map(Number);
const [batches, prompts] = [numbers(args.batches), numbers(args.prompts)];
const depth = Number(args.depth);
const contextTokens = Math.max(depth + 2 * STEPS, ...prompts);

const gguf = await readGguf(String(args._[0]));
const { shape, program: source } = architectureOf(gguf).read(gguf);
const { library, index } = openDevice(args.device);
const context = library.createContext({ device: index });
const info = library.device(index);
const request = {
  contextTokens: Math.min(shape.contextLength, contextTokens),
  kvType: "f16" as const,
  maxRunning: Math.max(1, ...batches),
  outputs: 1,
  device: info.kind,
  freeBytes: info.freeBytes,
  kvBlocks: Math.max(1, ...batches) * Math.ceil(contextTokens / KV_BLOCK_TOKENS),
};
const plan = planMemory(context, source, shape, request);
const { cache, tensors } = await place(context, gguf, source, plan);
const kinds = [...new Set(source.operations.map(({ kind }) => kind))];
const kvBlocksEach = Math.floor(plan.kvBlocks / request.maxRunning);

const { encodeOperations } = await import("../engine/program/operation.ts");
const arena = context.createArena(plan.programBytes * (kinds.length + 2));
const programs = new Map<string, DeviceProgram>();
for (const without of ["nothing", ...kinds]) {
  const operations = source.operations.filter(({ kind }) => kind !== without);
  const ops = encodeOperations(operations, tensors);
  programs.set(
    without,
    arena.createProgram({ limits: plan.limits, buffers: source.buffers, ops }, cache),
  );
}

async function milliseconds(program: DeviceProgram, batch: number, prompt: number) {
  const kvBlocks = (i: number) =>
    Array.from({ length: kvBlocksEach }, (_, n) => i * kvBlocksEach + n);
  const times: number[] = [];
  for (let step = 0; step < (prompt > 0 ? 6 : STEPS); step++) {
    const start = performance.now();
    if (prompt > 0) {
      const chunk = plan.limits.n_tokens;
      for (let position = 0; position < prompt; position += chunk) {
        const tokens = new Array(Math.min(chunk, prompt - position)).fill(300);
        await program.step([{ tokens, position, kvBlocks: [kvBlocks(0)], outputs: [] }]);
      }
    } else {
      const sequences = Array.from({ length: batch }, (_, i) => ({
        tokens: [300 + i],
        position: depth + step,
        kvBlocks: [kvBlocks(i)],
        decode: true,
        outputs: [{ row: 0 }],
      }));
      await program.step(sequences);
    }
    times.push(performance.now() - start);
  }
  return times.toSorted((a, b) => a - b)[times.length >> 1];
}

for (const [batch, prompt] of [...batches.map((n) => [n, 0]), ...prompts.map((n) => [0, n])]) {
  const all = await milliseconds(programs.get("nothing")!, batch, prompt);
  const title = prompt > 0 ? `prefill ${prompt}` : `decode ${batch} at depth ${depth}`;
  console.log(`${title}: ${all.toFixed(3)} ms`);
  for (const kind of kinds) {
    const without = await milliseconds(programs.get(kind)!, batch, prompt);
    console.log(`  without ${kind.padEnd(12)} ${without.toFixed(3)} ms`);
  }
}
context.close();
library.close();
