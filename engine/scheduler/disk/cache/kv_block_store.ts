import { join } from "@std/path";
import { systemReason } from "../../../system_error.ts";
import type { Files } from "./files.ts";
import { encodeHeader, headerBytes, isUndamaged } from "./kv_block_file.ts";
import { KvBlockIndex, type StoredPrefix } from "./kv_block_index.ts";
import { fileName, type KvBlockName, kvBlockOf, partialName, prefixHash } from "./kv_block_name.ts";
import { modelFolder, trim } from "./trim.ts";

/** How exactly it is known when a KV block was last used. */
const USE_MS = 10 * 60_000;
/** Of the limit, how much is written before all files are looked at again. */
const BETWEEN_TRIMS = 1 / 20;
/** How long nothing is written after a failure, at first and at most, in milliseconds; it doubles. */
const FIRST_PAUSE_MS = 30_000;
const LONGEST_PAUSE_MS = 10 * 60_000;
/** The limit when the disk is full, as a share of the bytes in use: the rest is freed. */
const KEPT_WHEN_FULL = 0.9;
/** After so many failures of the disk in a row nothing more is read. */
const MOST_READ_FAILURES = 16;

/** What a {@link KvBlockStore} is made from. */
export interface KvBlockStoreOptions {
  /** Where everything lies; other processes may use it too. */
  readonly folder: string;
  /** The identity of the KV blocks' origin, on which their bits depend: a SHA-256 in hexadecimal. */
  readonly identity: string;
  /** The origin, for a person who looks into the folder. */
  readonly description?: unknown;
  readonly kvBlockBytes: number;
  /** Bytes of all files at most, those of other models included. */
  readonly limitBytes: number;
  readonly files: Files;
  /** Receives a sentence or two about what goes wrong and its consequences. */
  readonly onProblem?: (problem: string) => void;
  /** Milliseconds that rise; default: `performance.now()`. */
  readonly now?: () => number;
}

/** What a {@link KvBlockStore} has, and has done. */
export interface KvBlockStoreStatus {
  /** KV blocks of this model, as far as is known. */
  readonly kvBlocks: number;
  /** Bytes of all models' files, as far as is known. */
  readonly bytes: number;
  readonly limitBytes: number;
  readonly readKvBlocks: number;
  readonly readBytes: number;
  /** KV blocks that could not be read, those that were damaged among them. */
  readonly readFailures: number;
  /** Files that were damaged, or not what their names say; they were removed. */
  readonly damagedKvBlocks: number;
  readonly writtenKvBlocks: number;
  readonly writtenBytes: number;
  readonly writeFailures: number;
  /** KV blocks that were removed to make room. */
  readonly removedKvBlocks: number;
  /** Whether KV blocks are still read, and written. */
  readonly reads: boolean;
  readonly writes: boolean;
}

/**
 * KV blocks in files, a file a KV block, and states. A file gets its name when it is complete, and the name says what is in it,
 * so that processes that share a folder need no lock. Nothing is forced to the disk: what a power cut leaves
 * of a file is noticed when it is read. Whatever goes wrong, no call fails.
 */
export class KvBlockStore {
  private readonly folder: string;
  private index = new KvBlockIndex();
  private readonly sums = {
    readKvBlocks: 0,
    readBytes: 0,
    readFailures: 0,
    damagedKvBlocks: 0,
    writtenKvBlocks: 0,
    writtenBytes: 0,
    writeFailures: 0,
    removedKvBlocks: 0,
  };
  private reads = true;
  private writes = true;
  /** From when on a write is tried again, where none is done. */
  private retryAt = Infinity;
  private pauseMs = FIRST_PAUSE_MS;
  private bytes = 0;
  private bytesSinceTrim = 0;
  /** Which files were written, or found to be missing or damaged, since all were looked at or while they are. */
  private readonly changedSinceTrim = new Map<string, boolean>();
  private failuresInARow = 0;
  private trimming?: Promise<void>;

  private constructor(private readonly options: KvBlockStoreOptions) {
    this.folder = join(options.folder, modelFolder(options.identity));
  }

  /** Opens the store and reads which files exist. */
  static async open(options: KvBlockStoreOptions): Promise<KvBlockStore> {
    const store = new KvBlockStore(options);
    await store.prepare();
    return store;
  }

  /** The key of the prefix of no tokens. */
  get rootKey(): string {
    return this.options.identity;
  }

  get kvBlockBytes(): number {
    return this.options.kvBlockBytes;
  }

  /** Whether KV blocks are taken: now and then one is, to see whether it can be written again. */
  get isWritable(): boolean {
    return this.writes || (this.reads && this.now() >= this.retryAt);
  }

  status(): KvBlockStoreStatus {
    const { bytes, reads, writes, options: { limitBytes } } = this;
    return { kvBlocks: this.index.size, bytes, limitBytes, ...this.sums, reads, writes };
  }

  /**
   * The stored prefixes one KV block longer than that of a key, and their hash.
   *
   * @param tokens The KV block's tokens in decimal, separated by commas.
   */
  find(before: string, tokens: string): { hash: string; prefixes: readonly StoredPrefix[] } {
    const hash = prefixHash(before, tokens);
    return { hash, prefixes: this.reads ? this.index.prefixes(hash) : [] };
  }

  /** Whether a KV block is stored, as far as is known. */
  has(kvBlock: KvBlockName): boolean {
    return this.index.has(kvBlock);
  }

  /**
   * Reads a KV block. Returns whether it was stored undamaged; otherwise `memory` may contain anything.
   *
   * @param place How many KV blocks of tokens come before it.
   */
  async read(kvBlock: KvBlockName, place: number, memory: Uint8Array): Promise<boolean> {
    const { files, identity } = this.options;
    if (!this.reads || !this.index.has(kvBlock)) return false;
    const path = join(this.folder, fileName(kvBlock));
    const header = new Uint8Array(headerBytes(memory.length));
    const whole = header.length + memory.length;
    try {
      const count = await files.read(path, [header, memory]);
      if (count !== whole || !await isUndamaged(header, identity, kvBlock, memory)) {
        this.sums.damagedKvBlocks++;
        this.noteReadFailure(kvBlock);
        await files.remove(path).catch(() => {});
        return false;
      }
    } catch (error) {
      this.noteReadFailure(kvBlock, error);
      return false;
    }
    this.failuresInARow = 0;
    this.sums.readKvBlocks++;
    this.sums.readBytes += whole;
    await this.touch(kvBlock, place);
    return true;
  }

  /**
   * Writes a KV block, where that is possible. The memory must not change before it resolves.
   *
   * @param place How many KV blocks of tokens come before it.
   */
  async write(kvBlock: KvBlockName, place: number, memory: Uint8Array): Promise<void> {
    if (!this.isWritable || this.index.has(kvBlock)) return;
    // Those that come while one is tried are not written.
    if (!this.writes) this.retryAt = Infinity;
    const { files, identity, limitBytes } = this.options;
    const part = join(this.folder, partialName(kvBlock));
    const header = await encodeHeader(identity, kvBlock, memory);
    try {
      await files.write(part, [header, memory], usedNow(place));
      await files.rename(part, join(this.folder, fileName(kvBlock)));
    } catch (error) {
      await files.remove(part).catch(() => {});
      await this.noteFailedKvBlock(error);
      return;
    }
    this.noteWritten();
    this.index.add(kvBlock);
    this.changedSinceTrim.set(fileName(kvBlock), true);
    const bytes = header.length + memory.length;
    this.sums.writtenKvBlocks++;
    this.sums.writtenBytes += bytes;
    this.bytes += bytes;
    this.bytesSinceTrim += bytes;
    const { bytesSinceTrim } = this;
    if (this.bytes > limitBytes || bytesSinceTrim > BETWEEN_TRIMS * limitBytes) this.startTrim();
  }

  /** Notes that a KV block is used, as KV blocks after it are. */
  async touch(kvBlock: KvBlockName, place: number): Promise<void> {
    if (!this.writes || !this.index.has(kvBlock)) return;
    await this.options.files.touch(join(this.folder, fileName(kvBlock)), usedNow(place))
      .catch(() => {});
  }

  /** Resolves when nothing is done in the background any more. */
  async settle(): Promise<void> {
    await this.trimming;
  }

  private async prepare(): Promise<void> {
    const { files, description } = this.options;
    try {
      await files.makeFolder(this.folder);
    } catch (error) {
      this.noteWriteFailure(error);
    }
    try {
      for (const { name, isFile } of await files.list(this.folder)) {
        const kvBlock = isFile ? kvBlockOf(name) : undefined;
        if (kvBlock !== undefined) this.index.add(kvBlock);
      }
    } catch (error) {
      // Without a folder to write to, that it is not there has been said.
      if (this.writes) this.stopReading(error);
      return;
    }
    if (this.writes && description !== undefined) {
      const text = JSON.stringify(description, null, 2) + "\n";
      const path = join(this.folder, "about.json");
      const known = await files.stat(path).catch(() => undefined);
      const bytes = new TextEncoder().encode(text);
      if (known === undefined) await files.write(path, [bytes], Date.now()).catch(() => {});
    }
    this.startTrim();
  }

  private now(): number {
    return (this.options.now ?? (() => performance.now()))();
  }

  private startTrim(limitBytes = this.options.limitBytes): void {
    this.trimming ??= this.trim(limitBytes).finally(() => this.trimming = undefined);
  }

  private async trim(limitBytes: number): Promise<void> {
    const { files, folder, identity } = this.options;
    this.bytesSinceTrim = 0;
    this.changedSinceTrim.clear();
    let trimmed;
    try {
      trimmed = await trim(files, folder, limitBytes, Date.now());
    } catch (error) {
      // Without knowing what there is, nothing may be added.
      return this.noteWriteFailure(error);
    }
    this.bytes = trimmed.bytes + this.bytesSinceTrim;
    this.sums.removedKvBlocks += trimmed.removed.length;
    // Other processes have added some and removed some.
    const own = modelFolder(identity);
    this.index = new KvBlockIndex();
    for (const { folder, name } of trimmed.kept) {
      if (folder === own) this.index.add(kvBlockOf(name)!);
    }
    for (const [name, there] of this.changedSinceTrim) {
      if (there) this.index.add(kvBlockOf(name)!);
      else this.index.delete(kvBlockOf(name)!);
    }
  }

  private noteReadFailure(kvBlock: KvBlockName, error?: unknown): void {
    this.index.delete(kvBlock);
    this.changedSinceTrim.set(fileName(kvBlock), false);
    this.sums.readFailures++;
    // Another process may have removed it; and one that is damaged says nothing of the others.
    if (error === undefined || error instanceof Deno.errors.NotFound) return;
    if (++this.failuresInARow >= MOST_READ_FAILURES) this.stopReading(error);
  }

  private stopReading(error: unknown): void {
    if (!this.reads) return;
    this.reads = false;
    this.writes = false;
    this.retryAt = Infinity;
    this.options.onProblem?.(
      `The disk cache is off: ${this.folder} cannot be read: ${systemReason(error)}. ` +
        "Prompts are computed; a restart tries it again.",
    );
  }

  private async noteFailedKvBlock(error: unknown): Promise<void> {
    if (!(error instanceof Deno.errors.NotFound)) return this.noteWriteFailure(error);
    // The folder was removed, which may happen at any time.
    this.sums.writeFailures++;
    if (!this.writes) this.retryAt = this.now();
    await this.options.files.makeFolder(this.folder).catch((error) => this.noteWriteFailure(error));
  }

  private noteWriteFailure(error: unknown): void {
    this.sums.writeFailures++;
    const wasOff = !this.writes;
    this.writes = false;
    this.retryAt = this.now() + this.pauseMs;
    this.pauseMs = Math.min(2 * this.pauseMs, LONGEST_PAUSE_MS);
    // The KV blocks that were not used for longest are worth less than what cannot be written.
    if (isFull(error) && this.bytes > 0) this.startTrim(KEPT_WHEN_FULL * this.bytes);
    if (wasOff) return;
    this.options.onProblem?.(
      `Nothing is written to the disk cache for now: ${this.folder} cannot be written to: ` +
        `${systemReason(error)}. Stored blocks are still read; it is tried again in ` +
        `${FIRST_PAUSE_MS / 1000} s, then less often.`,
    );
  }

  private noteWritten(): void {
    this.pauseMs = FIRST_PAUSE_MS;
    if (this.writes) return;
    this.writes = this.reads;
    this.options.onProblem?.(`The disk cache is written to again: ${this.folder}.`);
  }
}

/**
 * The time that marks a KV block as used now. All KV blocks of a prefix used in one {@link USE_MS} have the same
 * time, less a millisecond for each KV block before them. So a prefix is evicted from its end.
 */
function usedNow(place: number): number {
  return USE_MS * currentUse() - place;
}

/** Rises each time {@link USE_MS} have passed. One note a number suffices for each file. */
export function currentUse(): number {
  return Math.floor(Date.now() / USE_MS);
}

/** Whether a disk, or a user's quota on it, is full. */
function isFull(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === "ENOSPC" || code === "EDQUOT";
}
