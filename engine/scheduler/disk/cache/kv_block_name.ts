import { createHash } from "node:crypto";
import { MAX_CACHE_GROUPS } from "../../../device/mod.ts";

/**
 * The key of a prefix (whole KV blocks of tokens) on disk, the same in every process: the hash of the prefix before
 * it and of its last KV block's tokens, then how many of these tokens were prompt rows. The key of no tokens is the
 * hash of the origin: see `identity.ts`.
 */
export type PrefixKey = string;

/**
 * The hash of a prefix that is longer by a KV block.
 *
 * @param before The key of the prefix before it.
 * @param tokens The KV block's tokens in decimal, separated by commas.
 */
export function prefixHash(before: PrefixKey, tokens: string): string {
  return createHash("sha256").update(`${before}:${tokens}`).digest("hex");
}

/** The key of a prefix of a hash. */
export function prefixKey(hash: string, promptRows: number): PrefixKey {
  return `${hash}-${promptRows}`;
}

/** Instead of a group: the state after a prefix's last token, of a model with states. */
export const STATE_GROUP = MAX_CACHE_GROUPS;

/** One KV block: the last of a prefix, of one group of layers; or the state after it. */
export interface KvBlockName {
  readonly hash: string;
  readonly promptRows: number;
  readonly group: number;
}

/** A KV block's file name. */
export function fileName({ hash, promptRows, group }: KvBlockName): string {
  return `${prefixKey(hash, promptRows)}-${group}.kv`;
}

/** The KV block whose file has a name; undefined where it is not a KV block's. */
export function kvBlockOf(name: string): KvBlockName | undefined {
  const match = /^([0-9a-f]{64})-(0|[1-9]\d{0,4})-(0|[1-9]\d?)\.kv$/.exec(name);
  if (match === null || Number(match[3]) > STATE_GROUP) return undefined;
  return { hash: match[1], promptRows: Number(match[2]), group: Number(match[3]) };
}

/** A name for a KV block's file while it is being written. */
export function partialName(kvBlock: KvBlockName): string {
  return `${fileName(kvBlock)}.${crypto.randomUUID()}.part`;
}

/** Whether a name is one of {@link partialName}. */
export function isPartialName(name: string): boolean {
  return /^[0-9a-f]{64}-\d{1,5}-\d{1,2}\.kv\.[0-9a-f-]{36}\.part$/.test(name);
}
