import type { EngineOptions } from "../engine_options.ts";
import { chooseExchange, type ChosenExchange } from "./exchange_choice.ts";
import { measureBandwidth } from "../device/mod.ts";
import { cacheTokens, type PlanRequest, wantedTokens } from "../memory/mod.ts";
import type { ModelShape } from "../models/mod.ts";
import { type Program, type SplitRows, splitRows } from "../program/mod.ts";
import { asM40Error, isDeviceLoss, M40Error } from "../errors.ts";
import { canBeTimed, type OpenedCard } from "./opened_card.ts";
import { planRowSplit, type RowSplitMemoryPlan } from "./row_split_plan.ts";

/** Without `--split rows`, the cards must hold so many sequences of the wanted context. */
const LEAST_SEQUENCES = 4;

/** A row-split model: what each card computes, and how its memory is used. */
export interface PlannedRows extends RowSplitMemoryPlan {
  readonly split: SplitRows;
  /** Of each card, its part of the rows: all together are 1. */
  readonly shares: readonly number[];
  readonly exchange: ChosenExchange;
}

/**
 * Plans a model with its rows split over cards, where that was asked for or is worth it.
 *
 * @param bandwidths What each card's memory gives, compared with the others'.
 * @returns undefined where its layers are to be split instead.
 * @throws {M40Error} As `planMemory` does, where rows were asked for; "unsupported" where the model has no large products;
 * "device" where a card fails.
 */
export async function planRows(
  cards: readonly OpenedCard[],
  freeBytes: readonly number[],
  bandwidths: readonly number[],
  program: Program,
  shape: ModelShape,
  request: Omit<PlanRequest, "freeBytes" | "lanes">,
  { split: asked = "auto" }: Pick<EngineOptions, "split">,
): Promise<PlannedRows | undefined> {
  if (asked === "layers" || (asked === "auto" && !canBeTimed(cards))) return undefined;
  const all = bandwidths.reduce((sum, one) => sum + one, 0);
  const shares = bandwidths.map((one) => one / all);
  const split = splitRows(program, { shares });
  if (split.exchanges === 0) {
    if (asked === "auto") return undefined;
    throw new M40Error(
      "unsupported",
      "this model has no products that are large enough for their rows to be split: --split layers splits its layers",
    );
  }
  const planned = () =>
    planRowSplit(
      cards.map(({ name, context }, i) => ({
        ...{ name, context, freeBytes: freeBytes[i], program: split.programs[i] },
      })),
      shape,
      request,
    );
  if (asked === "rows") {
    return { ...planned(), split, shares, exchange: await chooseExchange(cards) };
  }
  let plan: RowSplitMemoryPlan;
  try {
    plan = planned();
  } catch (error) {
    if (asM40Error(error).code === "out_of_memory") return undefined;
    throw error;
  }
  if (!hasRoom(plan, shape, request)) return undefined;
  const exchange = await worthyExchange(cards, split, shares);
  return exchange && { ...plan, split, shares, exchange };
}

/** Whether the context is what was wanted, and there are KV blocks for several sequences of it. */
function hasRoom(
  { plan }: RowSplitMemoryPlan,
  shape: ModelShape,
  request: Omit<PlanRequest, "freeBytes" | "lanes">,
): boolean {
  const wanted = wantedTokens(shape, request);
  if (plan.contextTokens < wanted) return false;
  const sequences = Math.min(LEAST_SEQUENCES, request.maxRunning);
  return plan.cache.n_layers === 0 || cacheTokens(plan) >= sequences * wanted;
}

/** How rows are exchanged, where a token's exchanges take less than is saved as no card reads all weights. */
async function worthyExchange(
  cards: readonly OpenedCard[],
  { exchanges, splitBytes }: SplitRows,
  shares: readonly number[],
): Promise<ChosenExchange | undefined> {
  const [{ library, context, info }] = cards;
  try {
    const perSecond = await measureBandwidth(library, context, info);
    const exchange = await chooseExchange(cards);
    const { seconds = Infinity } = exchange;
    return exchanges * seconds < (1 - shares[0]) * splitBytes / perSecond ? exchange : undefined;
  } catch (error) {
    if (isDeviceLoss(error)) throw error;
    // There is no memory that all could have.
    return undefined;
  }
}
