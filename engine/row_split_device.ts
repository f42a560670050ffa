import type { Cache } from "./device/context.ts";
import type { DeviceProgram } from "./device/device_program.ts";
import type { StepSequence } from "./device/step_block.ts";
import type { StepResult } from "./device/step_result.ts";
import { asM40Error, isDeviceLoss, M40Error } from "./errors.ts";
import type { ProfiledDevice } from "./scheduled_device.ts";

type Indices = Uint32Array<ArrayBuffer>;
type Bytes = Uint8Array<ArrayBuffer>;

/** A card with some rows of a program's products, and with all that its sequences keep. */
export interface RowCard {
  /** The card, in messages. */
  readonly name: string;
  readonly program: DeviceProgram;
  readonly cache: Cache;
  /** What the cards' programs have in common; the same bytes for all. */
  readonly exchanged: Bytes;
}

/**
 * A device of several cards that compute each step together, some rows of the large products each. All of them are asked for
 * the same, in the same order, and what a step gives is the same on all: the first one's is taken.
 */
export class RowSplitDevice implements ProfiledDevice {
  /** Why a card is lost: then nothing can be computed any more. */
  private loss?: M40Error;
  /** Whether the cards' exchanges have to be begun anew, as a step failed on one of them. */
  private outOfStep = true;

  /** @param origins Of each operation of the cards' programs, the whole program's that it is a part of. */
  constructor(
    private readonly cards: readonly RowCard[],
    private readonly origins: readonly number[],
  ) {
    if (cards.length < 2) throw new M40Error("internal", "rows split over fewer than two cards");
  }

  async step(sequences: readonly StepSequence[]): Promise<StepResult> {
    const [first] = await this.together(({ program }) => program.step(sequences));
    return first;
  }

  /** The times of the whole program's operations on the first card, see {@link DeviceProgram.profile}: exchanges included. */
  async profile(sequences: readonly StepSequence[]): Promise<Float32Array> {
    const [times] = await this.together(({ program }) => program.profile(sequences));
    const sums = new Float32Array(Math.max(...this.origins) + 1).fill(-1);
    for (const [i, origin] of this.origins.entries()) {
      if (times[i] >= 0) sums[origin] = Math.max(sums[origin], 0) + times[i];
    }
    return sums;
  }

  copyPages(from: Indices, to: Indices): Promise<void> {
    return this.onAll(({ cache }) => cache.copyPages(from, to));
  }

  /** All cards keep the same. */
  savePages(pages: Indices, memory: Bytes): Promise<void> {
    return this.onFirst(({ cache }) => cache.savePages(pages, memory));
  }

  restorePages(pages: Indices, memory: Bytes): Promise<void> {
    return this.onAll(({ cache }) => cache.restorePages(pages, memory));
  }

  saveSlots(slots: Indices, memory: Bytes): Promise<void> {
    return this.onFirst(({ cache }) => cache.saveSlots(slots, memory));
  }

  restoreSlots(slots: Indices, memory: Bytes): Promise<void> {
    return this.onAll(({ cache }) => cache.restoreSlots(slots, memory));
  }

  private async onFirst(work: (card: RowCard) => Promise<void>): Promise<void> {
    this.checkAlive();
    const [card] = this.cards;
    try {
      await work(card);
    } catch (error) {
      throw this.failure(card, error);
    }
  }

  private async onAll(work: (card: RowCard) => Promise<void>): Promise<void> {
    this.checkAlive();
    await this.settled(this.cards.map((card) => this.named(card, work(card))));
  }

  /** Has all cards do a step. Where one fails, the others are not left waiting for it. */
  private async together<T>(step: (card: RowCard) => Promise<T>): Promise<T[]> {
    this.checkAlive();
    if (this.outOfStep) await this.beginExchanges();
    return await this.settled(this.cards.map(async (card) => {
      try {
        return await this.named(card, step(card));
      } catch (error) {
        this.outOfStep = true;
        this.giveUp();
        throw error;
      }
    }));
  }

  private async beginExchanges(): Promise<void> {
    await this.onAll(({ program, exchanged }) => program.beginExchanges(exchanged));
    this.outOfStep = false;
  }

  /** Whoever waits in an exchange waits no more. */
  private giveUp(): void {
    const { buffer, byteOffset } = this.cards[0].exchanged;
    Atomics.store(new Uint32Array(buffer, byteOffset, 1), 0, 1);
  }

  /** All results, or the failure that explains the others. All are waited for, as they use what the caller has. */
  private async settled<T>(results: readonly Promise<T>[]): Promise<T[]> {
    // In the order in which they happened: who waited for another card in vain says so after that one.
    const failures: unknown[] = [];
    await Promise.all(results.map((one) => one.catch((error) => failures.push(error))));
    if (failures.length > 0) throw failures.find(isDeviceLoss) ?? failures[0];
    return await Promise.all(results);
  }

  private async named<T>(card: RowCard, result: Promise<T>): Promise<T> {
    try {
      return await result;
    } catch (error) {
      throw this.failure(card, error);
    }
  }

  private checkAlive(): void {
    if (this.loss !== undefined) throw this.loss;
  }

  /** A failure with the name of its card. */
  private failure({ name }: RowCard, error: unknown): M40Error {
    const { code, message, param } = asM40Error(error);
    const named = new M40Error(code, `${name}: ${message}`, param);
    if (isDeviceLoss(named)) this.loss ??= named;
    return named;
  }
}
