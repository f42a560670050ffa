import { join } from "@std/path";
import type { Files } from "./files.ts";
import { isPartialName, kvBlockOf } from "./kv_block_name.ts";

/** A half-written file of a KV block that has not changed for so long is abandoned. */
const ABANDONED_MS = 10 * 60_000;
/** What is left where there was too much, of the limit: so it is rare that all files are looked at. */
const KEPT = 0.9;

/** A KV block's file in the folder of a model. */
export interface KvBlockEntry {
  readonly folder: string;
  readonly name: string;
  readonly bytes: number;
}

/** What {@link trim} found and did. */
export interface Trimmed {
  /** KV blocks' files of all models that are left. */
  readonly kept: readonly KvBlockEntry[];
  readonly removed: readonly KvBlockEntry[];
  readonly bytes: number;
}

/**
 * Removes half-written files that were abandoned and, above the limit of bytes, the least recently used files of all
 * models. Any number of processes may do so at once: it ignores files that another has removed. It leaves files alone
 * whose names are not those of KV blocks.
 */
export async function trim(
  files: Files,
  root: string,
  limitBytes: number,
  now: number,
): Promise<Trimmed> {
  const found: (KvBlockEntry & { readonly modified: number })[] = [];
  const folders = await files.list(root).catch((error) => {
    // It may be removed at any time.
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  });
  for (const { name: folder, isFolder } of folders) {
    if (!isFolder || !isModelFolder(folder)) continue;
    for (const { name, isFile } of await files.list(join(root, folder)).catch(() => [])) {
      const partial = isPartialName(name);
      if (!isFile || !(partial || kvBlockOf(name))) continue;
      const path = join(root, folder, name);
      const state = await files.stat(path).catch(() => undefined);
      if (state === undefined) continue;
      if (!partial) found.push({ folder, name, ...state });
      else if (now - state.modified > ABANDONED_MS) await files.remove(path).catch(() => {});
    }
  }
  let bytes = found.reduce((sum, one) => sum + one.bytes, 0);
  const removed: KvBlockEntry[] = [];
  if (bytes > limitBytes) {
    found.sort((a, b) => b.modified - a.modified);
    while (found.length > 0 && bytes > KEPT * limitBytes) {
      const oldest = found.pop()!;
      bytes -= oldest.bytes;
      removed.push(oldest);
      await files.remove(join(root, oldest.folder, oldest.name)).catch(() => {});
    }
  }
  return { kept: found, removed, bytes };
}

/** Whether a folder's name is one that a model's KV blocks can be in: see {@link modelFolder}. */
function isModelFolder(name: string): boolean {
  return /^[0-9a-f]{32}$/.test(name);
}

/** The name of the folder for KV blocks of one origin. */
export function modelFolder(identity: string): string {
  return identity.slice(0, 32);
}
