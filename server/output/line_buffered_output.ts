/** What bytes are written to: takes some of them at a time, and says how many; a write that fails, none. */
export interface Sink {
  write(bytes: Uint8Array): Promise<number>;
}

/** Less than the buffer that Deno's standard output has, in bytes. */
const SHORT_BYTES = 1000;
/** More than that buffer: such a write passes it by. */
const LONG_BYTES = 64 * 1024;
const LINE_FEED = 0x0a;
const NOTHING = new Uint8Array();

/**
 * Deno's standard output, which buffers lines, made exact: a write that fails with WouldBlock can be
 * tried again with the same bytes, and none come out twice.
 *
 * By itself it does not report how much a failed write has written: some of it may be in the pipe, some in the
 * buffer. So it gets pieces with a known outcome while the buffer is empty. A line feed alone, and a long piece without
 * one, go straight to the pipe or are not taken. A short piece without one is always taken, and then has to be flushed
 * from the buffer.
 */
export class LineBufferedOutput implements Sink {
  /** Bytes of the short piece that is in the buffer still; the next write is that of the same bytes. */
  private buffered = 0;

  /** @param output Deno's standard output. */
  constructor(private readonly output: Pick<typeof Deno.stdout, "write">) {}

  async write(bytes: Uint8Array): Promise<number> {
    if (this.buffered > 0) {
      // Adds nothing, and flushes the buffer.
      await this.output.write(NOTHING);
      const taken = this.buffered;
      this.buffered = 0;
      return taken;
    }
    if (bytes[0] === LINE_FEED) return await this.output.write(bytes.subarray(0, 1));
    const end = bytes.indexOf(LINE_FEED);
    const run = end < 0 ? bytes : bytes.subarray(0, end);
    if (run.length >= LONG_BYTES) return await this.output.write(run);
    const piece = run.subarray(0, SHORT_BYTES);
    this.buffered = piece.length;
    const taken = await this.output.write(piece);
    this.buffered = 0;
    return taken;
  }
}
