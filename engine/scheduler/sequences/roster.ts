import type { CachedPrefix, KvBlockManager } from "../kv_blocks/kv_block_manager.ts";
import { kvBlocksIn, NO_KV_BLOCK } from "../kv_blocks/kv_block_layout.ts";
import type { HostKvBlocks } from "../kv_blocks/host_kv_blocks.ts";
import type { KvBlockFetches } from "../kv_blocks/kv_block_fetches.ts";
import type { KvBlockMoves, LostKvBlocks } from "../kv_blocks/kv_block_moves.ts";
import { ROOT_PREFIX } from "../kv_blocks/prefix_tree.ts";
import type { SchedulerCounts } from "../report.ts";
import type { Sequence } from "./sequence.ts";
import type { States } from "../kv_blocks/states.ts";

/**
 * The running and the waiting sequences, with their KV blocks and states. It admits and preempts, and it
 * alone changes a sequence's state.
 *
 * First come, first served: it preempts the newest sequence, which returns before any that came after it.
 */
export class Roster {
  /** Those that are waiting or preempted, in the order of their arrival. */
  readonly waiting: Sequence[] = [];
  /** Those that are prefilling or decoding, in the order of their arrival. */
  readonly running: Sequence[] = [];
  private arrivals = 0;

  /**
   * @param moves Collects the moves of KV blocks before the next step.
   * @param maxRunning Sequences that run at the same time.
   * @param stepTokens Tokens of one step at most.
   * @param counts The sums that it updates.
   * @param host Where preempted sequences keep their KV blocks; without it they are recomputed.
   * @param fetches Reads KV blocks from disk for waiting sequences.
   * @param states States next to K and V, of models that have them.
   */
  constructor(
    private readonly kvBlockManager: KvBlockManager,
    private readonly moves: KvBlockMoves,
    private readonly maxRunning: number,
    private readonly stepTokens: number,
    private readonly counts: SchedulerCounts,
    private readonly host?: HostKvBlocks,
    private readonly fetches?: KvBlockFetches,
    private readonly states?: States,
  ) {}

  /** How many of the waiting ones are preempted. */
  get preempted(): number {
    return this.waiting.filter(({ state }) => state === "preempted").length;
  }

  /** A sequence arrives, and waits. */
  arrive(sequence: Sequence, now: number): void {
    sequence.arrival = this.arrivals++;
    sequence.arrivedAt = now;
    this.waiting.push(sequence);
  }

  /** Takes a sequence that has waited in another scheduler. */
  receive(sequence: Sequence): void {
    insert(this.waiting, sequence);
  }

  /** A sequence migrates to another scheduler: it leaves everything here and is recomputed there in the same way. */
  migrate(sequence: Sequence): void {
    if (!remove(this.waiting, sequence)) {
      remove(this.running, sequence);
      sequence.become("preempted");
    }
    this.releaseKvBlocks(sequence);
    this.dropSaved(sequence);
    this.fetches?.forget(sequence);
    // Its leader may migrate to another scheduler.
    sequence.leader = sequence.answered = undefined;
    sequence.leads = false;
    sequence.forgetComputed();
  }

  /**
   * Admits the first waiting sequence, if a slot and KV blocks are free. It skips sequences that wait for KV
   * blocks from disk, and those whose step still runs after they were preempted.
   */
  admit(now: number): Sequence | undefined {
    if (this.running.length >= this.maxRunning) return undefined;
    for (const sequence of this.waiting) {
      const { leader, saved } = sequence;
      if (sequence.stepsUnderWay > 0) continue;
      const ready = leader === undefined || leader.sampled > 0 || leader.state === "finished";
      if (!ready || this.fetches?.isFetching(sequence)) continue;
      const outcome = saved ? this.bringBack(sequence) : this.takeOver(sequence);
      if (outcome === "fetching") continue;
      if (!outcome) return undefined;
      sequence.admittedAt ??= now;
      remove(this.waiting, sequence);
      insert(this.running, sequence);
      if (leader?.leads) this.dismiss(leader);
      sequence.become(sequence.computed < sequence.prompt.length ? "prefilling" : "decoding");
      return sequence;
    }
    return undefined;
  }

  /**
   * A sequence's KV blocks come back from host memory, and its state, if there is room for them and for those that it
   * needs then: it would take these from the running ones, which would preempt it again.
   */
  private bringBack(sequence: Sequence): boolean {
    const saved = sequence.saved!;
    const { layout, freeKvBlocks } = this.kvBlockManager;
    const needed = saved.count +
      layout.neededAfter(sequence.computed, sequence.tokens.length, this.stepTokens);
    if (needed + this.spare > freeKvBlocks) return false;
    if (this.states?.hasRoom === false) return false;
    this.states?.bringBack(sequence);
    const kvBlocks = this.kvBlockManager.allocate(saved.count)!;
    sequence.kvBlocks = layout.tableOf(kvBlocks, sequence.computed);
    if (saved.count > 0) this.moves.restore(sequence, kvBlocks, this.host!.bytesOf(saved));
    this.dropSaved(sequence);
    return true;
  }

  /**
   * A sequence shares the KV blocks of its cached prefix, if there is room for the others that it needs and
   * no more of them are on disk.
   */
  private takeOver(sequence: Sequence): boolean | "fetching" {
    const { kvBlockManager, states } = this;
    const { kvBlockTokens } = kvBlockManager;
    if (states?.hasRoom === false) return false;
    const { leader, tokens } = sequence;
    const begins = sequence.state === "waiting";
    const ofLeader = begins && leader?.state === "decoding" &&
        (states === undefined || leader.startSlot !== undefined)
      ? kvBlockManager.matchOfLeader(leader)
      : undefined;
    const { kvBlocks, prefixes } = ofLeader ?? this.findPrefix(sequence);
    const shared = kvBlocksIn(kvBlocks);
    const needed = kvBlockManager.layout.neededBeside(kvBlocks, tokens.length, this.stepTokens);
    if (needed + this.spare > kvBlockManager.freeKvBlocksExcept(shared)) return false;
    if (
      ofLeader === undefined && !sequence.computesAll &&
      this.fetches?.awaits(sequence, sequence.match!, this.accepted(sequence))
    ) return "fetching";
    kvBlockManager.share(shared);
    sequence.kvBlocks = kvBlocks;
    sequence.prefixes = prefixes;
    states?.takeOver(sequence, ofLeader ? leader!.startSlot : prefixes[prefixes.length - 1]?.slot);
    sequence.match = undefined;
    if (ofLeader) sequence.noteDecodedLike(leader!);
    else if (begins) {
      for (const [i, prefix] of prefixes.entries()) {
        const start = i * kvBlockTokens;
        sequence.noteDecoded(start + prefix!.promptRows, start + kvBlockTokens);
      }
    }
    sequence.computed = Math.min(kvBlocks[0].length * kvBlockTokens, tokens.length - 1);
    if (begins) sequence.cached = sequence.computed;
    this.counts.queriedTokens += tokens.length;
    this.counts.cachedTokens += sequence.computed;
    return true;
  }

  /** Which cached blocks a sequence may share: a new one, any; a preempted one, only those computed like its own. */
  accepted(sequence: Sequence): undefined | ((index: number, rows: number) => boolean) {
    if (sequence.state === "waiting") return undefined;
    const { kvBlockTokens } = this.kvBlockManager;
    return (index, promptRows) =>
      promptRows === sequence.promptRows(index * kvBlockTokens, (index + 1) * kvBlockTokens);
  }

  /** Finds the cached prefix. */
  private findPrefix(sequence: Sequence): CachedPrefix {
    const { kvBlockManager } = this;
    if (sequence.computesAll) {
      return { kvBlocks: kvBlockManager.layout.groups.map(() => []), prefixes: [] };
    }
    const accepts = this.accepted(sequence);
    const match = sequence.match = kvBlockManager.match(sequence.tokens, sequence.match, accepts);
    return {
      kvBlocks: kvBlockManager.kvBlocksOf(match),
      prefixes: match.prefixes.slice(0, match.length),
    };
  }

  /**
   * KV blocks kept free for the running sequences before another is admitted: one of each group each, or as many as one
   * waits for until a preempted sequence's step ends. Else that one would return first, and take them.
   */
  get spare(): number {
    const groups = this.kvBlockManager.layout.groups.length;
    return this.running.reduce((sum, { awaited }) => sum + Math.max(groups, awaited), 0);
  }

  /**
   * Ensures that a sequence can write its next `count` tokens and its state: allocates KV blocks, and copies
   * shared ones. Where none are free, `force` preempts the newest sequence, maybe this one. If that one takes
   * part in another lane's step, the step must end first, and the result is false.
   *
   * @param drafts Whether some of the tokens may be wrong.
   */
  reserve(sequence: Sequence, count: number, force = true, drafts = false): boolean {
    if (!sequence.runs) return false;
    while (this.states?.reserve(sequence, drafts) === false) {
      if (!force || this.states.comes || !this.makeRoom(sequence)) return false;
    }
    const { kvBlockTokens } = this.kvBlockManager;
    const end = Math.ceil((sequence.begun + count) / kvBlockTokens);
    const first = Math.floor(sequence.begun / kvBlockTokens);
    const shared: { readonly kvBlocks: number[]; readonly index: number }[] = [];
    let needed = 0;
    for (const kvBlocks of sequence.kvBlocks) {
      for (let index = first; index < Math.min(end, kvBlocks.length); index++) {
        if (!this.kvBlockManager.isWritable(kvBlocks[index])) shared.push({ kvBlocks, index });
      }
      needed += Math.max(0, end - kvBlocks.length);
    }
    needed += shared.length;
    sequence.awaited = 0;
    if (needed === 0) return true;
    let fresh = this.kvBlockManager.allocate(needed);
    while (fresh === undefined) {
      if (!force) return false;
      if (this.fetches?.cancel()) {
        fresh = this.kvBlockManager.allocate(needed);
        continue;
      }
      // A sequence preempted during a step frees its KV blocks when the step ends. No other is preempted
      // before.
      const { freeKvBlocks, comingFree } = this.kvBlockManager;
      if (comingFree > 0 && needed <= freeKvBlocks + comingFree) {
        sequence.awaited = needed;
        return false;
      }
      if (!this.makeRoom(sequence)) return false;
      fresh = this.kvBlockManager.allocate(needed);
    }
    if (shared.length > 0) {
      const copies = fresh.splice(0, shared.length);
      const originals = shared.map(({ kvBlocks, index }) => kvBlocks[index]);
      this.moves.copy(sequence, originals, copies);
      shared.forEach(({ kvBlocks, index }, n) => kvBlocks[index] = copies[n]);
      this.kvBlockManager.release(originals);
    }
    for (const kvBlocks of sequence.kvBlocks) {
      kvBlocks.push(...fresh.splice(0, Math.max(0, end - kvBlocks.length)));
    }
    return true;
  }

  /** Preempts the newest sequence. Returns whether it was another one. */
  private makeRoom(sequence: Sequence): boolean {
    const youngest = this.running[this.running.length - 1];
    this.preempt(youngest);
    return youngest !== sequence;
  }

  /** Takes a sequence's KV blocks away; it waits, before all that came after it. */
  private preempt(sequence: Sequence): void {
    this.counts.preemptions++;
    const { host, states } = this;
    // A step that is not over overwrites its state.
    const keeps = sequence.computed > 0 &&
      (states === undefined || sequence.stepsUnderWay === 0 || sequence.nextSlot !== undefined);
    const needed = this.kvBlockManager.layout.needed(sequence.kvBlocks, sequence.computed);
    sequence.saved = keeps ? host?.allocate(needed.length) : undefined;
    if (sequence.saved && states?.save(sequence) === false) this.dropSaved(sequence);
    const { saved } = sequence;
    if (saved && saved.count > 0) this.moves.save(sequence, needed, host!.bytesOf(saved));
    this.pause(sequence);
    if (saved === undefined) this.forget(sequence);
  }

  /** Recomputes the sequences that lost KV blocks, and those that share the lost ones. */
  recover(lost: LostKvBlocks): void {
    const sharing = this.running.filter(({ kvBlocks }) =>
      kvBlocks.some((own) => own.some((kvBlock) => lost.kvBlocks.has(kvBlock)))
    );
    for (const sequence of new Set([...lost.sequences, ...sharing])) {
      if (sequence.state === "finished") continue;
      // To copy what its leader has could fail again.
      const { leader } = sequence;
      sequence.leader = undefined;
      if (leader?.leads) this.dismiss(leader);
      if (sequence.runs) this.pause(sequence);
      this.dropSaved(sequence);
      this.forget(sequence);
    }
  }

  /** A sequence runs no more and holds no KV blocks; it waits, before all that came after it. */
  private pause(sequence: Sequence): void {
    remove(this.running, sequence);
    insert(this.waiting, sequence);
    sequence.become("preempted");
    sequence.underWay = 0;
    this.releaseKvBlocks(sequence);
  }

  private forget(sequence: Sequence): void {
    if (sequence.computed > 0) this.counts.recomputations++;
    sequence.forgetComputed();
    this.fetches?.allowAgain(sequence);
  }

  /**
   * A step has computed so many more tokens of a sequence. Publishes the KV blocks that it filled, and
   * releases those that its next tokens do not need.
   */
  advance(sequence: Sequence, count: number): void {
    const before = sequence.computed;
    sequence.computed += count;
    sequence.uncomputed = Math.max(0, sequence.uncomputed - count);
    if (sequence.state === "prefilling" && sequence.computed >= sequence.prompt.length) {
      sequence.become("decoding");
    }
    const { layout, kvBlockTokens } = this.kvBlockManager;
    const { prefixes, kvBlocks, tokens } = sequence;
    while ((prefixes.length + 1) * kvBlockTokens <= sequence.computed) {
      const index = prefixes.length;
      const prefix = index === 0 ? ROOT_PREFIX : prefixes[index - 1];
      if (prefix === undefined) break;
      const start = index * kvBlockTokens;
      const rows = sequence.promptRows(start, start + kvBlockTokens);
      const full = kvBlocks.map((own) => own[index]);
      prefixes.push(this.kvBlockManager.publish(full, prefix, tokens, start, rows));
    }
    this.states?.advance(sequence);
    if (layout.hasWindows) this.releaseBehind(sequence, before);
  }

  /** Gives back the KV blocks behind the windows that were not when so many tokens were computed. */
  private releaseBehind({ kvBlocks, computed }: Sequence, before: number): void {
    const { layout } = this.kvBlockManager;
    for (const [group, own] of kvBlocks.entries()) {
      const first = layout.firstKvBlock(group, before);
      const end = Math.min(layout.firstKvBlock(group, computed), own.length);
      if (first >= end) continue;
      this.kvBlockManager.release(own.slice(first, end));
      own.fill(NO_KV_BLOCK, first, end);
    }
  }

  /** Gives back KV blocks that were reserved for drafts that were wrong, or for steps that will not be. */
  trim(sequence: Sequence): void {
    const used = Math.ceil(sequence.tokens.length / this.kvBlockManager.kvBlockTokens);
    for (const kvBlocks of sequence.kvBlocks) {
      if (kvBlocks.length > used) this.kvBlockManager.release(kvBlocks.splice(used));
    }
  }

  /**
   * Nothing comes of a sequence any more. Its KV blocks are free at once, also while a step computes it, where
   * what the device does next waits for that step; else {@link StepHolds} keeps them until it is over.
   */
  finish(sequence: Sequence): void {
    if (!remove(this.running, sequence)) remove(this.waiting, sequence);
    sequence.become("finished");
    this.releaseKvBlocks(sequence);
    this.states?.finish(sequence);
    if (sequence.saved || sequence.savedState) this.dropSaved(sequence);
    this.fetches?.forget(sequence);
    sequence.match = undefined;
    if (sequence.sampled === 0) this.appointLeader(sequence);
    if (sequence.leader?.leads) this.dismiss(sequence.leader);
  }

  /** Where a leader ends before it has computed its prompt, the first of its followers leads the others. */
  private appointLeader(former: Sequence): void {
    const [heir, ...others] = this.waiting.filter(({ leader }) => leader === former);
    if (heir === undefined) return;
    heir.leader = undefined;
    for (const other of others) other.leader = heir;
    heir.leads = others.length > 0;
  }

  /** A leader keeps nothing for its followers where none of them waits any more, and has no step end for them. */
  private dismiss(leader: Sequence): void {
    if (this.waiting.some((one) => one.leader === leader)) return;
    leader.leads = false;
    this.states?.dropStart(leader);
  }

  private releaseKvBlocks(sequence: Sequence): void {
    this.kvBlockManager.release(kvBlocksIn(sequence.kvBlocks));
    sequence.kvBlocks = [];
    sequence.awaited = 0;
    this.states?.release(sequence);
  }

  private dropSaved(sequence: Sequence): void {
    if (sequence.saved) this.host!.release(sequence.saved);
    sequence.saved = undefined;
    this.states?.dropSaved(sequence);
  }
}

/** Puts a sequence where its arrival belongs. */
function insert(list: Sequence[], sequence: Sequence): void {
  let place = list.length;
  while (place > 0 && list[place - 1].arrival > sequence.arrival) place--;
  list.splice(place, 0, sequence);
}

/** Removes a sequence. Returns whether the list had it. */
function remove(list: Sequence[], sequence: Sequence): boolean {
  const place = list.indexOf(sequence);
  if (place >= 0) list.splice(place, 1);
  return place >= 0;
}
