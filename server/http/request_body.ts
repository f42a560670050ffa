import { HttpError } from "../errors.ts";
import { type BodyFraming, malformed, parseField } from "./head.ts";
import type { Incoming } from "./incoming.ts";

/** The longest line of a chunk's size with its extensions, or of a trailer, in bytes. */
const MAX_LINE_BYTES = 1024;

/** The most bytes of sizes, extensions and trailers beside 8 for each byte of the body itself. */
const MAX_FRAMING_BYTES = 16 * 1024;

/** A chunk's size and its extensions, which say nothing to this server (RFC 9112, 7.1). */
const CHUNK_SIZE =
  /^([0-9A-Fa-f]{1,12})(?:[\t ]*;[\t ]*[!#$%&'*+.^_`|~\w-]+(?:[\t ]*=[\t ]*(?:[!#$%&'*+.^_`|~\w-]+|"(?:[\t !#-[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"))?)*$/;

const LF = 10;
const CR = 13;

/** A request's body as it comes. */
export class RequestBody {
  /** Whether all of it was taken. */
  complete = false;
  /** Bytes of the body that were taken. */
  received = 0;
  private left = 0;
  private state: "data" | "size" | "after" | "trailers" = "data";
  private framingBytes = 0;
  /** Whether it was malformed: nobody knows where it ends. */
  private broken = false;

  private readonly chunked: boolean;

  constructor(private readonly incoming: Incoming, framing: BodyFraming) {
    this.chunked = framing.kind === "chunked";
    if (framing.kind === "chunked") {
      this.state = "size";
    } else {
      this.left = framing.bytes;
      this.complete = framing.bytes === 0;
    }
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
      const piece = this.next();
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
      while (this.next() !== undefined);
      return this.complete;
    } catch {
      return false;
    }
  }

  /** The data that has arrived, however many chunks it is in; undefined when there is none, or at the end. */
  private next(): Uint8Array<ArrayBuffer> | undefined {
    if (this.broken) throw malformed("The body was malformed.");
    this.broken = true;
    const all = this.chunked ? this.arrived() : this.advance();
    this.broken = false;
    return all;
  }

  /** The data of all chunks that have arrived; no more than the connection's buffer holds. */
  private arrived(): Uint8Array<ArrayBuffer> | undefined {
    const pieces: Uint8Array<ArrayBuffer>[] = [];
    let length = 0;
    for (let piece = this.advance(); piece !== undefined; piece = this.advance()) {
      pieces.push(piece);
      length += piece.length;
    }
    if (pieces.length < 2) return pieces[0];
    const all = new Uint8Array(length);
    length = 0;
    for (const piece of pieces) {
      all.set(piece, length);
      length += piece.length;
    }
    return all;
  }

  private advance(): Uint8Array<ArrayBuffer> | undefined {
    while (!this.complete) {
      if (this.state === "data") return this.data();
      const line = this.line();
      if (line === undefined) return undefined;
      if (this.state === "size") this.size(line);
      else if (this.state === "after") this.state = "size";
      else if (line === "") this.complete = true;
      // A trailer says nothing to this server, but what is none may be another request.
      else parseField(line);
    }
    return undefined;
  }

  private data(): Uint8Array<ArrayBuffer> | undefined {
    const count = Math.min(this.left, this.incoming.length);
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
    const line = String.fromCharCode(...bytes.subarray(0, at - 1));
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
