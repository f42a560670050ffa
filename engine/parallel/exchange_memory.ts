import type { Context, DeviceProgram } from "../device/mod.ts";

/** How rows get from card to card: written into each other's memory, or through the host's. */
export type ExchangePath = "peers" | "host";

/** A card's program that exchanges rows with the others'. */
export interface ExchangingProgram {
  readonly context: Context;
  readonly program: DeviceProgram;
}

/** Bytes of host memory that say whether cards are to give up, where rows go from card to card. */
const WORD_BYTES = 64;

/** What the programs of several cards exchange rows through. */
export class ExchangeMemory {
  private constructor(
    /** Of each card's program, the host memory that all have, as its context has it. */
    private readonly host: ReadonlyMap<DeviceProgram, Uint8Array<ArrayBuffer>>,
    private readonly inboxes: readonly Uint8Array<ArrayBuffer>[],
    private readonly cards: readonly ExchangingProgram[],
  ) {}

  /**
   * @throws {M40Error} "unsupported" where a card has no memory that others could write; "out_of_memory" where the host has too
   * little that is page-locked.
   */
  static open(cards: readonly ExchangingProgram[], path: ExchangePath): ExchangeMemory {
    const [{ context, program }] = cards;
    const inboxes = path === "peers" ? cards.map(({ program }) => program.exchanges.inbox()) : [];
    const shared = context.createShared(path === "peers" ? WORD_BYTES : program.exchanges.bytes);
    const host = new Map<DeviceProgram, Uint8Array<ArrayBuffer>>();
    try {
      for (const { context, program } of cards) host.set(program, context.share(shared));
      return new ExchangeMemory(host, inboxes, cards);
    } catch (error) {
      for (const { context, program } of cards) {
        const memory = host.get(program);
        if (memory !== undefined) context.freeHostMemory(memory);
      }
      throw error;
    } finally {
      shared.close();
    }
  }

  /** Restarts a card's exchanges, see `ProgramExchanges.begin`. */
  begin(program: DeviceProgram): Promise<void> {
    return program.exchanges.begin(this.host.get(program)!, this.inboxes);
  }

  /** Ends waiting in an exchange; the waiting step fails. */
  giveUp(): void {
    const { buffer, byteOffset } = this.host.get(this.cards[0].program)!;
    Atomics.store(new Uint32Array(buffer, byteOffset, 1), 0, 1);
  }

  /** Has all cards let go of it, and gives it back. No step is under way. */
  async close(): Promise<void> {
    // All first close the others' memory: freeing memory that another still has open is undefined.
    await Promise.allSettled(this.cards.map(({ program }) => program.exchanges.end()));
    for (const { context, program } of this.cards) {
      context.freeHostMemory(this.host.get(program)!);
    }
  }
}
