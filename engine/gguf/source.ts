import { M40Error } from "../errors.ts";

/** Something with a length that can be read at any place: a file, or bytes in memory. */
export interface GgufSource {
  /** Its length in bytes. */
  readonly size: number;
  /**
   * Fills `into` with the bytes from `offset` on; returns how many there were, less than `into`
   * holds only where the source ends.
   */
  read(offset: number, into: Uint8Array): number;
}

/** Bytes in memory as a source. */
export function bytesSource(bytes: Uint8Array): GgufSource {
  return {
    size: bytes.length,
    read(offset, into) {
      const part = bytes.subarray(offset, offset + into.length);
      into.set(part);
      return part.length;
    },
  };
}

/** An open file as a source. */
export function fileSource(file: Deno.FsFile, size: number): GgufSource {
  return {
    size,
    read(offset, into) {
      file.seekSync(offset, Deno.SeekMode.Start);
      let filled = 0;
      while (filled < into.length) {
        const count = file.readSync(into.subarray(filled));
        if (count === null || count === 0) break;
        filled += count;
      }
      return filled;
    },
  };
}

/** The window's first read, in bytes; each later one is twice as long, up to {@link MAX_CHUNK}. */
const FIRST_CHUNK = 64 * 1024;
const MAX_CHUNK = 1024 * 1024;

/** No real header comes near this many bytes; beyond it a file is damaged or hostile. */
const MAX_HEADER = 128 * 1024 * 1024;

/**
 * Reads a header from front to back through a window of at most {@link MAX_CHUNK} bytes. Every read
 * is checked against the length of the source first, so no count in the file decides what is
 * allocated before the bytes behind it are known to exist.
 */
export class HeaderCursor {
  #window = new Uint8Array(0);
  #view = new DataView(this.#window.buffer);
  /** The position of the window's first byte in the source. */
  #base = 0;
  #at = 0;
  #chunk = FIRST_CHUNK;

  /**
   * @param source What is read.
   * @param path What to call it in errors.
   */
  constructor(readonly source: GgufSource, readonly path: string) {}

  /** The position of the next byte, in bytes from the start. */
  get position(): number {
    return this.#base + this.#at;
  }

  /** Bytes from the position to the end of the source. */
  get remaining(): number {
    return this.source.size - this.position;
  }

  /** An error about this file. */
  fail(message: string): M40Error {
    return new M40Error("invalid_model", `${this.path}: ${message}`);
  }

  uint32(what: string): number {
    this.#need(4, what);
    const value = this.#view.getUint32(this.#at, true);
    this.#at += 4;
    return value;
  }

  /** A 64-bit number that must be a safe integer: a count, a length, an offset. */
  size(what: string): number {
    this.#need(8, what);
    const low = this.#view.getUint32(this.#at, true);
    const high = this.#view.getUint32(this.#at + 4, true);
    if (high > 0x1fffff) {
      const value = this.#view.getBigUint64(this.#at, true);
      throw this.fail(
        `${what} is ${value}, beyond anything a file of ${this.source.size} bytes can hold: ` +
          "the header is damaged",
      );
    }
    this.#at += 8;
    return high * 0x100000000 + low;
  }

  /** A view of `count` bytes, valid until the next read. */
  take(count: number, what: string): Uint8Array {
    this.#check(count, what);
    if (count > MAX_CHUNK) {
      const bytes = new Uint8Array(count);
      this.copy(bytes, what);
      return bytes;
    }
    this.#need(count, what);
    this.#at += count;
    return this.#window.subarray(this.#at - count, this.#at);
  }

  /** Fills `into` with the next bytes. */
  copy(into: Uint8Array, what: string): void {
    this.#check(into.length, what);
    const held = Math.min(this.#window.length - this.#at, into.length);
    into.set(this.#window.subarray(this.#at, this.#at + held));
    this.#at += held;
    if (held === into.length) return;
    const position = this.position;
    this.#read(position, into.subarray(held), what);
    this.#window = new Uint8Array(0);
    this.#base = position + into.length - held;
    this.#at = 0;
  }

  /** Checks that `count` more bytes exist, before anything is allocated for them. */
  #check(count: number, what: string): void {
    if (count > this.remaining) {
      throw this.fail(
        `the file ends inside its header: ${what} needs ${count} bytes at byte ${this.position}, ` +
          `the file has ${this.source.size} in all. It is truncated or damaged; download it again`,
      );
    }
    if (this.position + count > MAX_HEADER) {
      throw this.fail(
        `the header goes on beyond ${MAX_HEADER} bytes (${what}): the file is damaged`,
      );
    }
  }

  /** Makes the window hold `count` bytes (at most {@link MAX_CHUNK}) from the position on. */
  #need(count: number, what: string): void {
    if (this.#at + count <= this.#window.length) return;
    this.#check(count, what);
    const rest = this.#window.subarray(this.#at);
    const position = this.position;
    const length = Math.min(this.source.size - position, Math.max(count, this.#chunk));
    this.#chunk = Math.min(this.#chunk * 2, MAX_CHUNK);
    const window = new Uint8Array(length);
    window.set(rest);
    this.#read(position + rest.length, window.subarray(rest.length), what);
    this.#window = window;
    this.#view = new DataView(window.buffer);
    this.#base = position;
    this.#at = 0;
  }

  #read(offset: number, into: Uint8Array, what: string): void {
    const count = this.source.read(offset, into);
    if (count < into.length) {
      throw this.fail(
        `the file became shorter while it was read (${what}): ${offset + count} bytes are left ` +
          `of ${this.source.size}`,
      );
    }
  }
}
