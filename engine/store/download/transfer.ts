import { delay } from "@std/async/delay";
import { type Body, readAnswer } from "./answer.ts";
import { readBody } from "./body.ts";
import { Changed, DownloadError, Fault, Misranged, NoRanges } from "./errors.ts";
import type { FileHash } from "./file_hash.ts";
import { ifRange } from "./identity.ts";
import { type PartialFile, writing } from "./partial.ts";
import { pauseMs } from "./pause.ts";
import type { Range } from "./ranges.ts";
import { type Asked, dismiss, type Remote } from "./remote.ts";
import { StallWatch } from "./stall_watch.ts";
import type { Tuning } from "./tuning.ts";
import type { RemoteFile } from "./types.ts";

/** A try that brought this much did not fail for nothing, in bytes. */
const WORTHWHILE_BYTES = 64 * 1024;
/** Tries to reach a server that has never answered: a wrong name should not take a minute to be reported. */
const FIRST_ATTEMPTS = 3;
/** Answers with a wrong range after which a server is not asked for ranges any more. */
const MISRANGED_ATTEMPTS = 3;
/** How long no connection is added after the server let one down, in milliseconds. */
const RETIREMENT_MS = 30_000;

/** What a {@link Transfer} works with. */
export interface TransferContext {
  readonly file: RemoteFile;
  readonly remote: Remote;
  readonly partial: PartialFile;
  readonly hash: FileHash;
  readonly tuning: Tuning;
  readonly connections: number;
  readonly signal: AbortSignal;
  /** Hears of every part that was written, and of pauses. */
  readonly report: (note?: string) => void;
}

/**
 * Gets what is missing of a file: pieces in the order of the file, each by one of several
 * connections, again and again until it is there.
 */
export class Transfer implements Disposable {
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  /** The pieces that connections are at. */
  readonly #claims = new Set<Range>();
  #lanes = 0;
  #noMoreUntil = 0;
  #addLanes: () => void = () => {};

  /** @param ranged Whether the server is asked for parts; else for all, by one connection. */
  constructor(private readonly context: TransferContext, private ranged: boolean) {
    this.#signal = AbortSignal.any([context.signal, this.#stop.signal]);
  }

  /** Ends all connections; what they do fails for this reason. */
  stop(reason: unknown): void {
    this.#stop.abort(reason);
  }

  [Symbol.dispose](): void {
    this.stop(new Error("the transfer is over"));
  }

  /**
   * One connection's work: goes on with each call of `next` by one written part, and ends when there
   * is nothing left for it to do.
   *
   * @throws {Changed} Where all has to start again.
   * @throws {NoRanges} Where the server is to be asked for all of the file.
   * @throws {DownloadError} Where it cannot be fetched.
   */
  async *lane(): AsyncGenerator<void> {
    const { partial, tuning } = this.context;
    using out = await partial.writer();
    this.#lanes++;
    let here = true;
    // At once, not when this function is through: the others must not rely on a lane that leaves.
    const leave = () => {
      if (here) this.#lanes--;
      here = false;
    };
    try {
      let [failed, misranged] = [0, 0];
      for (;;) {
        const piece = this.#next();
        if (piece === undefined) return leave();
        this.#claims.add(piece);
        let got = 0;
        try {
          for await (const bytes of this.#fetch(piece, out)) {
            got += bytes;
            yield;
          }
          [failed, misranged] = [0, 0];
          this.#addLanes();
        } catch (error) {
          if (!(error instanceof Fault)) throw error;
          this.#claims.delete(piece);
          if (got > 0) this.#checkContinuable(error);
          else if (this.#lanes > 1) {
            // The server may not accept that many connections.
            this.#noMoreUntil = performance.now() + RETIREMENT_MS;
            return leave();
          }
          failed = got >= WORTHWHILE_BYTES ? 1 : failed + 1;
          if (error instanceof Misranged) misranged++;
          if (misranged >= MISRANGED_ATTEMPTS && this.ranged) throw new NoRanges(error.message);
          if (failed >= this.#most(misranged)) {
            throw new DownloadError(
              "io",
              `${this.context.remote.name} cannot be fetched: ${error.message} (${failed} tries).`,
            );
          }
          const pause = pauseMs(failed, error, tuning);
          this.context.report(`${error.message}; next try in ${(pause / 1000).toFixed(1)} s`);
          await delay(pause, { signal: this.#signal });
        } finally {
          this.#claims.delete(piece);
        }
      }
    } finally {
      leave();
    }
  }

  /** Gets all the rest, with a connection that has started and others. */
  async finish(first: AsyncGenerator<void>): Promise<void> {
    const { partial, connections, tuning } = this.context;
    const running = new Set<Promise<void>>();
    const start = (lane: AsyncGenerator<void>) => {
      const drained = (async () => {
        while (!(await lane.next()).done);
      })().finally(() => running.delete(drained));
      // Waiting callers get it; the others that fail for the same reason are not to be reported.
      drained.catch(() => {});
      running.add(drained);
    };
    start(first);
    this.#addLanes = () => {
      const total = partial.identity?.bytes;
      if (!this.ranged || total === undefined || performance.now() < this.#noMoreUntil) return;
      const useful = Math.ceil((total - partial.ranges.bytes) / tuning.pieceBytes);
      while (running.size < Math.min(connections, useful) && !this.#signal.aborted) {
        start(this.lane());
      }
    };
    this.#addLanes();
    try {
      while (running.size > 0) await Promise.race(running);
    } catch (error) {
      this.stop(error);
      await Promise.allSettled(running);
      throw error;
    } finally {
      this.#addLanes = () => {};
    }
  }

  /** The next piece that no connection fetches. */
  #next(): Range | undefined {
    this.#signal.throwIfAborted();
    const { partial, tuning } = this.context;
    const total = partial.identity?.bytes;
    const taken = partial.ranges.copy();
    for (const { start, end } of this.#claims) taken.add(start, end);
    const gap = taken.firstGap(total ?? Infinity);
    if (gap === undefined) return undefined;
    if (!this.ranged) return { start: 0, end: Infinity };
    return { start: gap.start, end: Math.min(gap.end, gap.start + tuning.pieceBytes) };
  }

  /** Fetches a piece; yields how many bytes came that were not there before. */
  async *#fetch(piece: Range, out: Deno.FsFile): AsyncGenerator<number> {
    const { file, partial, remote, tuning } = this.context;
    using watch = new StallWatch(tuning.stallMs, this.#signal);
    try {
      const known = partial.identity;
      // With a hash to come up to, nothing else has to be the same.
      const condition = known && file.sha256 === undefined ? ifRange(known) : undefined;
      const asked: Asked = this.ranged ? { range: piece, ifRange: condition } : {};
      const response = await remote.get(asked, watch.signal);
      try {
        watch.alive();
        const body = readAnswer(response, asked, file, known);
        this.#adopt(body, response.status);
        yield* this.#write(response, body, out, watch);
      } finally {
        await dismiss(response);
      }
    } catch (error) {
      if (this.#signal.aborted) throw this.#signal.reason;
      if (watch.stalled) {
        throw new Fault(`nothing, or next to nothing, came for ${tuning.stallMs / 1000} s`);
      }
      throw error;
    }
  }

  /** Takes over what the first answer says. */
  #adopt({ identity }: Body, status: number): void {
    const { file, partial } = this.context;
    if (status === 200) this.ranged = false;
    const identified = file.sha256 !== undefined || ifRange(identity) !== undefined;
    // Parts that may not belong together are worse than one whole.
    if (this.ranged && !identified) {
      throw new NoRanges("the server does not say which version a part is of");
    }
    partial.identity ??= identity;
    partial.resumable ||= this.ranged && identity.bytes !== undefined;
  }

  async *#write(
    response: Response,
    body: Body,
    out: Deno.FsFile,
    watch: StallWatch,
  ): AsyncGenerator<number> {
    const { file, partial, hash, report } = this.context;
    const end = body.end ?? partial.identity?.bytes;
    let at = body.start;
    // One more where the server does not say how many there are, to see whether it has more.
    const extra = body.end === undefined && end !== undefined ? 1 : 0;
    const exact = response.headers.has("content-length");
    for await (const bytes of readBody(response.body, end && end - at + extra, exact, watch)) {
      const wanted = bytes.subarray(0, end === undefined ? bytes.length : end - at);
      if (wanted.length < bytes.length && file.sha256 === undefined) {
        partial.resumable = false;
        throw new DownloadError(
          "io",
          `${this.context.remote.name} is longer than ${end} bytes, which it should have.`,
        );
      }
      const isNew = !partial.ranges.has(at, at + wanted.length);
      if (isNew) {
        await writing(partial.path, async () => {
          await out.seek(at, Deno.SeekMode.Start);
          for (let done = 0; done < wanted.length;) done += await out.write(wanted.subarray(done));
        });
        partial.ranges.add(at, at + wanted.length);
        hash.upTo(partial.ranges.prefix);
      }
      at += wanted.length;
      report();
      yield isNew ? wanted.length : 0;
    }
    if (end !== undefined && at < end) {
      throw new Fault(`the body ended after ${at - body.start} of ${end - body.start} bytes`);
    }
    if (end === undefined) partial.identity = { ...partial.identity, bytes: at };
  }

  /** What came before a connection was cut is only good if the rest provably belongs to it. */
  #checkContinuable(fault: Fault): void {
    const { file, partial } = this.context;
    if (file.sha256 !== undefined || (partial.identity && ifRange(partial.identity))) return;
    throw new Changed(
      `${fault.message}, and the server does not say whether the rest is of the same version`,
    );
  }

  /** How many tries may fail one after the other. */
  #most(misranged: number): number {
    const { tuning: { attempts }, remote } = this.context;
    if (misranged > 0) return Math.min(attempts, MISRANGED_ATTEMPTS);
    return remote.answered ? attempts : Math.min(attempts, FIRST_ATTEMPTS);
  }
}
