/**
 * Checks the M40's machine code in dist/libm40_cuda.so against budgets, and prints what each kernel uses:
 * registers, shared memory, local memory (spills), what the instruction rate of its hot loop allows of the M40's
 * bandwidth or arithmetic, and that loop's clocks by the assembler's own schedule. Fails where a budget of
 * tools/sass/budgets.ts or tools/sass/clock_budgets.ts is broken.
 *
 * `deno task sass [--all] [--against LIBRARY] [LIBRARY]`, `deno task sass --search KERNEL`: see {@link HELP}.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { fromFileUrl } from "@std/path";
import { buildKernels } from "../build_kernels.ts";
import { BuildError } from "./build/build_error.ts";
import {
  ATTENTION_ADD_SHARE,
  ATTENTION_LOOP_SHARE,
  bandwidthBudget,
  type Budget,
  CACHE_SHARE,
  isAttentionDecode,
  isAttentionPrefill,
  isAttentionWide,
  isDecode,
  isHot,
  isPrefill,
  isRecurrence,
  isTiledDecode,
  MULTIPLY_ADD_SHARE,
  PREFILL_INNER_TURNS,
  RECURRENCE_KEYS,
  RECURRENCE_SHARE,
  TILED_DECODE_ADD_SHARE,
  TILED_DECODE_INNER_TURNS,
  WEIGHT_TYPES,
  WIDE_ADD_SHARE,
} from "./sass/budgets.ts";
import { compareKernels, describeDifference } from "./sass/compare.ts";
import { clockBudget, judgeClocks } from "./sass/clock_budgets.ts";
import { ControlError } from "./sass/control.ts";
import { clocks as issueClocks } from "./sass/instructions.ts";
import { describeClocks, kernelClocks } from "./sass/loops.ts";
import {
  globalBytes,
  hotLoop,
  type Kernel,
  localAccesses,
  multiplications,
  multiplyAdds,
  nestedLoop,
  residentBlocks,
} from "./sass/kernels.ts";
import { kernelsOf } from "./sass/library.ts";
import { SEARCH_HELP, SEARCH_OPTIONS, searchOrders } from "./sass/search/command.ts";

/** Tesla M40: multiprocessors, GHz (boost), GB/s. */
const M40 = { multiprocessors: 24, ghz: 1.114, bandwidth: 288 };
const LIBRARY = fromFileUrl(new URL("../dist/libm40_cuda.so", import.meta.url));

/** A line of the report. */
interface Finding {
  readonly kernel: Kernel;
  /** What its hot loop allows, in words. */
  readonly allows: string;
  /** What its schedule says, in words; empty where the listing has no control words. */
  readonly clocks: string;
  /** Budgets that it breaks. */
  readonly broken: readonly string[];
  /** Aims that it falls short of. */
  readonly missed: readonly string[];
  readonly budgeted: boolean;
}

const percent = (share: number) => `${Math.round(share * 100)}%`;

/** The share of the M40's bandwidth that a loop can take in, at that many bytes an iteration. */
function bandwidthShare(bytes: number, loop: readonly string[]): number {
  return bytes / issueClocks(loop) * M40.multiprocessors * M40.ghz / M40.bandwidth;
}

/** What one kernel's code allows, against its budgets. */
export function examine(kernel: Kernel): Finding {
  const broken: string[] = [];
  const missed: string[] = [];
  const judge = (share: number, { aim, least }: Budget, unit: string) => {
    if (share < least) broken.push(`wanted ${percent(least)}${unit}`);
    else if (share < aim) missed.push(`aimed at ${percent(aim)}${unit}`);
  };
  const local = localAccesses(kernel);
  if (isHot(kernel) && local > 0) broken.push(`${local} accesses of local memory`);
  const loop = hotLoop(kernel, isAttentionPrefill(kernel) ? ATTENTION_LOOP_SHARE : undefined);
  let allows = "";
  let budgeted = false;
  if (loop && isDecode(kernel)) {
    const type = WEIGHT_TYPES[kernel.args[0]];
    const tokens = kernel.args[1];
    // A turn takes a block of 32 columns of each of a lane's rows.
    const weights = 32 * kernel.args[2];
    const share = bandwidthShare(weights * 32 * type.bytes, loop);
    const budget = bandwidthBudget(type, kernel.args);
    budgeted = budget !== undefined;
    allows = `${type.name}, ${tokens} tokens: ${weights} weights a lane in ${loop.length} ` +
      `instructions, ${percent(share)} of 288 GB/s`;
    if (budget !== undefined) judge(share, budget, " of 288 GB/s");
  } else if (isPrefill(kernel)) {
    const nested = nestedLoop(kernel, PREFILL_INNER_TURNS) ?? [];
    const share = nested.length === 0 ? 0 : multiplyAdds(nested) / nested.length;
    const [type, tokens, whole] = kernel.args;
    budgeted = true;
    allows = `${WEIGHT_TYPES[type].name}, a tile of ${tokens} tokens${whole ? "" : ", ragged"}: ` +
      `${percent(share)} of ${nested.length} instructions are multiply-adds`;
    judge(share, MULTIPLY_ADD_SHARE[tokens], "");
  } else if (isTiledDecode(kernel)) {
    const nested = nestedLoop(kernel, TILED_DECODE_INNER_TURNS) ?? [];
    const share = nested.length === 0 ? 0 : multiplyAdds(nested) / nested.length;
    budgeted = true;
    allows = `${WEIGHT_TYPES[kernel.args[0]].name}, 32 tokens: ${percent(share)} of ` +
      `${nested.length} instructions are multiply-adds`;
    judge(share, TILED_DECODE_ADD_SHARE, "");
  } else if (loop && isAttentionDecode(kernel)) {
    const share = bandwidthShare(globalBytes(loop), loop);
    const wanted = CACHE_SHARE[kernel.args[0]];
    budgeted = true;
    allows = `a cache of ${WEIGHT_TYPES[kernel.args[0]].name}, ${kernel.args[2]} query heads: ` +
      `${globalBytes(loop)} bytes in ${loop.length} instructions, ${percent(share)} of 288 GB/s`;
    if (share < wanted) broken.push(`wanted ${percent(wanted)} of 288 GB/s`);
  } else if (loop && (isAttentionPrefill(kernel) || isAttentionWide(kernel))) {
    const share = multiplyAdds(loop) / loop.length;
    const wanted = isAttentionWide(kernel) ? WIDE_ADD_SHARE[kernel.args[1]] : ATTENTION_ADD_SHARE;
    budgeted = true;
    allows = `a cache of ${WEIGHT_TYPES[kernel.args[0]].name}: ${percent(share)} of ` +
      `${loop.length} instructions are multiply-adds`;
    if (share < wanted) broken.push(`wanted ${percent(wanted)}`);
  } else if (loop && isRecurrence(kernel)) {
    const [fours, lanes] = kernel.args;
    const keys = 4 * fours * lanes;
    const share = multiplications(loop) / loop.length;
    budgeted = keys >= RECURRENCE_KEYS;
    allows = `up to ${keys} keys: ${percent(share)} of ${loop.length} instructions a token ` +
      `multiply and add`;
    if (budgeted) judge(share, RECURRENCE_SHARE, "");
  } else if (loop) {
    allows = `${multiplyAdds(loop)} multiply-adds in ${loop.length} instructions`;
  }
  const schedule = kernelClocks(kernel);
  const clockBudgets = clockBudget(kernel);
  if (schedule && clockBudgets) {
    budgeted = true;
    const judged = judgeClocks(schedule, clockBudgets);
    broken.push(...judged.broken);
    missed.push(...judged.missed);
  }
  const clocks = schedule ? describeClocks(schedule) : "";
  return { kernel, allows, clocks, broken, missed, budgeted };
}

/** Prints what the code of kernels differs in from that of another build. */
async function compareWith(library: string, kernels: readonly Kernel[]): Promise<number> {
  const { different, gone, added, same } = compareKernels(await kernelsOf(library), kernels);
  for (const difference of different) console.log(describeDifference(difference));
  for (const name of gone) console.log(`${name}: only in ${library}`);
  for (const name of added) console.log(`${name}: not in ${library}`);
  console.log(`${same} kernels have the same instructions, ${different.length} have others`);
  return 0;
}

const HELP = `deno task sass [--all] [--against LIBRARY] [LIBRARY]
deno task sass --search KERNEL [--tokens N] [--candidates N] [--jobs N] [--seed N]

Checks the M40's machine code in a library against the budgets of tools/sass, those of the CUDA that
compiled it: 11 or 12. LIBRARY: default dist/libm40_cuda.so, of which what is not up to date is built
first.

  --all              Print kernels without a budget, too
  --against LIBRARY  Say instead which kernels' code is not that of another build, and what of it differs
${SEARCH_HELP}  --help             Print this
`;

async function main(): Promise<number> {
  const args = parseArgs(Deno.args, {
    boolean: ["all", "help"],
    string: ["against", "search", ...SEARCH_OPTIONS],
    alias: { help: "h" },
    unknown: (argument, name) => {
      if (name === undefined) return true;
      throw new BuildError(`unknown argument ${argument}\n\n${HELP}`);
    },
  });
  if (args.help) {
    console.log(HELP.trimEnd());
    return 0;
  }
  if (args.search !== undefined) {
    const stop = new AbortController();
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      Deno.addSignalListener(signal, () => stop.abort());
    }
    return await searchOrders({ ...args, kernel: args.search }, { stop: stop.signal });
  }
  for (const name of SEARCH_OPTIONS) {
    if (args[name] !== undefined) {
      throw new BuildError(`--${name} is for --search KERNEL\n\n${HELP}`);
    }
  }
  if (args._.length === 0) await buildKernels({ target: "cuda", log: console.log });
  const kernels = await kernelsOf(String(args._[0] ?? LIBRARY));
  if (kernels.length === 0) throw new BuildError("the library has no machine code for sm_52");
  if (args.against !== undefined) return compareWith(args.against, kernels);
  const findings = kernels.map(examine);
  for (const { kernel, allows, clocks, broken, missed, budgeted } of findings) {
    if (!args.all && !budgeted && broken.length === 0) continue;
    const blocks = residentBlocks(kernel);
    const resources = `${kernel.registers} registers, ${kernel.shared} bytes shared` +
      (blocks === undefined ? "" : `, ${blocks} x ${kernel.threads} threads a multiprocessor`);
    console.log(`${kernel.name}: ${resources}${allows ? "; " + allows : ""}`);
    if (clocks) console.log(`  ${clocks}`);
    for (const reason of broken) console.log(`  BROKEN: ${reason}`);
    for (const reason of missed) console.log(`  short: ${reason}`);
  }
  const failed = findings.filter(({ broken }) => broken.length > 0).length;
  const short = findings.filter(({ missed }) => missed.length > 0).length;
  const versions = [...new Set(kernels.map(({ cuda }) => cuda))].filter((cuda) => cuda > 0);
  const compiled = versions.length === 0 ? "" : ` of CUDA ${versions.sort().join(" and ")}`;
  console.log(
    `${kernels.length} kernels${compiled}, ${failed} break a budget, ${short} fall short of an aim`,
  );
  return failed > 0 ? 1 : 0;
}

if (import.meta.main) {
  try {
    Deno.exit(await main());
  } catch (error) {
    if (!(error instanceof BuildError || error instanceof ControlError)) throw error;
    console.error(error.message);
    Deno.exit(1);
  }
}
