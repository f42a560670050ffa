/** A piece of a body; it has some bytes. */
export type Piece = Uint8Array<ArrayBuffer>;

/** A body in pieces, made when those before have been taken. */
export interface Pieces {
  /**
   * The next pieces, those that are there together; undefined at the end. They are asked for when the last ones have come.
   *
   * @throws What the body fails with.
   */
  next(): Promise<readonly Piece[] | undefined>;
  /** Nobody wants more. Whoever waits for a piece is told that there is none. */
  cancel(): void;
}

/** Streams, and the pieces that they are made of. */
const made = new WeakMap<ReadableStream<Piece>, Pieces>();

/**
 * Pieces as the body of a request or an answer. The server itself takes them by {@link piecesOf}: a stream's own
 * bookkeeping costs as much as all the rest that is done for a token's event.
 */
export function streamOf(pieces: Pieces): ReadableStream<Piece> {
  const stream = new ReadableStream<Piece>({
    async pull(controller) {
      const next = await pieces.next();
      if (next === undefined) return controller.close();
      for (const piece of next) controller.enqueue(piece);
    },
    cancel: () => pieces.cancel(),
  }, { highWaterMark: 0 });
  made.set(stream, pieces);
  return stream;
}

/** The pieces of a body of which nobody has read anything, whoever has made it. */
export function piecesOf(stream: ReadableStream<Piece>): Pieces {
  const pieces = stream.locked ? undefined : made.get(stream);
  if (pieces !== undefined) return pieces;
  const reader = stream.getReader();
  return {
    next: async () => {
      const { value } = await reader.read();
      return value && [value];
    },
    cancel: () => void reader.cancel().catch(() => {}),
  };
}
