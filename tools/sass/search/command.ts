/**
 * `deno task sass --search KERNEL`: tries orders of a kernel and prints the best.
 *
 * @module
 */
import { fromFileUrl } from "@std/path";
import { BuildError } from "../../build/build_error.ts";
import { type CudaToolkit, findCudaToolkit } from "../../build/cuda_toolkit.ts";
import { BuildFolder, sameAddresses } from "../../build/same_bytes.ts";
import { rate, type Workshop } from "./candidate.ts";
import { decodeKernelOf, describeKernel, kernelFacts } from "./decode_kernel.ts";
import { type DecodeOrder, orderText, tableText } from "./order.ts";
import { type Cost, OrderSearch, type Rated } from "./order_search.ts";

const ROOT = fromFileUrl(new URL("../../..", import.meta.url));

/**
 * A candidate is made when so many before it are not known yet, however many are compiled at a time: so the same seed
 * makes the same ones with any number of jobs.
 */
export const AHEAD = 4;

/** Their folders are numbered with five digits. */
const MOST_CANDIDATES = 99_999;

/** What is said on the command line, as it stands there. */
export interface SearchArguments {
  readonly kernel: string;
  readonly tokens?: string;
  readonly candidates?: string;
  readonly jobs?: string;
  readonly seed?: string;
}

/** The options of {@link SEARCH_HELP}, beside --search. */
export const SEARCH_OPTIONS = ["tokens", "candidates", "jobs", "seed"] as const;

export const SEARCH_HELP =
  `  --search KERNEL    Say instead in which order a decode product loses the fewest clocks to register
                     banks: compiles it alone with one order after the other. KERNEL: as this prints
                     it, "matmul_decode_kernel<12, 8, 4, 0, 2, 12>", or a tensor type. Ctrl-C ends it
                     with what was found
    --tokens N       Of a tensor type: 1, 2, 4, 8 or 16 tokens of a pass (default 8)
    --candidates N   Orders to try (default 200)
    --jobs N         Of them compiled at a time, ${AHEAD} at most (default: one for each core)
    --seed N         Begin of the random numbers; the same one finds the same (default 1)
`;

function numberOf(name: string, text: string | undefined, least: number, usual: number): number {
  if (text === undefined) return usual;
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= least && Number.isSafeInteger(number)) return number;
  throw new BuildError(`--${name} ${text}: wanted a whole number, ${least} or more`);
}

/**
 * Tries what a search makes: {@link AHEAD} at a time at most, and told to it in their order.
 *
 * @param stop No more are tried when it is aborted; those that are being tried are waited for, but of no account.
 * @param told Called after each that the search took in.
 */
export async function runSearch(
  search: OrderSearch,
  rateOrder: (order: DecodeOrder, number: number) => Promise<Cost | undefined>,
  stop: AbortSignal,
  told: (rated: { order: DecodeOrder; cost?: Cost }, number: number) => void = () => {},
): Promise<void> {
  type Trial = { order: DecodeOrder; cost: Promise<Cost | undefined> };
  const waiting: Trial[] = [];
  let done = 0;
  const settle = async () => {
    const { order, cost: promise } = waiting.shift()!;
    const cost = await promise.catch((error) => {
      if (stop.aborted) return undefined;
      throw error;
    });
    if (stop.aborted) return;
    search.tell(order, cost);
    told({ order, cost }, ++done);
  };
  try {
    for (let number = 0; !stop.aborted; number++) {
      if (waiting.length === AHEAD) await settle();
      const order = stop.aborted ? undefined : search.next();
      if (!order) break;
      const cost = rateOrder(order, number);
      cost.catch(() => {}); // It is awaited later, or the first to fail has ended all.
      waiting.push({ order, cost });
    }
    while (waiting.length > 0 && !stop.aborted) await settle();
  } finally {
    await Promise.allSettled(waiting.map(({ cost }) => cost));
  }
}

/** Runs work by turns: so many at a time. */
export class Turns {
  private free: number;
  private readonly queue: (() => void)[] = [];

  constructor(jobs: number) {
    this.free = jobs;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.free > 0) this.free--;
    else await new Promise<void>((resolve) => this.queue.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.queue.shift();
      if (next) next();
      else this.free++;
    }
  }
}

const percent = (share: number) => `${(share * 100).toFixed(1)}%`;

/** "1484 clocks a turn, 78.2% FFMA a clock, 2.6% lost to banks, 128 registers" */
export function describeCost({ spills, clocks, banks, registers, share }: Cost): string {
  const spilled = spills === 0 ? "" : `${spills} accesses of local memory, `;
  return `${spilled}${clocks} clocks a turn, ${percent(share)} FFMA a clock, ${
    percent(banks / clocks)
  } lost to banks, ${registers} registers`;
}

/** What goes into cuda/kernels/decode_order.cuh. */
export function describeOrder({ order }: Rated): string {
  if (!order.table) return `DecodeOrder${orderText(order)}`;
  return [
    `from_table(${order.refill}, table_NAME), where decode_tables[] has, in its place among DecodeTable,`,
    tableText(order.table),
  ].join("\n");
}

/** What a search runs with. */
export interface SearchOptions {
  /** Ends it early: it prints what was found until then. */
  readonly stop?: AbortSignal;
  readonly log?: (line: string) => void;
  readonly findToolkit?: () => Promise<CudaToolkit>;
}

/**
 * Runs the command.
 *
 * @returns Its exit code: 1 where every order spills, 130 where it was stopped.
 * @throws {BuildError} where an argument is wrong, or there is no toolkit.
 */
export async function searchOrders(
  args: SearchArguments,
  options: SearchOptions = {},
): Promise<number> {
  const {
    stop = new AbortController().signal,
    log = console.log,
    findToolkit = () => findCudaToolkit(),
  } = options;
  const tokens = args.tokens === undefined ? undefined : numberOf("tokens", args.tokens, 1, 8);
  const kernel = decodeKernelOf(args.kernel, tokens);
  const candidates = numberOf("candidates", args.candidates, 1, 200);
  if (candidates > MOST_CANDIDATES) {
    throw new BuildError(`--candidates ${candidates}: wanted ${MOST_CANDIDATES} at most`);
  }
  const jobs = numberOf("jobs", args.jobs, 1, Math.min(AHEAD, navigator.hardwareConcurrency));
  if (jobs > AHEAD) throw new BuildError(`--jobs ${jobs}: wanted 1 to ${AHEAD}`);
  const seed = numberOf("seed", args.seed, 0, 1);
  const toolkit = await findToolkit();

  await using copy = await BuildFolder.make(ROOT, ["cuda"]);
  const facts = await kernelFacts(kernel, copy.path, toolkit);
  const shop: Workshop = { folder: copy.path, toolkit, launcher: await sameAddresses() };
  const search = new OrderSearch(facts, facts.own, candidates, seed);
  const turns = new Turns(jobs);
  log(`${describeKernel(kernel)}, CUDA ${toolkit.version}`);
  let tried = 0;
  let spilled = 0;
  await runSearch(
    search,
    (order, number) =>
      turns.run(() =>
        stop.aborted ? Promise.resolve(undefined) : rate(shop, kernel, facts, order, number)
      ),
    stop,
    ({ order, cost }) => {
      tried++;
      if (cost?.spills !== 0) spilled++;
      if (tried === 1) log(`today: ${cost ? describeCost(cost) : "it does not fit"}`);
      else if (search.best?.order === order) log(`order ${tried}: ${describeCost(cost!)}`);
    },
  );
  const { best, bestPlain } = search;
  const end = stop.aborted ? ", then it was stopped" : "";
  log(`${tried} orders were tried, ${spilled} of them spill${end}`);
  if (best?.order.table && bestPlain) {
    log(`the best without a table: ${describeCost(bestPlain.cost)}\n${describeOrder(bestPlain)}`);
  }
  if (best) log(`the best: ${describeCost(best.cost)}\n${describeOrder(best)}`);
  return stop.aborted ? 130 : best ? 0 : 1;
}
