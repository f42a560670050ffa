import { currentUse, STATE_GROUP } from "../disk/cache/mod.ts";
import { isDeviceLoss } from "../../errors.ts";
import type { DiskPagesOptions } from "../disk/disk_pages_options.ts";
import { NO_PAGE } from "./page_layout.ts";
import { type Prefix, ROOT_PREFIX } from "./prefix_tree.ts";

/** While sequences run, how much longer than copying pages it lasts until the next are copied. */
const PAUSE_FACTOR = 50;
/** The longest that copying pages may hold up sequences that run, where a page takes no longer. */
const HOLD_UP_MS = 4;

/** A page that is to be saved, the last of a prefix; or the state after it. */
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
 * Writes published pages to disk, as long as they are in memory: some at a time are copied to host memory
 * between two steps, then written from there while the device goes on. While sequences run, that takes a
 * fiftieth of the device's time; what is evicted before its turn is not saved.
 */
export class PageSaves {
  /** Whether sequences run. */
  isBusy: () => boolean = () => false;
  /** Called when the device is lost. */
  onLoss: (error: unknown) => void = () => {};
  /** Pages that were evicted before they were saved. */
  missed = 0;
  private queue: Candidate[] = [];
  /** When prefixes were last noted as used. */
  private readonly uses = new WeakMap<Prefix, number>();
  private loop?: Promise<void>;
  private over = false;
  private flushing = false;
  /** Ends a pause. */
  private wake?: () => void;
  /** How long it takes to copy a page, in milliseconds. */
  private pageMs?: number;

  constructor(private readonly options: DiskPagesOptions) {
    options.pageManager.onPublish = (prefix, group) => this.note(prefix, group);
    options.pageManager.onKeepState = (prefix) => this.noteState(prefix);
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
    const { leastPages, store } = this.options;
    if (this.over || !store.isWritable || prefix.length < leastPages) return;
    // Those before it were too short to be noted.
    if (prefix.length === leastPages) this.noteBefore(prefix);
    this.add({ prefix, group });
  }

  private noteState(prefix: Prefix): void {
    const { leastPages, store } = this.options;
    if (this.over || !store.isWritable || prefix.length < leastPages) return;
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
      one.pages.forEach((page, group) => {
        if (page !== NO_PAGE) this.queue.push({ prefix: one, group });
      });
    }
  }

  private async run(): Promise<void> {
    const { withDevice, store, now } = this.options;
    // Pages that are published together are saved together.
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
        if (candidates[0].group !== STATE_GROUP) this.pageMs = milliseconds / candidates.length;
        await Promise.all(candidates.map((one, i) => this.write(one, parts[i])));
        if (this.isBusy() && !this.flushing) await this.pause(PAUSE_FACTOR * milliseconds);
      }
    } finally {
      this.queue = [];
      // Not later than the loop ends: what is noted from now on needs another.
      this.loop = undefined;
    }
  }

  /** Copies the next pages that are not on disk to host memory, or the next state. */
  private async copy(): Promise<Batch> {
    const { pageManager, mover, store, keys, memory } = this.options;
    if (this.queue[0].group === STATE_GROUP) return await this.copyState(this.queue.shift()!);
    const room = Math.floor(memory.length / store.pageBytes);
    const quick = this.isBusy() ? Math.floor(HOLD_UP_MS / (this.pageMs ?? Infinity)) : room;
    const most = Math.max(1, Math.min(room, quick));
    const batch: Candidate[] = [];
    const pages: number[] = [];
    let looked = 0;
    for (; looked < this.queue.length && batch.length < most; looked++) {
      const { prefix, group } = this.queue[looked];
      // It is copied by itself.
      if (group === STATE_GROUP) break;
      const page = prefix.pages[group];
      if (page === NO_PAGE) this.missed++;
      else if (!pages.includes(page) && !store.has(keys.nameOf(prefix, group))) {
        batch.push(this.queue[looked]);
        pages.push(page);
      }
    }
    this.queue.splice(0, looked);
    if (batch.length === 0) return NOTHING;
    pageManager.share(pages);
    try {
      const target = memory.subarray(0, pages.length * store.pageBytes);
      await mover.savePages(Uint32Array.from(pages), target);
    } finally {
      pageManager.release(pages);
    }
    const { pageBytes } = store;
    const parts = pages.map((_, i) => memory.subarray(i * pageBytes, (i + 1) * pageBytes));
    return { candidates: batch, parts };
  }

  private async copyState(candidate: Candidate): Promise<Batch> {
    const { pageManager: { slots }, mover, store, keys, stateMemory } = this.options;
    const { slot } = candidate.prefix;
    if (slot === undefined) this.missed++;
    if (slot === undefined || store.has(keys.stateNameOf(candidate.prefix))) return NOTHING;
    slots!.share(slot);
    try {
      await mover.saveSlots(Uint32Array.of(slot), stateMemory!);
    } finally {
      slots!.release(slot);
    }
    return { candidates: [candidate], parts: [stateMemory!] };
  }

  private async write({ prefix, group }: Candidate, part: Uint8Array): Promise<void> {
    const { store, keys } = this.options;
    await store.write(keys.nameOf(prefix, group), prefix.length - 1, part);
    await this.noteUse(prefix);
  }

  /** Without the pages before it a page is of no use: they are not to be removed before it. */
  private async noteUse(prefix: Prefix): Promise<void> {
    const { store, keys } = this.options;
    const use = currentUse();
    this.uses.set(prefix, use);
    for (let one = prefix.before!; one !== ROOT_PREFIX; one = one.before!) {
      if (this.uses.get(one) === use) return;
      this.uses.set(one, use);
      for (const group of one.pages.keys()) {
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
