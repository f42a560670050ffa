import { currentUse, STATE_GROUP } from "../disk/cache/mod.ts";
import { isDeviceLoss } from "../../errors.ts";
import type { DiskKvBlocksOptions } from "../disk/disk_kv_blocks_options.ts";
import { NO_KV_BLOCK } from "./kv_block_layout.ts";
import { type Prefix, ROOT_PREFIX } from "./prefix_tree.ts";

/** While sequences run, how much longer than copying KV blocks it lasts until the next are copied. */
const PAUSE_FACTOR = 50;
/** The longest that copying KV blocks may hold up sequences that run, where a KV block takes no longer. */
const HOLD_UP_MS = 4;

/** A KV block that is to be saved, the last of a prefix; or the state after it. */
interface Candidate {
  readonly prefix: Prefix;
  readonly group: number;
}

/** What was copied to host memory, each in its part of it. */
interface Batch {
  readonly candidates: readonly Candidate[];
  readonly parts: readonly Uint8Array<ArrayBuffer>[];
}

const NOTHING: Batch = { candidates: [], parts: [] };

/**
 * Writes published KV blocks to disk while they are in memory. It copies some to host memory between two steps, then
 * writes them while the device goes on. While sequences run, copies take a fiftieth of the device's time. Blocks
 * evicted before are not saved.
 */
export class KvBlockSaves {
  /** Whether sequences run. */
  isBusy: () => boolean = () => false;
  /** Called when the device is lost. */
  onLoss: (error: unknown) => void = () => {};
  /** KV blocks that were evicted before they were saved. */
  missed = 0;
  private queue: Candidate[] = [];
  /** When prefixes were last noted as used. */
  private readonly uses = new WeakMap<Prefix, number>();
  private loop?: Promise<void>;
  private over = false;
  private flushing = false;
  /** Ends a pause. */
  private wake?: () => void;
  /** How long it takes to copy a KV block, in milliseconds. */
  private kvBlockMs?: number;

  constructor(private readonly options: DiskKvBlocksOptions) {
    options.kvBlockManager.onPublish = (prefix, group) => this.note(prefix, group);
    options.kvBlockManager.onKeepState = (prefix) => this.noteState(prefix);
  }

  /** Writes what is not on disk yet, for so long at most, and nothing more after that. */
  async flush(milliseconds: number): Promise<void> {
    this.flushing = true;
    this.wake?.();
    const timer = setTimeout(() => this.over = true, milliseconds);
    await this.settle();
    clearTimeout(timer);
    this.over = true;
  }

  /** Resolves when there is nothing to write. */
  async settle(): Promise<void> {
    while (this.loop) await this.loop;
  }

  private note(prefix: Prefix, group: number): void {
    const { leastKvBlocks, store } = this.options;
    if (this.over || !store.isWritable || prefix.length < leastKvBlocks) return;
    // Those before it were too short to be noted.
    if (prefix.length === leastKvBlocks) this.noteBefore(prefix);
    this.add({ prefix, group });
  }

  private noteState(prefix: Prefix): void {
    const { leastKvBlocks, store } = this.options;
    if (this.over || !store.isWritable || prefix.length < leastKvBlocks) return;
    this.add({ prefix, group: STATE_GROUP });
  }

  private add(candidate: Candidate): void {
    this.queue.push(candidate);
    this.loop ??= this.run();
  }

  private noteBefore(prefix: Prefix): void {
    const chain: Prefix[] = [];
    for (let one = prefix.before!; one !== ROOT_PREFIX; one = one.before!) chain.push(one);
    for (const one of chain.reverse()) {
      one.kvBlocks.forEach((kvBlock, group) => {
        if (kvBlock !== NO_KV_BLOCK) this.queue.push({ prefix: one, group });
      });
    }
  }

  private async run(): Promise<void> {
    const { withDevice, store, now } = this.options;
    // KV blocks that are published together are saved together.
    await Promise.resolve();
    try {
      while (!this.over && store.isWritable && this.queue.length > 0) {
        let milliseconds = 0;
        let saved: Batch;
        try {
          saved = await withDevice(async () => {
            const start = now();
            const batch = await this.copy();
            milliseconds = now() - start;
            return batch;
          });
        } catch (error) {
          // A batch that could not be copied is not saved.
          if (!isDeviceLoss(error)) continue;
          this.onLoss(error);
          break;
        }
        const { candidates, parts } = saved;
        if (candidates.length === 0) continue;
        if (candidates[0].group !== STATE_GROUP) this.kvBlockMs = milliseconds / candidates.length;
        await Promise.all(candidates.map((one, i) => this.write(one, parts[i])));
        if (this.isBusy() && !this.flushing) await this.pause(PAUSE_FACTOR * milliseconds);
      }
    } finally {
      this.queue = [];
      // Not later than the loop ends: what is noted from now on needs another.
      this.loop = undefined;
    }
  }

  /** Copies the next KV blocks that are not on disk to host memory, or the next state. */
  private async copy(): Promise<Batch> {
    const { kvBlockManager, mover, store, keys, memory } = this.options;
    if (this.queue[0].group === STATE_GROUP) return await this.copyState(this.queue.shift()!);
    const room = Math.floor(memory.length / store.kvBlockBytes);
    const quick = this.isBusy() ? Math.floor(HOLD_UP_MS / (this.kvBlockMs ?? Infinity)) : room;
    const most = Math.max(1, Math.min(room, quick));
    const batch: Candidate[] = [];
    const kvBlocks: number[] = [];
    let looked = 0;
    for (; looked < this.queue.length && batch.length < most; looked++) {
      const { prefix, group } = this.queue[looked];
      // It is copied by itself.
      if (group === STATE_GROUP) break;
      const kvBlock = prefix.kvBlocks[group];
      if (kvBlock === NO_KV_BLOCK) this.missed++;
      else if (!kvBlocks.includes(kvBlock) && !store.has(keys.nameOf(prefix, group))) {
        batch.push(this.queue[looked]);
        kvBlocks.push(kvBlock);
      }
    }
    this.queue.splice(0, looked);
    if (batch.length === 0) return NOTHING;
    kvBlockManager.share(kvBlocks);
    try {
      const target = memory.subarray(0, kvBlocks.length * store.kvBlockBytes);
      await mover.save("kvBlocks", Uint32Array.from(kvBlocks), target);
    } finally {
      kvBlockManager.release(kvBlocks);
    }
    const { kvBlockBytes } = store;
    const parts = kvBlocks.map((_, i) => memory.subarray(i * kvBlockBytes, (i + 1) * kvBlockBytes));
    return { candidates: batch, parts };
  }

  private async copyState(candidate: Candidate): Promise<Batch> {
    const { kvBlockManager: { slots }, mover, store, keys, stateMemory } = this.options;
    const { slot } = candidate.prefix;
    if (slot === undefined) this.missed++;
    if (slot === undefined || store.has(keys.stateNameOf(candidate.prefix))) return NOTHING;
    slots!.share([slot]);
    try {
      await mover.save("slots", Uint32Array.of(slot), stateMemory!);
    } finally {
      slots!.release([slot]);
    }
    return { candidates: [candidate], parts: [stateMemory!] };
  }

  private async write({ prefix, group }: Candidate, part: Uint8Array): Promise<void> {
    const { store, keys } = this.options;
    await store.write(keys.nameOf(prefix, group), prefix.length - 1, part);
    await this.noteUse(prefix);
  }

  /** Without the KV blocks before it a KV block is of no use: they are not to be removed before it. */
  private async noteUse(prefix: Prefix): Promise<void> {
    const { store, keys } = this.options;
    const use = currentUse();
    this.uses.set(prefix, use);
    for (let one = prefix.before!; one !== ROOT_PREFIX; one = one.before!) {
      if (this.uses.get(one) === use) return;
      this.uses.set(one, use);
      for (const group of one.kvBlocks.keys()) {
        await store.touch(keys.nameOf(one, group), one.length - 1);
      }
    }
  }

  private async pause(milliseconds: number): Promise<void> {
    if (milliseconds <= 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.wake = undefined;
  }
}
