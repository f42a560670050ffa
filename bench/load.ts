/**
 * How fast a model's weights reach a device: seconds and GB/s, compared with reading the same file and doing nothing
 * with it, with the file in the system's cache and without. `deno run -A bench/load.ts [MODEL.gguf] [--device auto]
 * [--repetitions 3]`
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { openDevice } from "../engine/device/open.ts";
import { readGguf } from "../engine/gguf/reader.ts";
import { planMemory } from "../engine/memory/memory_plan.ts";
import { architectureOf } from "../engine/models/architecture.ts";
import { place } from "../engine/memory/placement.ts";
import { writeGguf } from "../engine/gguf/writer.ts";
import { randomModel } from "../tools/make_model/model.ts";
import { SHAPES } from "../tools/make_model/shapes.ts";

const READ_BYTES = 16 * 2 ** 20;

const libc = Deno.dlopen("libc.so.6", {
  open: { parameters: ["buffer", "i32"], result: "i32" },
  close: { parameters: ["i32"], result: "i32" },
  fsync: { parameters: ["i32"], result: "i32" },
  posix_fadvise: { parameters: ["i32", "i64", "i64", "i32"], result: "i32" },
});

/** Takes a file out of the system's cache, as far as the system lets it. */
function evict(path: string): void {
  const DONTNEED = 4;
  const descriptor = libc.symbols.open(new TextEncoder().encode(path + "\0"), 0);
  libc.symbols.fsync(descriptor);
  libc.symbols.posix_fadvise(descriptor, 0n, 0n, DONTNEED);
  libc.symbols.close(descriptor);
}

/** Reads a whole file; milliseconds. */
function readFile(path: string): number {
  const buffer = new Uint8Array(READ_BYTES);
  const start = performance.now();
  using file = Deno.openSync(path);
  while (file.readSync(buffer) !== null);
  return performance.now() - start;
}

/** Puts a model on a device and takes it away again; milliseconds, and bytes of weights. */
async function load(path: string, device: string) {
  const gguf = await readGguf(path);
  const { shape, program } = architectureOf(gguf).read(gguf);
  const { library, index } = openDevice(device);
  const context = library.createContext({ device: index });
  try {
    const info = library.device(index);
    const plan = planMemory(context, program, shape, {
      contextTokens: Math.min(256, shape.contextLength),
      kvType: "f16",
      maxRunning: 1,
      outputs: 1,
      device: info.kind,
      freeBytes: info.freeBytes,
      // As few as the context takes.
      kvBlocks: 1,
    });
    const start = performance.now();
    await place(context, gguf, program, plan);
    const milliseconds = performance.now() - start;
    const bytes = program.weights.reduce((sum, { tensor }) => sum + tensor.bytes, 0);
    return { milliseconds, bytes, name: info.name, backend: library.backend };
  } finally {
    context.close();
    library.close();
  }
}

const args = parseArgs(Deno.args, {
  string: ["device", "repetitions"],
  default: { device: "auto", repetitions: "3" },
});
const repetitions = Number(args.repetitions);
let path = args._.length > 0 ? String(args._[0]) : undefined;
const temporary = path === undefined ? await Deno.makeTempFile({ suffix: ".gguf" }) : undefined;
if (temporary !== undefined) {
  path = temporary;
  await writeGguf(path, randomModel(SHAPES["llama-3.2-1b"], "Q8_0", 1));
}
try {
  const fileBytes = Deno.statSync(path!).size;
  const speed = (bytes: number, milliseconds: number) =>
    `${(milliseconds / 1000).toFixed(2).padStart(6)} s  ${
      (bytes / 1e6 / milliseconds).toFixed(2).padStart(6)
    } GB/s`;
  const warmUp = await load(path!, args.device);
  console.log(
    `${
      (fileBytes / 1e9).toFixed(2)
    } GB to ${warmUp.name} (${warmUp.backend}); best of ${repetitions}`,
  );
  for (const cold of [true, false]) {
    const reads: number[] = [];
    const loads: number[] = [];
    for (let i = 0; i < repetitions; i++) {
      if (cold) evict(path!);
      reads.push(readFile(path!));
      if (cold) evict(path!);
      loads.push((await load(path!, args.device)).milliseconds);
    }
    const where = cold ? "evicted from the cache" : "in the cache";
    console.log(`${where.padEnd(24)} read  ${speed(fileBytes, Math.min(...reads))}`);
    console.log(`${"".padEnd(24)} load  ${speed(warmUp.bytes, Math.min(...loads))}`);
  }
} finally {
  if (temporary !== undefined) await Deno.remove(temporary);
  libc.close();
}
