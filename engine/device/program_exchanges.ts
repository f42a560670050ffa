import { asBytes } from "./bytes.ts";
import type { DeviceQueue } from "./device_queue.ts";
import { call } from "./status.ts";
import { INBOX } from "./structs.ts";
import type { Symbols } from "./symbols.ts";

/** What a program exchanges rows with other cards' programs through. */
export class ProgramExchanges {
  constructor(
    private readonly symbols: Symbols,
    private readonly queue: DeviceQueue,
    private readonly handle: Deno.PointerValue,
  ) {}

  /**
   * Bytes of the host memory that rows may go through, of all cards together; 0 where the program exchanges nothing.
   */
  get bytes(): number {
    const bytes = new BigUint64Array(1);
    call((error) => this.symbols.m40_program_exchange_bytes(this.handle, asBytes(bytes), error));
    return Number(bytes[0]);
  }

  /**
   * Where the program receives the rows of other cards, in its device's memory: an `m40_inbox`.
   *
   * @throws {M40Error} "unsupported" where no other device could write there.
   */
  inbox(): Uint8Array<ArrayBuffer> {
    const inbox = new Uint8Array(INBOX.bytes);
    call((error) => this.symbols.m40_program_inbox(this.handle, inbox, error));
    return inbox;
  }

  /**
   * Sets how exchanges go, and counts them from 0 again. Call it on all cards before the first step, and after one that
   * failed on one of them.
   *
   * @param memory Of {@link Context.share}: {@link bytes}, or with inboxes 64 bytes.
   * @param inboxes Of all cards, in their order; none: rows go through the memory.
   * @throws {M40Error} "unsupported" where the device cannot write another's inbox.
   */
  async begin(
    memory: Uint8Array<ArrayBuffer>,
    inboxes: readonly Uint8Array<ArrayBuffer>[] = [],
  ): Promise<void> {
    const all = new Uint8Array(inboxes.length * INBOX.bytes);
    inboxes.forEach((inbox, i) => all.set(inbox, i * INBOX.bytes));
    await this.give(memory, memory.byteLength, all, inboxes.length);
  }

  /** The program stops to read and write other cards' memory. Call it on all of them before any frees its memory. */
  end(): Promise<void> {
    return this.give(null, 0, null, 0);
  }

  private async give(
    memory: Uint8Array<ArrayBuffer> | null,
    bytes: number,
    inboxes: Uint8Array<ArrayBuffer> | null,
    count: number,
  ): Promise<void> {
    await this.queue.run(() => {
      call((error) =>
        this.symbols.m40_program_exchange(this.handle, memory, BigInt(bytes), inboxes, count, error)
      );
      return Promise.resolve();
    });
  }
}
