import type { DeviceProgram } from "../device/mod.ts";
import { asM40Error, isDeviceLoss, M40Error } from "../errors.ts";
import type { ExchangeMemory } from "./exchange_memory.ts";

/** A card whose program exchanges rows with the others'. */
export interface LockstepCard {
  /** The card, in messages. */
  readonly name: string;
  readonly program: DeviceProgram;
}

/** Exchanges have 32-bit numbers, some hundreds a step at most: after so many steps they start again. */
const STEPS_AT_MOST = 2 ** 20;

/** Cards that compute the same steps in the same order, and wait for each other during them. */
export class Lockstep<Card extends LockstepCard> {
  /** Why a card is lost: then nothing can be computed any more. */
  private loss?: M40Error;
  /** Whether the exchanges must start again: at first, and after a step failed on one of the cards. */
  private outOfStep = true;
  /** Since they were begun. */
  private steps = 0;

  /** @param memory What their programs exchange rows through. */
  constructor(private readonly cards: readonly Card[], private readonly memory: ExchangeMemory) {
    if (cards.length < 2) throw new M40Error("internal", "fewer than two cards in step");
  }

  /**
   * Has all cards do a step, or so many. Where one fails, the others are not left waiting for it.
   *
   * @returns What it gave on each.
   * @throws {M40Error} What failed first, but a card's loss before all else, with the card's name.
   */
  async step<T>(work: (card: Card) => Promise<T>, steps = 1): Promise<T[]> {
    this.checkAlive();
    if (this.outOfStep || this.steps >= STEPS_AT_MOST) {
      await this.onAll(({ program }) => this.memory.begin(program));
      this.outOfStep = false;
      this.steps = 0;
    }
    this.steps += steps;
    return await settled(this.cards.map(async (card) => {
      try {
        return await this.on(card, work);
      } catch (error) {
        this.outOfStep = true;
        this.memory.giveUp();
        throw error;
      }
    }));
  }

  /** Has all cards do something, at the same time. */
  async onAll(work: (card: Card) => Promise<void>): Promise<void> {
    this.checkAlive();
    await settled(this.cards.map((card) => this.on(card, work)));
  }

  /** The cards let go of each other's memory. No step is under way. */
  async close(): Promise<void> {
    // Of a card that is lost nothing can be asked; what is left goes with its process.
    if (this.loss === undefined) await this.memory.close();
  }

  private checkAlive(): void {
    if (this.loss !== undefined) throw this.loss;
  }

  /** A failure has the name of its card. */
  private async on<T>(card: Card, work: (card: Card) => Promise<T>): Promise<T> {
    try {
      return await work(card);
    } catch (error) {
      const { code, message, param } = asM40Error(error);
      const named = new M40Error(code, `${card.name}: ${message}`, param);
      if (isDeviceLoss(named)) this.loss ??= named;
      throw named;
    }
  }
}

/** All results, or the failure that explains the others. All are waited for, as they use what the caller has. */
async function settled<T>(results: readonly Promise<T>[]): Promise<T[]> {
  // In the order of the failures: a card that waited for another in vain fails after that one.
  const failures: unknown[] = [];
  await Promise.all(results.map((one) => one.catch((error) => failures.push(error))));
  if (failures.length > 0) throw failures.find(isDeviceLoss) ?? failures[0];
  return await Promise.all(results);
}
