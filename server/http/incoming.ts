/**
 * What a client sends: its bytes as they come, and a request's body in them.
 *
 * @module
 */
import { HttpError } from "../errors.ts";
import { type BodyFraming, characters, malformed, parseField } from "./head.ts";
import { MAX_HEAD_BYTES } from "./limits.ts";
import { joined } from "./response_bytes.ts";

/** What {@link Incoming} reads from. */
export interface ByteSource {
  read(into: Uint8Array): Promise<number | null>;
}

const FIRST_BYTES = 2048;
const MAX_BYTES = MAX_HEAD_BYTES;

/** The longest line of a chunk's size with its extensions, or of a trailer, in bytes. */
const MAX_LINE_BYTES = 1024;

/** The most bytes of sizes, extensions and trailers beside 8 for each byte of the body itself. */
const MAX_FRAMING_BYTES = 16 * 1024;

/** A chunk's size and its extensions, which say nothing to this server (RFC 9112, 7.1). */
const CHUNK_SIZE =
  /^([0-9A-Fa-f]{1,12})(?:[\t ]*;[\t ]*[!#$%&'*+.^_`|~\w-]+(?:[\t ]*=[\t ]*(?:[!#$%&'*+.^_`|~\w-]+|"(?:[\t !#-[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"))?)*$/;

const LF = 10;
const CR = 13;

/**
 * What a client has sent and nobody has taken yet. It is read ahead, so that the client's end is noticed
 * whatever the connection is busy with, but only as far as the buffer goes: a client that sends more
 * waits.
 */
export class Incoming {
  /** The bytes that are here, until the next {@link take} or {@link more}. */
  bytes: Uint8Array<ArrayBuffer>;
  /** Whether the client has closed its sending half: nothing comes after what is here. */
  ended = false;
  private buffer = new Uint8Array(FIRST_BYTES);
  private start = 0;
  private end = 0;
  private reading = false;
  private discarding = false;
  /** What those wait for that want more. */
  private next?: PromiseWithResolvers<boolean>;
  private error?: unknown;

  /**
   * @param onEnd Called when the client has closed its sending half, or all of the connection: they look
   * alike.
   * @param onFailure Called when the connection was reset or closed.
   */
  constructor(
    private readonly source: ByteSource,
    private readonly onEnd: () => void,
    private readonly onFailure: (error: unknown) => void,
  ) {
    this.bytes = this.buffer.subarray(0, 0);
    this.read();
  }

  /** Takes bytes off the front. */
  take(count: number): void {
    this.start += count;
    this.bytes = this.bytes.subarray(count);
    if (!this.reading) this.read();
  }

  /**
   * Waits for more than what is here; false when nothing more comes.
   *
   * @throws What {@link fail} was given, or the connection's own error.
   */
  async more(): Promise<boolean> {
    this.check();
    if (this.ended) return false;
    return await (this.next ??= Promise.withResolvers()).promise;
  }

  /** @throws What {@link fail} was given, or the connection's own error, also where something still is here. */
  check(): void {
    if (this.error !== undefined) throw this.error;
  }

  /** Whoever waits for more, now or later, gets this error. */
  fail(error: unknown): void {
    this.error ??= error;
    this.next?.reject(this.error);
    this.next = undefined;
  }

  /** From here on whatever comes is thrown away, and {@link more} waits for it without an error. */
  discard(): void {
    this.discarding = true;
    this.error = undefined;
    this.take(this.bytes.length);
  }

  /** Reads while there is room. */
  private async read(): Promise<void> {
    this.reading = true;
    try {
      while (!this.ended && this.makeRoom()) {
        const count = await this.source.read(this.buffer.subarray(this.end));
        this.ended = count === null;
        if (!this.discarding) this.end += count ?? 0;
        this.bytes = this.buffer.subarray(this.start, this.end);
        this.next?.resolve(!this.ended);
        this.next = undefined;
        if (this.ended) this.onEnd();
      }
    } catch (error) {
      this.ended = true;
      this.fail(error);
      this.onFailure(error);
    } finally {
      this.reading = false;
    }
  }

  /** Makes room behind what is here; false when the buffer is full. Nobody reads into it meanwhile. */
  private makeRoom(): boolean {
    if (this.start === this.end) {
      this.start = this.end = 0;
    } else if (this.start > 0) {
      this.buffer.copyWithin(0, this.start, this.end);
      this.end -= this.start;
      this.start = 0;
    }
    if (this.end === this.buffer.length) {
      if (this.buffer.length >= MAX_BYTES) return false;
      const larger = new Uint8Array(this.buffer.length * 2);
      larger.set(this.buffer);
      this.buffer = larger;
    }
    this.bytes = this.buffer.subarray(this.start, this.end);
    return true;
  }
}

/** A request's body as it comes. */
export class RequestBody {
  /** Whether all of it was taken. */
  complete: boolean;
  /** Bytes of the body that were taken. */
  received = 0;
  /** Bytes that are still to come of it, or of its chunk. */
  private left: number;
  private state: "data" | "size" | "after" | "trailers";
  private framingBytes = 0;
  /** Whether it was malformed: nobody knows where it ends. */
  private broken = false;
  private readonly chunked: boolean;

  constructor(private readonly incoming: Incoming, framing: BodyFraming) {
    this.chunked = framing.kind === "chunked";
    this.left = framing.kind === "chunked" ? 0 : framing.bytes;
    this.state = this.chunked ? "size" : "data";
    this.complete = !this.chunked && this.left === 0;
  }

  /**
   * The next piece, or undefined at the end.
   *
   * @throws {HttpError} 400 when a chunk is malformed or the client ends in the middle; what
   * {@link Incoming.fail} was given.
   */
  async read(): Promise<Uint8Array<ArrayBuffer> | undefined> {
    for (;;) {
      this.incoming.check();
      const piece = this.arrived();
      if (piece !== undefined || this.complete) return piece;
      if (!await this.incoming.more()) {
        throw new HttpError(
          400,
          "incomplete_body",
          "The connection ended inside the request's body.",
        );
      }
    }
  }

  /** Takes what has arrived, for nobody; true when that was the rest of the body. */
  skip(): boolean {
    try {
      while (this.arrived() !== undefined);
      return this.complete;
    } catch {
      return false;
    }
  }

  /** The data that has arrived, however many chunks it is in; undefined when there is none, or at the end. */
  private arrived(): Uint8Array<ArrayBuffer> | undefined {
    if (this.broken) throw malformed("The body was malformed.");
    if (!this.chunked) return this.data();
    this.broken = true;
    const pieces: Uint8Array<ArrayBuffer>[] = [];
    while (!this.complete) {
      if (this.state === "data") {
        const piece = this.data();
        if (piece === undefined) break;
        pieces.push(piece);
        continue;
      }
      const line = this.line();
      if (line === undefined) break;
      if (this.state === "size") this.size(line);
      else if (this.state === "after") this.state = "size";
      else if (line === "") this.complete = true;
      // A trailer says nothing to this server, but what is none may be another request.
      else parseField(line);
    }
    this.broken = false;
    return pieces.length === 0 ? undefined : joined(pieces);
  }

  private data(): Uint8Array<ArrayBuffer> | undefined {
    const count = Math.min(this.left, this.incoming.bytes.length);
    if (count === 0) return undefined;
    const piece = this.incoming.bytes.slice(0, count);
    this.incoming.take(count);
    this.received += count;
    this.left -= count;
    if (this.left === 0) {
      if (this.chunked) this.state = "after";
      else this.complete = true;
    }
    return piece;
  }

  private size(line: string): void {
    const digits = CHUNK_SIZE.exec(line)?.[1];
    if (digits === undefined) {
      throw malformed(
        "A chunk of the body begins with no size in hexadecimal digits, or with an extension that is none.",
      );
    }
    this.left = parseInt(digits, 16);
    this.state = this.left === 0 ? "trailers" : "data";
  }

  /** A line of the framing without its end; undefined while it is not complete. */
  private line(): string | undefined {
    const { bytes } = this.incoming;
    const at = bytes.indexOf(LF);
    // Behind a chunk's data the line is empty, be the rest of it here or not.
    if (this.state === "after" && bytes.length > 0 && (bytes[0] !== CR || at > 1)) {
      throw malformed("A chunk of the body is longer than its size says.");
    }
    if (at > MAX_LINE_BYTES || (at < 0 && bytes.length > MAX_LINE_BYTES)) {
      throw malformed("A line between the body's chunks is too long.");
    }
    if (at < 0) return undefined;
    if (at === 0 || bytes[at - 1] !== CR) {
      throw malformed("A line between the body's chunks ends with LF alone.");
    }
    const line = characters(bytes.subarray(0, at - 1));
    if (/[\r\0]/.test(line)) {
      throw malformed("A line between the body's chunks has a control character.");
    }
    this.framingBytes += at + 1;
    if (this.framingBytes > MAX_FRAMING_BYTES + this.received * 8) {
      throw malformed("The body's chunks have more framing than data. Send larger chunks.");
    }
    this.incoming.take(at + 1);
    return line;
  }
}
