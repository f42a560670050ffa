/** A body in pieces, each made when the one before has been taken. */
export interface Pieces {
  /**
   * The next piece, which has some bytes; undefined at the end. It is asked for when the last one has come.
   *
   * @throws What the body fails with.
   */
  next(): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** Nobody wants more. Whoever waits for a piece is told that there is none. */
  cancel(): void;
}

/** Streams, and the pieces that they are made of. */
const made = new WeakMap<ReadableStream<Uint8Array<ArrayBuffer>>, Pieces>();

/**
 * Pieces as the body of a request or an answer. The server itself takes them by {@link piecesOf}: a stream's own
 * bookkeeping costs as much as all the rest that is done for a token's event.
 */
export function streamOf(pieces: Pieces): ReadableStream<Uint8Array<ArrayBuffer>> {
  const stream = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const piece = await pieces.next();
      if (piece === undefined) controller.close();
      else controller.enqueue(piece);
    },
    cancel: () => pieces.cancel(),
  }, { highWaterMark: 0 });
  made.set(stream, pieces);
  return stream;
}

/** The pieces of a body of which nobody has read anything, whoever has made it. */
export function piecesOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Pieces {
  const pieces = stream.locked ? undefined : made.get(stream);
  if (pieces !== undefined) return pieces;
  const reader = stream.getReader();
  return {
    next: async () => (await reader.read()).value,
    cancel: () => void reader.cancel().catch(() => {}),
  };
}
