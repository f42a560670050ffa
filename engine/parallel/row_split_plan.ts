import type { Context } from "../device/mod.ts";
import { type MemoryPlan, planMemory, type PlanRequest, sumOf } from "../memory/mod.ts";
import type { ModelShape } from "../models/mod.ts";
import type { Program } from "../program/mod.ts";
import { asM40Error, M40Error } from "../errors.ts";

/** A card that gets some rows of a model's products. */
export interface RowSplitCard {
  /** What it is called, in messages. */
  readonly name: string;
  /** Says what things take there. */
  readonly context: Context;
  /** Bytes of its memory that are free. */
  readonly freeBytes: number;
  /** What it computes. */
  readonly program: Program;
}

/** Where the memory of cards goes that have some rows each: their sum, and that of each. */
export interface RowSplitMemoryPlan {
  readonly plan: MemoryPlan;
  readonly cards: readonly MemoryPlan[];
}

/**
 * Plans a model whose products' rows are split over cards. Each card keeps all KV blocks and states; the card with
 * the least memory decides how many.
 *
 * @throws {M40Error} As `planMemory` does, with the card's name.
 */
export function planRowSplit(
  cards: readonly RowSplitCard[],
  shape: ModelShape,
  request: Omit<PlanRequest, "freeBytes" | "lanes">,
): RowSplitMemoryPlan {
  const planned = (asked: Omit<PlanRequest, "freeBytes" | "lanes">) =>
    cards.map(({ name, context, freeBytes, program }) => {
      try {
        return planMemory(context, program, shape, { ...asked, freeBytes });
      } catch (error) {
        const { code, message, param } = asM40Error(error);
        throw new M40Error(code, `${name}: ${message}`, param);
      }
    });
  const least = (plans: readonly MemoryPlan[], value: (plan: MemoryPlan) => number) =>
    Math.min(...plans.map(value));
  const contextTokens = least(planned(request), (plan) => plan.contextTokens);
  const alike = { ...request, contextTokens };
  const slots = least(planned(alike), (plan) => plan.slots);
  const withSlots = planned({ ...alike, slots });
  const kvBlocks = least(withSlots, (plan) => plan.kvBlocks);
  const plans = planned({ ...alike, slots, kvBlocks });
  const [first] = plans;
  if (!plans.every((plan) => plan.kvBlocks === first.kvBlocks && plan.slots === first.slots)) {
    throw new M40Error("internal", "cards with rows of one model have other KV blocks or slots");
  }
  return {
    plan: {
      ...first,
      mostContextTokens: least(plans, (plan) => plan.mostContextTokens),
      ...sumOf(plans),
    },
    cards: plans,
  };
}
