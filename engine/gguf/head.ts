import { type Gguf, parseGguf, type ReadGgufOptions } from "./reader.ts";

/** The start of a file that is elsewhere. */
export interface RemoteHead {
  /** The length of the whole file in bytes; undefined where it is not known. */
  readonly bytes: number | undefined;
  /** Fills `into` with the bytes from `offset` on; returns how many there were. */
  read(offset: number, into: Uint8Array): Promise<number>;
}

/** How much is asked for first, in bytes; each time it did not suffice, twice as much. */
const FIRST_BYTES = 2 ** 20;

/** Says that a header goes on behind the bytes that are there. */
class MoreNeeded extends Error {
  constructor(readonly bytes: number) {
    super(`the first ${bytes} bytes are needed`);
  }
}

/**
 * Reads the header of a GGUF file of which only the start is there: as much as it takes, a
 * few MB where a vocabulary is in it.
 *
 * @param path What to call the file in errors.
 * @throws {M40Error} As {@link parseGguf} does; the offsets of the tensors are checked against the file's stated
 * length.
 */
export async function readGgufHead(
  head: RemoteHead,
  path: string,
  options: ReadGgufOptions = {},
): Promise<Gguf> {
  // Of a length that is not known, no place can be wrong.
  const size = head.bytes ?? Number.MAX_SAFE_INTEGER;
  let known = new Uint8Array(0);
  for (let wanted = FIRST_BYTES;;) {
    const bytes = new Uint8Array(Math.min(wanted, size));
    bytes.set(known);
    const count = await head.read(known.length, bytes.subarray(known.length));
    const ended = known.length + count < bytes.length;
    known = bytes.subarray(0, known.length + count);
    try {
      return parseGguf(
        {
          size: ended ? known.length : size,
          read(offset, into) {
            const end = offset + into.length;
            if (end > known.length && !ended) throw new MoreNeeded(end);
            const part = known.subarray(offset, end);
            into.set(part);
            return part.length;
          },
        },
        path,
        options,
      );
    } catch (error) {
      if (!(error instanceof MoreNeeded)) throw error;
      wanted = Math.max(2 * wanted, error.bytes);
    }
  }
}
