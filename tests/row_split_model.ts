/**
 * Golden models whose products' rows are split over several cards, each in a context of its own.
 *
 * @module
 */
import { assert } from "@std/assert";
import type { Context, Executor } from "../engine/device/context.ts";
import { KernelLibrary } from "../engine/device/library.ts";
import { ringBytes } from "../engine/device/run_ring.ts";
import { ExchangeMemory, type ExchangePath } from "../engine/exchange_memory.ts";
import { readGguf } from "../engine/gguf/reader.ts";
import type { KvType, MemoryPlan } from "../engine/memory_plan.ts";
import { architectureOf } from "../engine/models/architecture.ts";
import { place } from "../engine/placement.ts";
import type { Program } from "../engine/program/program.ts";
import { splitRows } from "../engine/program/row_split.ts";
import { type RowCard, RowSplitDevice } from "../engine/row_split_device.ts";
import { planRowSplit } from "../engine/row_split_plan.ts";
import { BACKEND } from "./device_harness.ts";
import { CONTEXT } from "./staged_model.ts";

/** Rows that go to a card together: the products of these models are small. */
const UNIT = 16;

/** A model whose rows are split. */
export interface RowSplitModel {
  readonly device: RowSplitDevice;
  readonly plan: MemoryPlan;
  readonly cards: readonly RowCard[];
  readonly programs: readonly Program[];
  /** Bytes of a page and of a slot in host memory. */
  readonly pageBytes: number;
  readonly slotBytes: number;
  readonly libraries: readonly KernelLibrary[];
}

/** Runs something with a golden model, its rows on as many cards as there are shares. */
export async function withRows<T>(
  name: string,
  shares: readonly number[],
  options: {
    kvType?: KvType;
    process?: boolean;
    path?: ExchangePath;
    /** Entries of the ring that each card has its runs through; without any they have none. */
    rings?: readonly number[];
    /** What each card's steps that decode are run by. */
    executors?: readonly Executor[];
  },
  work: (model: RowSplitModel) => Promise<T>,
): Promise<T> {
  const gguf = await readGguf(new URL(`data/golden/${name}.gguf`, import.meta.url).pathname);
  const { program, shape } = architectureOf(gguf).read(gguf, {});
  const { programs, origins, exchanges } = splitRows(program, {
    shares,
    leastBytes: 0,
    unit: UNIT,
  });
  assert(exchanges > 0, "none of its products was split");
  const libraries: KernelLibrary[] = [];
  const contexts: Context[] = [];
  try {
    for (const card of shares.keys()) {
      const library = options.process
        ? KernelLibrary.startProcess(BACKEND)
        : KernelLibrary.find(BACKEND);
      libraries.push(library);
      const device = card % library.countDevices().count;
      const executor = options.executors?.[card];
      contexts.push(library.createContext({ threads: 1, device, executor }));
    }
    const { plan, cards: plans } = planRowSplit(
      contexts.map((context, i) => ({
        name: `card ${i}`,
        context,
        freeBytes: 2 ** 34,
        program: programs[i],
      })),
      shape,
      {
        contextTokens: CONTEXT,
        kvType: options.kvType ?? "f16",
        maxRunning: 4,
        outputs: CONTEXT,
        device: "cpu",
        slots: 6,
      },
    );
    const placed = await Promise.all(
      contexts.map((context, i) => place(context, gguf, programs[i], plans[i])),
    );
    const sizes = contexts.map((context, i) => context.cacheBytes(placed[i].cache.desc));
    const cards = placed.map(({ program, cache }, i) => ({
      ...sizes[i],
      name: `card ${i}`,
      context: contexts[i],
      program,
      cache,
    }));
    options.rings?.forEach((entries, i) =>
      cards[i].program.openRuns(contexts[i].hostMemory(ringBytes(entries)))
    );
    const total = (of: "pageBytes" | "slotBytes") => sizes.reduce((sum, one) => sum + one[of], 0);
    const [pageBytes, slotBytes] = [total("pageBytes"), total("slotBytes")];
    const memory = ExchangeMemory.open(cards, options.path ?? "host");
    const device = new RowSplitDevice(cards, origins, memory);
    try {
      return await work({ device, plan, cards, programs, pageBytes, slotBytes, libraries });
    } finally {
      await device.close();
    }
  } finally {
    contexts.forEach((context) => context.close());
    for (const library of libraries) await library.close();
  }
}
