import { RING, RING_ENTRY } from "./structs.ts";

const WORD = 4;
const ENTRY_WORDS = RING_ENTRY.bytes / WORD;
const FIRST_ENTRY = RING.bytes / WORD;
const READ = RING.fields.read.offset / WORD;
const STOP = RING.fields.stop.offset / WORD;
const OVER = RING.fields.over.offset / WORD;
const NUMBER = RING_ENTRY.fields.number.offset / WORD;

/** Bytes of a ring with room for so many entries at least. */
export function ringBytes(entries: number): number {
  return RING.bytes + 2 ** Math.ceil(Math.log2(Math.max(1, entries))) * RING_ENTRY.bytes;
}

/**
 * The ring that the tokens of a device's runs go through, as the host sees it; m40.h says how it is written. Nothing here
 * calls the library.
 */
export class RunRing {
  /** Entries that it has room for. */
  readonly entries: number;
  private readonly words: Int32Array<ArrayBuffer>;

  /** @param bytes Memory that the device shares, of {@link ringBytes}; it is cleared. */
  constructor(readonly bytes: Uint8Array<ArrayBuffer>) {
    this.entries = (bytes.byteLength - RING.bytes) / RING_ENTRY.bytes;
    this.words = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / WORD);
    this.words.fill(0);
  }

  /** Whether the run that was waited for is over. */
  get isOver(): boolean {
    return Atomics.load(this.words, OVER) !== 0;
  }

  /** Asks the run to begin no more steps, or clears that for the next run. */
  setStop(stops: boolean): void {
    Atomics.store(this.words, STOP, stops ? 1 : 0);
  }

  /**
   * The place of entry `index` of the unread ones, as bytes from the ring's start, where that entry and all earlier
   * ones are complete.
   */
  find(index: number): number | undefined {
    const number = this.words[READ] + index | 0;
    const at = FIRST_ENTRY + (number & this.entries - 1) * ENTRY_WORDS;
    // A reader that sees its number also sees what was written before it.
    if (Atomics.load(this.words, at + NUMBER) !== (number + 1 | 0)) return undefined;
    return at * WORD;
  }

  /** So many entries are read: the device may write others in their places. */
  take(count: number): void {
    Atomics.store(this.words, READ, this.words[READ] + count | 0);
  }
}
