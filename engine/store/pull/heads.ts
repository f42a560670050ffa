import {
  checkPart,
  type Gguf,
  joinParts,
  readGgufHead,
  type ReadGgufOptions,
  type RemoteHead,
  translateOllama,
} from "../../gguf/mod.ts";

/** A file of a model and its first bytes. */
export interface NamedHead {
  /** What to call it in errors. */
  readonly path: string;
  readonly head: RemoteHead;
}

/**
 * The header of a model that is elsewhere, out of those of its files, in order.
 *
 * @throws {M40Error} `invalid_model` where they are no GGUF files that m40 reads, or not of one model.
 */
export async function readHeads(
  heads: readonly NamedHead[],
  options: ReadGgufOptions = {},
): Promise<Gguf> {
  const parts: Gguf[] = [];
  for (const { path, head } of heads) {
    const part = await readGgufHead(head, path, options);
    checkPart(part, { number: parts.length + 1, count: heads.length });
    parts.push(part);
  }
  return translateOllama(parts.length === 1 ? parts[0] : joinParts(parts));
}
