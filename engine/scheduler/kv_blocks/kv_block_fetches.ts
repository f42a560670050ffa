import { isDeviceLoss } from "../../errors.ts";
import { type DiskPrefix, findOnDisk, type WantedKvBlock } from "../disk/disk_prefix.ts";
import type { DiskKvBlocksOptions } from "../disk/disk_kv_blocks_options.ts";
import { NO_KV_BLOCK } from "./kv_block_layout.ts";
import type { Match } from "./kv_block_manager.ts";
import { type Prefix, ROOT_PREFIX, tokensText } from "./prefix_tree.ts";
import { Rates } from "../steps/rates.ts";
import type { StepReport } from "../report.ts";
import type { Sequence } from "../sequences/sequence.ts";

/** The longest that a sequence waits for its KV blocks, where it is not known how long computing them takes. */
const PATIENCE_MS = 120_000;
/** It waits so long in any case. */
const LEAST_PATIENCE_MS = 1000;
/** The fewest KV blocks of tokens that are fetched. */
const LEAST_GAIN = 2;

type Bytes = Uint8Array<ArrayBuffer>;

/** KV blocks that are brought into memory for a sequence that waits. */
interface Fetch {
  readonly sequence: Sequence;
  readonly prefix: DiskPrefix;
  /** The prefixes of its KV blocks, as far as they are in memory. */
  readonly prefixes: Prefix[];
  /** KV blocks reserved for it. */
  held: number[];
  /** Whether the sequence waits no longer: it is done, or was given up. */
  over: boolean;
  /** Whether it was given up because reading takes so long. */
  late: boolean;
}

/**
 * Reads KV blocks from disk for waiting sequences. They are read and checked while others run, copied to the device
 * between two steps, and published as if computed, so that the sequence finds them once it is admitted. One sequence
 * at a time. What fails, or takes longer than computing, is computed.
 */
export class KvBlockFetches {
  /** Called when a sequence waits no longer. */
  onEnd: () => void = () => {};
  /** Called when the device is lost. */
  onLoss: (error: unknown) => void = () => {};
  private readonly rates = new Rates();
  /** The current fetch; it may be over while its last reads still run. */
  private current?: Fetch;
  private running?: Promise<void>;
  private readonly tried = new WeakSet<Sequence>();
  private closed = false;

  constructor(private readonly options: DiskKvBlocksOptions) {}

  /** Whether a sequence waits for its KV blocks. */
  isFetching(sequence: Sequence): boolean {
    return this.current?.sequence === sequence && !this.current.over;
  }

  /**
   * Whether a sequence that could be admitted should wait, because more of its prefix is on disk. Its KV blocks are
   * fetched once.
   *
   * @param match Its match in memory.
   * @param accepts As of {@link KvBlockManager.match}.
   */
  awaits(
    sequence: Sequence,
    match: Match,
    accepts?: (index: number, promptRows: number) => boolean,
  ): boolean {
    if (this.closed || this.tried.has(sequence)) return false;
    const { kvBlockManager } = this.options;
    const { tokens } = sequence;
    // A second sequence waits as well, as reading is faster than computing; it may share what the first has read.
    if (this.current !== undefined) return !this.current.late && this.goesOn(tokens, match);
    const prefix = findOnDisk(this.options, tokens, match, accepts);
    const gainedTokens = (prefix.length - match.length) * kvBlockManager.kvBlockTokens;
    if (!this.isWorthwhile(prefix, gainedTokens)) return false;
    this.tried.add(sequence);
    const held = [...prefix.held];
    kvBlockManager.share(held);
    const prefixes = [...match.prefixes];
    this.current = { sequence, prefix, prefixes, held, over: false, late: false };
    this.running = this.run(this.current, gainedTokens);
    return true;
  }

  /** Running sequences need KV blocks: gives up those reserved for a waiting one. Returns whether there were any. */
  cancel(): boolean {
    const { current } = this;
    if (current === undefined || current.over) return false;
    this.end(current);
    return true;
  }

  /** Ends a sequence's fetch, because the sequence has ended. */
  forget(sequence: Sequence): void {
    if (this.isFetching(sequence)) this.end(this.current!);
  }

  /** A preempted sequence's tokens may be fetched once more. */
  allowAgain(sequence: Sequence): void {
    this.tried.delete(sequence);
  }

  /** Learns how fast prompts are computed. */
  observe(report: StepReport): void {
    this.rates.observe(report);
  }

  /** Nothing is fetched any more; resolves when nothing is read any more. */
  async close(): Promise<void> {
    this.closed = true;
    this.cancel();
    await this.running;
  }

  /** Whether there is a KV block on disk after those that are known in memory. */
  private goesOn(tokens: readonly number[], { prefixes }: Match): boolean {
    const { store, keys, kvBlockManager: { kvBlockTokens } } = this.options;
    const start = prefixes.length * kvBlockTokens;
    if (start + kvBlockTokens >= tokens.length) return false;
    const key = keys.keyOf(prefixes[prefixes.length - 1] ?? ROOT_PREFIX);
    return store.find(key, tokensText(tokens, start, start + kvBlockTokens)).prefixes.length > 0;
  }

  private isWorthwhile({ wanted, wantedState }: DiskPrefix, gainedTokens: number): boolean {
    const { leastKvBlocks, kvBlockManager: { kvBlockTokens }, store } = this.options;
    if (gainedTokens < Math.min(LEAST_GAIN, leastKvBlocks) * kvBlockTokens) return false;
    const computing = this.rates.computingMs(gainedTokens);
    const stateBytes = wantedState === undefined ? 0 : this.options.stateMemory!.length;
    const reading = this.rates.readingMs(wanted.length * store.kvBlockBytes + stateBytes);
    return computing === undefined || reading === undefined || reading < computing;
  }

  private async run(fetch: Fetch, gainedTokens: number): Promise<void> {
    const { memory, store, now, withDevice } = this.options;
    const { wanted, wantedState } = fetch.prefix;
    const patience = this.rates.computingMs(gainedTokens) ?? PATIENCE_MS;
    const timer = setTimeout(() => {
      fetch.late = true;
      this.end(fetch);
    }, Math.max(patience, LEAST_PATIENCE_MS));
    // While the KV blocks in one half of the memory wait for their turn on the device, the other is filled.
    const room = Math.max(1, Math.floor(memory.length / store.kvBlockBytes / 2));
    const halves = [0, 1].map((i) => memory.subarray(i * room * store.kvBlockBytes));
    const start = now();
    let done = 0;
    let bytes = 0;
    let reading = Promise.resolve(0);
    try {
      // Without it, KV blocks are of no use.
      const state = wantedState && await this.readState(fetch, wantedState);
      if (state === false) this.end(fetch);
      else if (state) bytes += this.options.stateMemory!.length;
      reading = this.read(fetch.over ? [] : wanted.slice(0, room), halves[0]);
      for (let i = 0; done < wanted.length && !fetch.over; i++) {
        const batch = wanted.slice(done, done + room);
        const count = await reading;
        const next = count < batch.length ? [] : wanted.slice(done + room, done + 2 * room);
        reading = this.read(next, halves[(i + 1) % 2]);
        const kvBlocks = batch.slice(0, count);
        if (!await withDevice(() => this.take(fetch, kvBlocks, halves[i % 2]))) break;
        done += count;
        if (count < batch.length) break;
      }
      if (done === wanted.length && wantedState !== undefined) {
        await withDevice(() => this.takeState(fetch, wantedState));
      }
    } catch (error) {
      // What else cannot be copied is computed.
      if (isDeviceLoss(error)) this.onLoss(error);
    }
    await reading;
    clearTimeout(timer);
    this.rates.noteReading(bytes + done * store.kvBlockBytes, now() - start);
    this.current = undefined;
    if (fetch.over) this.onEnd();
    else this.end(fetch);
  }

  /** Reads KV blocks into host memory; how many there are, from the first on. */
  private async read(batch: readonly WantedKvBlock[], memory: Bytes): Promise<number> {
    const { store } = this.options;
    const { kvBlockBytes } = store;
    const read = await Promise.all(batch.map(({ name, index }, i) => {
      return store.read(name, index, memory.subarray(i * kvBlockBytes, (i + 1) * kvBlockBytes));
    }));
    const missing = read.indexOf(false);
    return missing < 0 ? read.length : missing;
  }

  /** Copies KV blocks to the device and publishes them; whether that was possible. */
  private async take(
    fetch: Fetch,
    batch: readonly WantedKvBlock[],
    memory: Bytes,
  ): Promise<boolean> {
    if (fetch.over || batch.length === 0) return false;
    const { kvBlockManager, store, mover } = this.options;
    const kvBlocks = kvBlockManager.allocate(batch.length);
    if (kvBlocks === undefined) return false;
    try {
      const source = memory.subarray(0, batch.length * store.kvBlockBytes);
      await mover.restore("kvBlocks", Uint32Array.from(kvBlocks), source);
    } catch (error) {
      kvBlockManager.release(kvBlocks);
      throw error;
    }
    const published = this.publish(fetch, batch, kvBlocks);
    if (fetch.over) kvBlockManager.release(kvBlocks);
    else fetch.held.push(...kvBlocks);
    return published;
  }

  private async readState({ sequence }: Fetch, { name, index }: WantedKvBlock): Promise<boolean> {
    const { store, stateMemory } = this.options;
    const there = await store.read(name, index, stateMemory!);
    // There may be one after fewer tokens; this one is not found again.
    if (!there && !store.has(name)) this.tried.delete(sequence);
    return there;
  }

  /** Copies the state after the KV blocks to the device, and keeps it as if the sequence had computed it. */
  private async takeState(fetch: Fetch, { index }: WantedKvBlock): Promise<void> {
    const { kvBlockManager, mover, stateMemory } = this.options;
    const prefix = fetch.prefixes[index];
    if (fetch.over || prefix === undefined) return;
    const slot = kvBlockManager.slots!.allocate();
    if (slot === undefined) return;
    try {
      await mover.restore("slots", Uint32Array.of(slot), stateMemory!);
      kvBlockManager.keepState(prefix, slot, false);
    } finally {
      kvBlockManager.slots!.release([slot]);
    }
  }

  /** Publishes KV blocks as if computed. Returns false where blocks with other prompt rows are published. */
  private publish(
    fetch: Fetch,
    batch: readonly WantedKvBlock[],
    kvBlocks: readonly number[],
  ): boolean {
    const { kvBlockManager } = this.options;
    const { layout, kvBlockTokens } = kvBlockManager;
    const { prefixes, prefix: { promptRows }, sequence: { tokens } } = fetch;
    for (let from = 0; from < batch.length;) {
      const { index } = batch[from];
      const own = layout.groups.map(() => NO_KV_BLOCK);
      for (; batch[from]?.index === index; from++) own[batch[from].name.group] = kvBlocks[from];
      // Prefixes whose KV blocks are not needed may precede it.
      for (let i = Math.min(prefixes.length, index); i <= index; i++) {
        const before = prefixes[i - 1] ?? ROOT_PREFIX;
        const of = i === index ? own : own.map(() => NO_KV_BLOCK);
        const prefix = kvBlockManager.publish(of, before, tokens, i * kvBlockTokens, promptRows[i]);
        if (prefix === undefined) return false;
        prefixes[i] = prefix;
      }
    }
    return true;
  }

  /** A sequence waits no longer. Its KV blocks stay cached, as the last ones used. */
  private end(fetch: Fetch): void {
    if (fetch.over) return;
    fetch.over = true;
    this.options.kvBlockManager.release(fetch.held);
    fetch.held = [];
    this.onEnd();
  }
}
