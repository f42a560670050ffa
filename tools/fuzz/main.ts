/**
 * Coverage-guided fuzzing of the code that reads what strangers send.
 *
 * `deno task fuzz TARGET|all [--seconds 60] [--runs N] [--seed 1] [--corpus FOLDER]`
 *
 * Inputs that reached new code are kept in the corpus (default: dist/fuzz/TARGET) and begin the next
 * run. A fault is written to dist/fuzz/TARGET.fault, and fails the command.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { fromFileUrl, join } from "@std/path";
import { fuzzChannel } from "./channel.ts";
import { fuzz, type FuzzState } from "./fuzz.ts";
import type { FuzzTarget } from "./target.ts";
import { FUZZ_TARGETS } from "./targets/mod.ts";

const ROOT = fromFileUrl(new URL("../../", import.meta.url));

const args = parseArgs(Deno.args, { string: ["seconds", "runs", "seed", "corpus"] });
const chosen = String(args._[0] ?? "all");
const names = [...FUZZ_TARGETS.map(({ name }) => name), "channel"];
if (chosen !== "all" && !names.includes(chosen)) {
  console.error(`${chosen} is no target. Wanted one of: ${names.join(", ")}, all`);
  Deno.exit(2);
}
const seconds = Number(args.seconds ?? 60);
let faults = 0;
for (const target of FUZZ_TARGETS) {
  if (chosen === "all" || chosen === target.name) await runTarget(target);
}
if (chosen === "all" || chosen === "channel") {
  const folder = join(ROOT, "dist", "fuzz");
  if (!await fuzzChannel(ROOT, folder, { seconds, seed: Number(args.seed ?? 1) })) faults++;
}
Deno.exit(faults === 0 ? 0 : 1);

async function runTarget(target: FuzzTarget): Promise<void> {
  const folder = join(args.corpus ?? join(ROOT, "dist", "fuzz"), target.name);
  await Deno.mkdir(folder, { recursive: true });
  const found = await fuzz(target, {
    corpus: await readAll(folder),
    runs: args.runs === undefined ? undefined : Number(args.runs),
    seed: Number(args.seed ?? 1),
    ms: args.runs === undefined ? seconds * 1000 : undefined,
    onKept: (input) => Deno.writeFileSync(join(folder, nameOf(input)), input),
  });
  console.log(lineOf(target.name, found));
  await Deno.writeFile(folder + ".slowest", found.slowest.input);
  if (found.fault === undefined) return;
  faults++;
  await Deno.writeFile(folder + ".fault", found.fault.input);
  console.error(`${target.name}: ${folder}.fault:`, found.fault.error);
}

function lineOf(name: string, { runs, kept, covered, slowest }: FuzzState): string {
  return `${name}: ${runs} inputs, ${covered} characters of code, ${kept} kept; the slowest took ` +
    `${slowest.ms.toFixed(1)} ms (${slowest.input.length} bytes)`;
}

async function readAll(folder: string): Promise<Uint8Array[]> {
  const inputs: Uint8Array[] = [];
  for await (const { name } of Deno.readDir(folder)) {
    inputs.push(await Deno.readFile(join(folder, name)));
  }
  return inputs;
}

/** A name that depends on the bytes alone (FNV-1a). */
function nameOf(input: Uint8Array): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of input) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash.toString(16).padStart(16, "0");
}
