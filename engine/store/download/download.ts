import { delay } from "@std/async/delay";
import { basename, dirname, join } from "@std/path";
import { M40Error } from "../../errors.ts";
import type { RemoteHead } from "../../gguf/mod.ts";
import { makeFolder } from "../files.ts";
import { PARTIAL_FOLDER } from "../names.ts";
import { checkSpace } from "./disk_space.ts";
import { Changed, DownloadError, NoRanges } from "./errors.ts";
import { FileHash } from "./file_hash.ts";
import { createClient } from "./http_client.ts";
import { FileLock } from "./lock.ts";
import { PartialFile, removePartial } from "./partial.ts";
import { pauseMs } from "./pause.ts";
import { Remote } from "./remote.ts";
import { Transfer } from "./transfer.ts";
import { DEFAULT_TUNING, type Tuning } from "./tuning.ts";
import type { Downloaded, DownloadOptions, RemoteFile } from "./types.ts";

const DEFAULT_CONNECTIONS = 4;
/** How often a file may change, or have to start again, while it is fetched. */
const MOST_RESTARTS = 5;

/**
 * Fetches a file and puts it at `target`: whole and checked, or not at all. While it is fetched it
 * lies in {@link PARTIAL_FOLDER}, from where the next call goes on after this one was stopped, failed
 * or died. A file that is at `target` and has the wanted hash is not fetched again; another one is
 * replaced when the new one is complete.
 *
 * @throws {M40Error} Where it cannot be fetched, and says what to do: `invalid_request` for a URL that
 * is none, `model_not_found` where there is no such file, `cancelled` where the signal stopped it, `io`
 * for the rest; a {@link DownloadError} with the status where a server refused.
 */
export async function download(
  file: RemoteFile,
  target: string,
  options: DownloadOptions = {},
): Promise<Downloaded> {
  check(file);
  const folder = join(dirname(target), PARTIAL_FOLDER);
  await makeFolder(folder);
  const base = join(folder, basename(target));
  using _lock = await FileLock.take(`${base}.lock`, `${basename(target)} is being fetched`);
  try {
    const there = await alreadyThere(file, target, options.signal);
    if (there !== undefined) {
      await removePartial(base);
      return there;
    }
    using client = createClient();
    using partial = await PartialFile.open(file, base);
    return await new Download(file, target, options, new Remote(file, client), partial).run();
  } catch (error) {
    if (!options.signal?.aborted || error instanceof DownloadError) throw error;
    throw new M40Error(
      "cancelled",
      `Fetching ${basename(target)} was stopped; the next try goes on from what is there.`,
    );
  }
}

/** One call of {@link download}. */
class Download {
  readonly #tuning: Tuning;
  readonly #signal: AbortSignal;
  /** Whether `checkHead` did not want the file. */
  #refused = false;

  constructor(
    private readonly file: RemoteFile,
    private readonly target: string,
    private readonly options: DownloadOptions,
    private readonly remote: Remote,
    private readonly partial: PartialFile,
  ) {
    this.#tuning = { ...DEFAULT_TUNING, ...options.tuning };
    this.#signal = options.signal ?? new AbortController().signal;
  }

  async run(): Promise<Downloaded> {
    const { partial } = this;
    try {
      const downloaded = await this.#fetch();
      await partial.place(this.target);
      return downloaded;
    } catch (error) {
      const unwanted = this.#refused && !partial.resumed;
      if (partial.resumable && !unwanted) await partial.checkpoint(true).catch(() => {});
      else await partial.discard();
      throw error;
    }
  }

  /** Fetches until it is complete, starting again where the file changes. */
  async #fetch(): Promise<Downloaded> {
    let ranged = true;
    for (let restarts = 0;;) {
      try {
        return await this.#attempt(ranged);
      } catch (error) {
        if (error instanceof NoRanges && ranged) {
          ranged = false;
          continue;
        }
        if (!(error instanceof Changed)) throw error;
        if (++restarts > MOST_RESTARTS) {
          throw new DownloadError(
            "io",
            `${this.remote.name} keeps changing while it is fetched: ${error.message}. Try again later.`,
          );
        }
        this.#report(`started again: ${error.message}`);
        await this.partial.reset();
        await delay(pauseMs(restarts, undefined, this.#tuning), { signal: this.#signal });
      }
    }
  }

  async #attempt(ranged: boolean): Promise<Downloaded> {
    const { file, partial } = this;
    using hash = new FileHash(partial.path);
    hash.upTo(partial.ranges.prefix);
    using transfer = new Transfer({
      file,
      remote: this.remote,
      partial,
      hash,
      tuning: this.#tuning,
      connections: this.options.connections ?? DEFAULT_CONNECTIONS,
      signal: this.#signal,
      report: (note) => this.#report(note),
    }, ranged);
    const lane = transfer.lane();
    try {
      // The first bytes show how long the file is, and whether the data on disk belongs to it.
      await lane.next();
      // What is not wanted anyway needs no room.
      await this.#checkHead(lane);
      await this.#checkSpace(1);
      using _keeper = this.#keep(transfer);
      await transfer.finish(lane);
    } finally {
      transfer.stop(new Error("the transfer is over"));
      await lane.return(undefined).catch(() => {});
    }
    return await this.#complete(hash);
  }

  async #complete(hash: FileHash): Promise<Downloaded> {
    const { file, partial } = this;
    const bytes = partial.identity?.bytes;
    if (bytes === undefined || !partial.ranges.has(0, bytes)) {
      throw new M40Error("internal", `${this.remote.name} was fetched, but not all of it`);
    }
    this.#report("checking");
    await partial.complete(bytes);
    const sha256 = await hash.digest(bytes, this.#signal);
    if (file.sha256 !== undefined && file.sha256.toLowerCase() !== sha256) {
      partial.resumable = false;
      throw new DownloadError(
        "io",
        `${this.remote.name} has the SHA-256 ${sha256}; wanted ${file.sha256.toLowerCase()}. It was damaged on ` +
          "the way or is not what it should be, and was thrown away. Try again.",
      );
    }
    return { bytes, sha256 };
  }

  async #checkHead(lane: AsyncGenerator<void>): Promise<void> {
    const { partial, options } = this;
    if (options.checkHead === undefined) return;
    let failed = false;
    const head: RemoteHead = {
      get bytes() {
        return partial.identity?.bytes;
      },
      async read(offset, into) {
        const wanted = () => Math.min(offset + into.length, partial.identity?.bytes ?? Infinity);
        try {
          while (partial.ranges.prefix < wanted() && !(await lane.next()).done);
        } catch (error) {
          failed = true;
          throw error;
        }
        const there = Math.max(0, Math.min(into.length, partial.ranges.prefix - offset));
        return partial.read(offset, into.subarray(0, there));
      },
    };
    try {
      await options.checkHead(head);
    } catch (error) {
      this.#refused = !failed;
      throw error;
    }
  }

  /** Writes the journal now and then, and looks after the disk. */
  #keep(transfer: Transfer): Disposable {
    let timer: number | undefined;
    let over = false;
    const wait = () => {
      timer = setTimeout(async () => {
        // A journal that cannot be written is written the next time, or when it matters.
        await this.partial.checkpoint().catch(() => {});
        await this.#checkSpace(0.5).catch((error) => transfer.stop(error));
        if (!over) wait();
      }, this.#tuning.checkpointMs);
    };
    wait();
    return {
      [Symbol.dispose]() {
        over = true;
        clearTimeout(timer);
      },
    };
  }

  async #checkSpace(share: number): Promise<void> {
    const { ranges, identity, path } = this.partial;
    const missing = identity?.bytes === undefined ? 0 : identity.bytes - ranges.bytes;
    await checkSpace(dirname(path), missing, this.#tuning.reserveBytes, share);
  }

  #report(note?: string): void {
    const { ranges, identity } = this.partial;
    this.options.onProgress?.({ doneBytes: ranges.bytes, totalBytes: identity?.bytes, note });
  }
}

function check({ bytes, sha256 }: RemoteFile): void {
  if (sha256 !== undefined && !/^[0-9a-f]{64}$/i.test(sha256)) {
    throw new DownloadError(
      "invalid_request",
      `${JSON.stringify(sha256.slice(0, 100))} is no SHA-256; wanted 64 hexadecimal digits.`,
    );
  }
  if (bytes !== undefined && (!Number.isSafeInteger(bytes) || bytes < 0)) {
    throw new DownloadError("invalid_request", `A file cannot have ${bytes} bytes.`);
  }
}

/** The file at `target`, where it is known to be the wanted one. */
async function alreadyThere(
  file: RemoteFile,
  target: string,
  signal: AbortSignal | undefined,
): Promise<Downloaded | undefined> {
  const info = await Deno.stat(target).catch(() => undefined);
  if (info?.isDirectory) {
    throw new M40Error("io", `${target} is a directory; wanted the name of a file.`);
  }
  const sha256 = file.sha256?.toLowerCase();
  if (sha256 === undefined || info === undefined || info.size !== (file.bytes ?? info.size)) {
    return undefined;
  }
  using hash = new FileHash(target);
  return await hash.digest(info.size, signal) === sha256 ? { bytes: info.size, sha256 } : undefined;
}
