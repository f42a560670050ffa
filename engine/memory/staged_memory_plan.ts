import { bisect } from "./bisect.ts";
import { type CutRequest, type PartSize, piecesThatFit, planCuts } from "./cut_plan.ts";
import { M40Error } from "../errors.ts";
import {
  checkContext,
  grownKvBlocks,
  largest,
  LEAST_CONTEXT,
  longest,
  type MemoryPlan,
  planOf,
  type PlanRequest,
  RESERVE_BYTES,
  sumOf,
  usefulKvBlocks,
  wantedTokens,
} from "./memory_plan.ts";
import type { ModelShape } from "../models/mod.ts";
import {
  layerCutsOf,
  layerOf,
  type Program,
  type ProgramPart,
  splitProgram,
} from "../program/mod.ts";
import { rememberSizes, type Sizes, weightBytesOf } from "./remembered_sizes.ts";
import { PieceSizes } from "./piece_sizes.ts";
import { adviceOf, describeNeed, gib } from "./shortage.ts";
import { planStage, type StagePlan } from "./stage_plan.ts";
import { keptSlots } from "./state_plan.ts";
import { usualShare } from "./usual_context.ts";

/** A card that gets some layers of a model. */
export interface StageCard {
  /** What it is called, in messages. */
  readonly name: string;
  /** Says what things take there. */
  readonly sizes: Sizes;
  /** Those with the same have the same sizes. */
  readonly kind: string;
  /** Bytes of its memory that are free. */
  readonly freeBytes: number;
  /** What its memory gives, compared with the others'. */
  readonly bytesPerSecond: number;
}

/** What a card gets of a model. */
export interface PlannedStage {
  readonly part: ProgramPart;
  readonly plan: StagePlan;
  /** The model's layers that it has, by the names of their weights, first and last. */
  readonly layers: readonly [first: number, last: number];
  /** Bytes that are left of those that were free. */
  readonly leftBytes: number;
}

/** Where the memory of several cards goes: their sum, and that of each. */
export interface StagedMemoryPlan extends MemoryPlan {
  /** In the order in which a step goes through them. */
  readonly stages: readonly PlannedStage[];
}

/** The plan of a whole program, from which those of its parts follow. */
type WholePlan = Omit<MemoryPlan, "mostContextTokens">;

/**
 * Plans a model over several cards: which layers each has, and how its memory is used. All cards are used, or it
 * fails.
 *
 * @throws {M40Error} "out_of_memory" where it does not fit, with what each card has room for; "unsupported" where the
 * model has fewer layers than cards; "invalid_request" as `planMemory` does.
 */
export function planStages(
  cards: readonly StageCard[],
  program: Program,
  shape: ModelShape,
  request: Omit<PlanRequest, "freeBytes">,
): StagedMemoryPlan {
  checkContext(request.contextTokens, shape);
  const planner = new StagePlanner(cards, program, shape, request);
  const { contextTokens: asked, usualTokens } = request;
  const wanted = wantedTokens(shape, request);
  const begins = planner.cuts(wanted);
  if (begins !== undefined) {
    const free = asked === undefined && !usualTokens;
    return planner.grown(free ? planner.longest(wanted, begins) : wanted, begins);
  }
  const least = Math.min(request.leastTokens ?? LEAST_CONTEXT, wanted);
  const fits = (tokens: number) => planner.cuts(tokens) !== undefined;
  const possible = fits(least) ? largest(least, wanted, fits) : 0;
  if (asked === undefined && possible > 0) {
    return planner.grown(possible, planner.cuts(possible)!);
  }
  throw planner.shortage(wanted, possible);
}

class StagePlanner {
  private readonly whole: Sizes;
  private readonly weightBytes: number;
  /** Where the program may be cut. */
  private readonly points: readonly number[];
  private readonly pieces: PieceSizes;
  private readonly parts = new Map<string, ProgramPart>();

  constructor(
    private readonly cards: readonly StageCard[],
    private readonly program: Program,
    private readonly shape: ModelShape,
    private readonly request: Omit<PlanRequest, "freeBytes">,
  ) {
    this.cards = cards.map((card) => ({ ...card, sizes: rememberSizes(card.sizes) }));
    this.whole = this.cards[0].sizes;
    this.weightBytes = weightBytesOf(this.whole, program.weights);
    this.points = layerCutsOf(program);
    this.pieces = new PieceSizes(program, this.points, request.kvType);
    const pieces = this.pieces.count;
    if (pieces < cards.length) {
      throw new M40Error(
        "unsupported",
        `this model can be cut into ${pieces} ${
          pieces === 1 ? "part" : "parts"
        } at the most, but ` +
          `${cards.length} devices are named (${cards.map(({ name }) => name).join(", ")}): ` +
          `name ${pieces === 1 ? "one" : `${pieces} of them`}`,
      );
    }
  }

  /** The piece that each card but the first begins with; undefined where the model does not fit with such a context. */
  cuts(tokens: number): number[] | undefined {
    const whole = this.wholePlan(tokens);
    const begins = planCuts(this.cutRequest(whole));
    // Pieces are counted, parts are asked for.
    return begins !== undefined && this.fits(whole, begins) ? begins : undefined;
  }

  /** The longest context that fits, from so many tokens on, where none is asked for: each card keeps its pieces. */
  longest(tokens: number, begins: readonly number[]): number {
    const { device } = this.request;
    const share = usualShare(device, this.program.states.length > 0);
    const fits = (tokens: number) => this.fits(this.wholePlan(tokens), begins, share);
    return longest(tokens, this.shape.contextLength, fits);
  }

  /** Gives what is left to slots and KV blocks. */
  grown(tokens: number, begins: readonly number[]): StagedMemoryPlan {
    const least = this.wholePlan(tokens);
    const kept = this.leastOf(
      least,
      begins,
      "slotBytes",
      (left, bytes) => keptSlots(left, bytes, this.request.maxRunning),
    );
    const slots = least.slots === 0
      ? 0
      : Math.max(least.slots, Math.min(least.slots + kept, this.request.slots ?? Infinity));
    const withSlots = this.wholePlan(tokens, least.kvBlocks, slots);
    const more = this.leastOf(
      withSlots,
      begins,
      "kvBlockBytes",
      (left, bytes) => Math.floor(left / bytes),
    );
    const useful = () => usefulKvBlocks(least, this.request.maxRunning);
    const kvBlocks = grownKvBlocks(least, more, useful, this.request);
    const grown = this.wholePlan(tokens, kvBlocks, slots);
    const chosen = this.fits(grown, begins) ? grown : least;
    const { contextLength } = this.shape;
    const fits = (tokens: number) => this.fits(this.wholePlan(tokens), begins);
    const mostContextTokens = longest(tokens, contextLength, fits);
    return this.summed(chosen, begins, mostContextTokens);
  }

  /** Why it does not fit, and what would. */
  shortage(wanted: number, possible: number): M40Error {
    const needed = this.wholePlan(wanted);
    const request = this.cutRequest(needed);
    const counts = piecesThatFit(request);
    const left = request.pieces - counts.reduce((sum, count) => sum + count, 0);
    const rooms = this.cards.map(({ name, freeBytes }, card) =>
      `${name} has ${gib(Math.max(0, freeBytes - RESERVE_BYTES))} free, room for ` +
      (counts[card] === 0 ? "none of them" : `${counts[card]} of them`)
    );
    const idle = left === 0
      ? [`each card has to have a layer: leave out those that have room for none`]
      : [`${left} find no room`];
    const fewer = bisect(
      0,
      this.request.maxRunning,
      (maxRunning) =>
        planCuts(this.cutRequest(this.wholePlan(wanted, undefined, undefined, maxRunning))) !==
          undefined,
    );
    const advice = adviceOf(possible, fewer);
    if (advice.length === 0 && left > 0) {
      advice.push("another card, or a smaller quantisation of the model, is needed");
    }
    return new M40Error(
      "out_of_memory",
      `${describeNeed(needed, this.request.maxRunning)} on each card; of its ${request.pieces} ` +
        `layers: ${rooms.join(", ")}; ${[...idle, ...advice].join("; ")}`,
    );
  }

  private wholePlan(
    tokens: number,
    kvBlocks?: number,
    slots?: number,
    maxRunning = this.request.maxRunning,
  ): WholePlan {
    const freeBytes = this.cards.reduce((sum, card) => sum + card.freeBytes, 0);
    const { program, shape, weightBytes } = this;
    const request = { ...this.request, maxRunning, freeBytes };
    return planOf(this.whole, program, shape, request, weightBytes, tokens, kvBlocks, slots);
  }

  private cutRequest(whole: WholePlan): CutRequest {
    const known = new Map<string, PartSize>();
    return {
      cards: this.cards.map(({ freeBytes, bytesPerSecond }) => ({
        bytes: freeBytes - RESERVE_BYTES,
        bytesPerSecond,
      })),
      pieces: this.pieces.count,
      size: (card, from, to) => {
        const key = `${this.cards[card].kind} ${from} ${to}`;
        const size = known.get(key) ?? this.pieces.sizeOf(this.cards[card].sizes, from, to, whole);
        known.set(key, size);
        return size;
      },
      kvBlocks: whole.kvBlocks,
      slots: whole.slots,
    };
  }

  /** The pieces of [from, to) as a program. */
  private part(from: number, to: number): ProgramPart {
    const key = `${from} ${to}`;
    const known = this.parts.get(key);
    if (known !== undefined) return known;
    const [start, end] = [this.points[from - 1], this.points[to - 1]];
    const cuts = [start, end].filter((cut) => cut !== undefined);
    const part = splitProgram(this.program, cuts)[start === undefined ? 0 : 1];
    this.parts.set(key, part);
    return part;
  }

  private stagesOf(whole: WholePlan, begins: readonly number[]): PlannedStage[] {
    const ends = [...begins, this.pieces.count];
    return this.cards.map(({ sizes, freeBytes }, card) => {
      const part = this.part(card === 0 ? 0 : ends[card - 1], ends[card]);
      const plan = planStage(sizes, part, whole);
      return { part, plan, layers: layersOf(part), leftBytes: freeBytes - plan.totalBytes };
    });
  }

  /** Whether every card has room, where only a share of its memory without the weights may be used. */
  private fits(whole: WholePlan, begins: readonly number[], share = 1): boolean {
    return this.stagesOf(whole, begins).every(({ plan, leftBytes }) => {
      const usable = leftBytes - RESERVE_BYTES + plan.totalBytes - plan.weightBytes;
      return leftBytes - RESERVE_BYTES >= (1 - share) * Math.max(0, usable);
    });
  }

  /** How many more there is room for on all cards that keep such, out of what is left on each. */
  private leastOf(
    whole: WholePlan,
    begins: readonly number[],
    kept: "kvBlockBytes" | "slotBytes",
    count: (leftBytes: number, bytes: number) => number,
  ): number {
    return Math.min(
      ...this.stagesOf(whole, begins).map(({ plan, leftBytes }, card) => {
        const bytes = this.cards[card].sizes.cacheBytes(plan.cache)[kept];
        return bytes === 0 ? Infinity : count(Math.max(0, leftBytes - RESERVE_BYTES), bytes);
      }),
    );
  }

  private summed(
    whole: WholePlan,
    begins: readonly number[],
    mostContextTokens: number,
  ): StagedMemoryPlan {
    const stages = this.stagesOf(whole, begins);
    const taken = sumOf(stages.map(({ plan, leftBytes }) => ({ ...plan, leftBytes })));
    return { ...whole, mostContextTokens, ...taken, stages };
  }
}

/** The layers whose weights a part has. */
function layersOf({ program }: ProgramPart): [number, number] {
  const layers = program.operations
    .map((operation) => layerOf(program, operation))
    .filter((layer) => layer !== undefined);
  return [Math.min(...layers), Math.max(...layers)];
}
