import { dirname, join } from "@std/path";
import { M40Error } from "../../errors.ts";
import { systemReason } from "../../system_error.ts";
import { removeIfThere } from "../files.ts";
import type { Identity } from "./identity.ts";
import { encodeJournal, readJournal } from "./journal.ts";
import { RangeSet } from "./ranges.ts";
import type { RemoteFile } from "./types.ts";

/** What is given up of the data where the disk is too full even for the journal, in bytes. */
const ROOM_BYTES = 2 ** 20;
/** What a file is called until it takes another's place. */
const NEW = ".new";

/**
 * A file that is there in part: its data, and a journal of which bytes of it are right.
 *
 * The journal never says more than is on disk, also after a crash of the machine. The data that it describes is flushed
 * before, and the new journal replaces the old one in one step. So whatever is killed when, what is found is a partial
 * file that can be used, or none.
 */
export class PartialFile implements Disposable {
  /** What it belongs to, as far as that is known. */
  identity: Identity | undefined;
  ranges = new RangeSet();
  /** Whether what is there can be of use to a later try. */
  resumable = false;
  /** Whether a part of it was there when it was opened. */
  readonly resumed: boolean;
  #writing: Promise<void> = Promise.resolve();

  private constructor(
    private readonly file: RemoteFile,
    readonly path: string,
    private readonly journal: string,
    private readonly data: Deno.FsFile,
    found: { identity: Identity; ranges: RangeSet } | undefined,
  ) {
    this.resumed = found !== undefined;
    if (found !== undefined) {
      this.identity = found.identity;
      this.ranges = found.ranges;
      this.resumable = true;
      const bytes = found.identity.bytes;
      // Where only the server can confirm that it is still the same file, there is something to ask.
      if (file.sha256 === undefined && bytes) this.ranges.remove(bytes - 1, bytes);
    }
  }

  /**
   * Opens what is there of a file, or starts again.
   *
   * @param base The path of its files without their extensions.
   * @throws {M40Error} `io` where the folder cannot be written.
   */
  static async open(file: RemoteFile, base: string): Promise<PartialFile> {
    const [path, journal] = [`${base}.part`, `${base}.journal`];
    return await writing(path, async () => {
      const data = await Deno.open(path, { read: true, write: true, create: true });
      try {
        const found = await readJournal(journal, file, (await data.stat()).size);
        const partial = new PartialFile(file, path, journal, data, found);
        if (found === undefined) await partial.reset();
        return partial;
      } catch (error) {
        data.close();
        throw error;
      }
    });
  }

  /** Forgets all that is there. */
  async reset(): Promise<void> {
    await this.#writing;
    this.identity = undefined;
    this.ranges = new RangeSet();
    this.resumable = false;
    await writing(this.path, async () => {
      // The journal first, permanently: it must never be found next to data that it does not describe.
      await this.#removeJournal();
      await syncFolder(dirname(this.journal));
      await this.data.truncate(0);
    });
  }

  /** A handle of its own to write with. */
  async writer(): Promise<Deno.FsFile> {
    return await writing(this.path, () => Deno.open(this.path, { write: true }));
  }

  /** Fills `into` from `offset` on; returns how many bytes there were. */
  read(offset: number, into: Uint8Array): number {
    try {
      this.data.seekSync(offset, Deno.SeekMode.Start);
      let filled = 0;
      while (filled < into.length) {
        const count = this.data.readSync(into.subarray(filled));
        if (count === null) break;
        filled += count;
      }
      return filled;
    } catch (error) {
      throw new M40Error("io", `${this.path} cannot be read: ${systemReason(error)}.`);
    }
  }

  /**
   * Makes what is there last: after this it is found again, whatever happens.
   *
   * @param atAnyCost Whether a little of the data may go where the disk has no room for the journal.
   */
  async checkpoint(atAnyCost = false): Promise<void> {
    if (!this.resumable || this.identity === undefined) return;
    const write = this.#writing.then(() => this.#checkpoint(atAnyCost));
    this.#writing = write.catch(() => {});
    await write;
  }

  async #checkpoint(atAnyCost: boolean): Promise<void> {
    const { identity } = this;
    if (!this.resumable || identity === undefined) return;
    const ranges = this.ranges.copy();
    try {
      await this.data.syncData();
      await replace(this.journal, encodeJournal(this.file, { identity, ranges }));
    } catch (error) {
      if (!atAnyCost || this.ranges.end === 0) throw unwritable(this.journal, error);
      const end = Math.max(0, this.ranges.end - ROOM_BYTES);
      this.ranges.remove(end, Infinity);
      await this.data.truncate(end).catch(() => {});
      await this.#checkpoint(false);
    }
  }

  /** Flushes all of it; it then is as long as it says. */
  async complete(bytes: number): Promise<void> {
    await writing(this.path, async () => {
      await this.data.truncate(bytes);
      await this.data.sync();
    });
  }

  /** Moves the complete file into place, in one step. */
  async place(target: string): Promise<void> {
    await writing(target, async () => {
      await this.#writing;
      await Deno.rename(this.path, target);
      await syncFolder(dirname(target));
      await this.#removeJournal();
    });
  }

  /** Removes all of it. */
  async discard(): Promise<void> {
    await this.#writing;
    // The journal first: data without one is nothing.
    await this.#removeJournal().catch(() => {});
    await removeIfThere(this.path).catch(() => {});
  }

  async #removeJournal(): Promise<void> {
    await removeIfThere(this.journal);
    // A killed process may have left one that was not yet moved into place.
    await removeIfThere(this.journal + NEW);
  }

  [Symbol.dispose](): void {
    this.data.close();
  }
}

/** Removes what is left of a file that is complete: the process that moved it into place was killed then. */
export async function removePartial(base: string): Promise<void> {
  for (const end of [".journal", ".journal" + NEW, ".part"]) {
    await removeIfThere(base + end).catch(() => {});
  }
}

/** Writes a file in one step: it is there as it was, or as it is now. */
async function replace(path: string, text: string): Promise<void> {
  const temporary = path + NEW;
  const file = await Deno.open(temporary, { write: true, create: true, truncate: true });
  try {
    const bytes = new TextEncoder().encode(text);
    for (let done = 0; done < bytes.length;) done += await file.write(bytes.subarray(done));
    await file.sync();
  } catch (error) {
    await removeIfThere(temporary).catch(() => {});
    throw error;
  } finally {
    file.close();
  }
  await Deno.rename(temporary, path);
}

/** Makes the names in a folder last, where its file system knows how. */
async function syncFolder(path: string): Promise<void> {
  try {
    using folder = await Deno.open(join(path, "."), { read: true });
    await folder.sync();
  } catch {
    // Some network file systems refuse; what was renamed is renamed all the same.
  }
}

/**
 * Does what writes at a path.
 *
 * @throws {M40Error} `io` where that fails, with why and what to do.
 */
export async function writing<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw unwritable(path, error);
  }
}

function unwritable(path: string, error: unknown): M40Error {
  if (error instanceof M40Error) return error;
  const { code } = error as { code?: unknown };
  const advice = code === "ENOSPC" || code === "EDQUOT"
    ? " Remove something (m40 rm), or set M40_MODELS to a folder on another disk; what was fetched is kept."
    : "";
  return new M40Error("io", `${path} cannot be written: ${systemReason(error)}.${advice}`);
}
