import { type Companion, PEEK_BYTES, peekCompanion } from "../gguf/mod.ts";
import { fill } from "./files.ts";

/** What files are that were looked at, by which file, how long, and when written. */
const known = new Map<string, Companion | undefined>();
const MAX_KNOWN = 10_000;

/**
 * What a file of this machine is, by its first bytes; undefined for a model, and for what cannot be read. Looked at
 * once, as lists are asked for often.
 *
 * @param isPart Whether its name says that it is one of several files.
 */
export async function localCompanion(
  path: string,
  isPart: boolean,
): Promise<Companion | undefined> {
  try {
    const { isFile, dev, ino, size, mtime } = await Deno.stat(path);
    if (!isFile) return undefined;
    const key = `${path}\n${dev} ${ino} ${size} ${mtime?.getTime()} ${isPart}`;
    if (known.has(key)) return known.get(key);
    using file = await Deno.open(path, { read: true });
    const bytes = new Uint8Array(PEEK_BYTES);
    const companion = peekCompanion(bytes.subarray(0, await fill(file, bytes)), isPart);
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(key, companion);
    return companion;
  } catch {
    return undefined;
  }
}
