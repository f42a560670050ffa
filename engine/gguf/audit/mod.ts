/**
 * The keys of a file's metadata that were not read: of keys that change the result, of keys that change nothing, and of
 * unknown keys.
 *
 * @module
 */
import { M40Error } from "../../errors.ts";
import type { Gguf } from "../header.ts";
import { type MetadataEntry, quoteKey } from "../metadata.ts";
import { CHANGING_KEYS, type ChangingKey, type OtherKey } from "./changing_keys.ts";
import { HARMLESS_KEYS, HARMLESS_TOKENIZER_KEYS } from "./harmless_keys.ts";

/** Keys that a warning names. */
const MOST_NAMED = 8;

/** Receives the unknown keys. */
export interface AuditOptions {
  /** Called with them instead of a warning. */
  onUnknownKeys?: (keys: readonly string[]) => void;
}

/** The metadata of which part of a model is looked at. */
export type Audited = "layers" | "tokenizer";

/**
 * Looks at what of the metadata was not read, once a part of a model was made of it.
 *
 * @returns The keys that are not known.
 * @throws {M40Error} "unsupported" where a key changes what the model computes.
 */
export function auditMetadata({ metadata, path }: Gguf, audited: Audited): string[] {
  const isTokenizer = audited === "tokenizer";
  const prefix = isTokenizer ? "tokenizer." : `${metadata.string("general.architecture", "")}.`;
  const harmless = isTokenizer ? HARMLESS_TOKENIZER_KEYS : HARMLESS_KEYS;
  const unknown: string[] = [];
  const other = (key: string) => metadata.entry(prefix + key)?.value;
  for (const key of metadata.unread()) {
    if (!key.startsWith(prefix)) continue;
    const own = key.slice(prefix.length);
    const entry = metadata.entry(key)!;
    const changing = CHANGING_KEYS.find((known) => known.key.test(isTokenizer ? key : own));
    if (changing === undefined) {
      if (!harmless.some((known) => known.test(own))) unknown.push(key);
    } else if (!changing.unless?.(entry.value, other)) {
      throw new M40Error("unsupported", `${path}: ${refusal(key, entry, changing, other)}`);
    }
  }
  return unknown;
}

function refusal(
  key: string,
  entry: MetadataEntry,
  { what, unless }: ChangingKey,
  other: OtherKey,
): string {
  const neutral = [0, false, true].find((value) =>
    unless?.(value, other) && typeof value === typeof entry.value
  );
  return `${key} is ${shown(entry)}: it changes ${what}, and m40 does not heed it in models of ` +
    "this architecture, so that its results would be others. Take another file" +
    (neutral === undefined ? "" : `, or have it ignored with --override ${key}=${neutral}`);
}

/** One sentence about keys that are not known, where there are any. */
export function unknownKeysWarning(keys: readonly string[]): string[] {
  if (keys.length === 0) return [];
  const named = keys.slice(0, MOST_NAMED).map((key) => key.length > 80 ? quoteKey(key) : key);
  const more = keys.length - named.length;
  const list = named.join(", ") + (more > 0 ? ` and ${more} more` : "");
  return [
    `The file has metadata that m40 does not know: ${list}. If that changes what the model computes, its results ` +
    "are wrong here.",
  ];
}

function shown({ type, value }: MetadataEntry): string {
  if (typeof value === "object") return `an ${type} of ${value.length}`;
  return typeof value === "string" ? quoteKey(value) : String(value);
}
