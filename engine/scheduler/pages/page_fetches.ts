import { isDeviceLoss } from "../../errors.ts";
import { type DiskBeginning, findOnDisk, type WantedPage } from "../disk/disk_beginning.ts";
import type { DiskPagesOptions } from "../disk/disk_pages_options.ts";
import { NO_PAGE } from "./page_layout.ts";
import type { Match } from "./page_manager.ts";
import { type Prefix, ROOT_PREFIX, tokensText } from "./prefix_tree.ts";
import { Rates } from "../steps/rates.ts";
import type { StepReport } from "../report.ts";
import type { Sequence } from "../sequences/sequence.ts";

/** The longest that a sequence waits for its pages, where it is not known how long computing them takes. */
const PATIENCE_MS = 120_000;
/** It waits so long in any case. */
const LEAST_PATIENCE_MS = 1000;
/** The fewest pages of tokens that are fetched. */
const LEAST_GAIN = 2;

type Bytes = Uint8Array<ArrayBuffer>;

/** Pages that are brought into memory for a sequence that waits. */
interface Fetch {
  readonly sequence: Sequence;
  readonly beginning: DiskBeginning;
  /** What the pages of its beginning stand for, as far as they are in memory. */
  readonly prefixes: Prefix[];
  /** Pages that are kept for it: nobody else may have them meanwhile. */
  held: number[];
  /** Whether the sequence waits no longer: it is done, or was given up. */
  over: boolean;
  /** Whether it was given up because reading takes so long. */
  late: boolean;
}

/**
 * Brings pages from disk into memory for sequences that wait: they are read and checked while others run,
 * copied to the device between two steps, and published as if they had been computed, so that the sequence
 * finds them when it is let in. One sequence at a time; what fails, or takes longer than computing, is
 * computed.
 */
export class PageFetches {
  /** Called when a sequence waits no longer. */
  onEnd: () => void = () => {};
  /** Called when the device is lost. */
  onLoss: (error: unknown) => void = () => {};
  private readonly rates = new Rates();
  /** The one whose pages are being read; it may be over, and its last reads not. */
  private current?: Fetch;
  private running?: Promise<void>;
  private readonly tried = new WeakSet<Sequence>();
  private closed = false;

  constructor(private readonly options: DiskPagesOptions) {}

  /** Whether a sequence waits for its pages. */
  isFetching(sequence: Sequence): boolean {
    return this.current?.sequence === sequence && !this.current.over;
  }

  /**
   * Whether a sequence that could be let in should wait, because more of its beginning is on disk. Once for
   * each sequence its pages are fetched then.
   *
   * @param match What of it is published in memory.
   * @param accepts As of {@link PageManager.match}.
   */
  awaits(
    sequence: Sequence,
    match: Match,
    accepts?: (index: number, promptRows: number) => boolean,
  ): boolean {
    if (this.closed || this.tried.has(sequence)) return false;
    const { pageManager } = this.options;
    const { tokens } = sequence;
    // Who comes second waits as well, as reading is faster than computing; it may find what the first brought.
    if (this.current !== undefined) return !this.current.late && this.goesOn(tokens, match);
    const beginning = findOnDisk(this.options, tokens, match, accepts);
    const gainedTokens = (beginning.length - match.length) * pageManager.pageTokens;
    if (!this.isWorthwhile(beginning, gainedTokens)) return false;
    this.tried.add(sequence);
    const held = [...beginning.held];
    pageManager.share(held);
    const prefixes = [...match.prefixes];
    this.current = { sequence, beginning, prefixes, held, over: false, late: false };
    this.running = this.run(this.current, gainedTokens);
    return true;
  }

  /** Pages are needed by those who run: what is kept for one who waits is given up. Whether there was any. */
  giveWay(): boolean {
    const { current } = this;
    if (current === undefined || current.over) return false;
    this.end(current);
    return true;
  }

  /** Nobody waits for a sequence's pages any more, as nothing comes of it. */
  forget(sequence: Sequence): void {
    if (this.isFetching(sequence)) this.end(this.current!);
  }

  /** What a sequence that gave way has to compute again may be fetched once more. */
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
    this.giveWay();
    await this.running;
  }

  /** Whether there is a page on disk after those that are known in memory. */
  private goesOn(tokens: readonly number[], { prefixes }: Match): boolean {
    const { store, keys, pageManager: { pageTokens } } = this.options;
    const start = prefixes.length * pageTokens;
    if (start + pageTokens >= tokens.length) return false;
    const key = keys.keyOf(prefixes[prefixes.length - 1] ?? ROOT_PREFIX);
    return store.find(key, tokensText(tokens, start, start + pageTokens)).prefixes.length > 0;
  }

  private isWorthwhile({ wanted, wantedState }: DiskBeginning, gainedTokens: number): boolean {
    const { leastPages, pageManager: { pageTokens }, store } = this.options;
    if (gainedTokens < Math.min(LEAST_GAIN, leastPages) * pageTokens) return false;
    const computing = this.rates.computingMs(gainedTokens);
    const stateBytes = wantedState === undefined ? 0 : this.options.stateMemory!.length;
    const reading = this.rates.readingMs(wanted.length * store.pageBytes + stateBytes);
    return computing === undefined || reading === undefined || reading < computing;
  }

  private async run(fetch: Fetch, gainedTokens: number): Promise<void> {
    const { memory, store, now, withDevice } = this.options;
    const { wanted, wantedState } = fetch.beginning;
    const patience = this.rates.computingMs(gainedTokens) ?? PATIENCE_MS;
    const timer = setTimeout(() => {
      fetch.late = true;
      this.end(fetch);
    }, Math.max(patience, LEAST_PATIENCE_MS));
    // While the pages in one half of the memory wait for their turn on the device, the other is filled.
    const room = Math.max(1, Math.floor(memory.length / store.pageBytes / 2));
    const halves = [0, 1].map((i) => memory.subarray(i * room * store.pageBytes));
    const start = now();
    let done = 0;
    let bytes = 0;
    let reading = Promise.resolve(0);
    try {
      // Without it, pages are of no use.
      const state = wantedState && await this.readState(fetch, wantedState);
      if (state === false) this.end(fetch);
      else if (state) bytes += this.options.stateMemory!.length;
      reading = this.read(fetch.over ? [] : wanted.slice(0, room), halves[0]);
      for (let i = 0; done < wanted.length && !fetch.over; i++) {
        const batch = wanted.slice(done, done + room);
        const count = await reading;
        const next = count < batch.length ? [] : wanted.slice(done + room, done + 2 * room);
        reading = this.read(next, halves[(i + 1) % 2]);
        const pages = batch.slice(0, count);
        if (!await withDevice(() => this.take(fetch, pages, halves[i % 2]))) break;
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
    this.rates.noteReading(bytes + done * store.pageBytes, now() - start);
    this.current = undefined;
    if (fetch.over) this.onEnd();
    else this.end(fetch);
  }

  /** Reads pages into host memory; how many there are, from the first on. */
  private async read(batch: readonly WantedPage[], memory: Bytes): Promise<number> {
    const { store } = this.options;
    const { pageBytes } = store;
    const read = await Promise.all(batch.map(({ name, index }, i) => {
      return store.read(name, index, memory.subarray(i * pageBytes, (i + 1) * pageBytes));
    }));
    const missing = read.indexOf(false);
    return missing < 0 ? read.length : missing;
  }

  /** Copies pages to the device and publishes them; whether that was possible. */
  private async take(
    fetch: Fetch,
    batch: readonly WantedPage[],
    memory: Bytes,
  ): Promise<boolean> {
    if (fetch.over || batch.length === 0) return false;
    const { pageManager, store, mover } = this.options;
    const pages = pageManager.allocate(batch.length);
    if (pages === undefined) return false;
    try {
      const source = memory.subarray(0, batch.length * store.pageBytes);
      await mover.restorePages(Uint32Array.from(pages), source);
    } catch (error) {
      pageManager.release(pages);
      throw error;
    }
    const published = this.publish(fetch, batch, pages);
    if (fetch.over) pageManager.release(pages);
    else fetch.held.push(...pages);
    return published;
  }

  private async readState({ sequence }: Fetch, { name, index }: WantedPage): Promise<boolean> {
    const { store, stateMemory } = this.options;
    const there = await store.read(name, index, stateMemory!);
    // There may be one after fewer tokens; this one is not found again.
    if (!there && !store.has(name)) this.tried.delete(sequence);
    return there;
  }

  /** Copies the state after the pages to the device, and keeps it as if the sequence had computed it. */
  private async takeState(fetch: Fetch, { index }: WantedPage): Promise<void> {
    const { pageManager, mover, stateMemory } = this.options;
    const prefix = fetch.prefixes[index];
    if (fetch.over || prefix === undefined) return;
    const slot = pageManager.slots!.allocate();
    if (slot === undefined) return;
    try {
      await mover.restoreSlots(Uint32Array.of(slot), stateMemory!);
      pageManager.keepState(prefix, slot, false);
    } finally {
      pageManager.slots!.release(slot);
    }
  }

  /** Publishes pages as if the sequence had computed them; whether nobody has computed them in another way. */
  private publish(fetch: Fetch, batch: readonly WantedPage[], pages: readonly number[]): boolean {
    const { pageManager } = this.options;
    const { layout, pageTokens } = pageManager;
    const { prefixes, beginning: { promptRows }, sequence: { tokens } } = fetch;
    for (let from = 0; from < batch.length;) {
      const { index } = batch[from];
      const own = layout.groups.map(() => NO_PAGE);
      for (; batch[from]?.index === index; from++) own[batch[from].name.group] = pages[from];
      // Prefixes whose pages nobody needs may stand before it.
      for (let i = Math.min(prefixes.length, index); i <= index; i++) {
        const before = prefixes[i - 1] ?? ROOT_PREFIX;
        const of = i === index ? own : own.map(() => NO_PAGE);
        const prefix = pageManager.publish(of, before, tokens, i * pageTokens, promptRows[i]);
        if (prefix === undefined) return false;
        prefixes[i] = prefix;
      }
    }
    return true;
  }

  /** A sequence waits no longer. Its pages are kept as others that nobody holds, those used last. */
  private end(fetch: Fetch): void {
    if (fetch.over) return;
    fetch.over = true;
    this.options.pageManager.release(fetch.held);
    fetch.held = [];
    this.onEnd();
  }
}
