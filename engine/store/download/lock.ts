import { M40Error } from "../../errors.ts";
import { withReason } from "../files.ts";

/** What a lock's file says of its holder. */
interface Holder {
  readonly process: number;
  readonly since: string;
}

/**
 * A lock that one process holds at a time. The system frees it when the process ends, however that
 * happens; the file that it is on goes when it is let go.
 */
export class FileLock implements Disposable {
  private constructor(private readonly path: string, private readonly file: Deno.FsFile) {}

  /**
   * Takes the lock at once.
   *
   * @param what What the holder of the lock does, for the message: "a.gguf is being fetched".
   * @throws {M40Error} `io` where another process has it, which the error names.
   */
  static async take(path: string, what: string): Promise<FileLock> {
    for (;;) {
      const file = await withReason(
        Deno.open(path, { read: true, write: true, create: true }),
        (reason) => `${path} cannot be written: ${reason}.`,
      );
      try {
        const isFree = await withReason(
          file.tryLock(true),
          (reason) =>
            `${path} cannot be locked: ${reason}. Set M40_MODELS to a folder on a disk of this machine.`,
        );
        if (!isFree) {
          throw new M40Error(
            "io",
            `${what} already${await holder(path)}; try again when that is done.`,
          );
        }
        // A previous holder may have removed the file between our opening and locking it: then this lock is on a file
        // that no other process will find.
        if (await isAt(file, path)) {
          await describe(file);
          return new FileLock(path, file);
        }
        file.close();
      } catch (error) {
        file.close();
        throw error;
      }
    }
  }

  [Symbol.dispose](): void {
    try {
      Deno.removeSync(this.path);
    } catch {
      // It was removed; the lock is on what is open.
    }
    this.file.close();
  }
}

async function isAt(file: Deno.FsFile, path: string): Promise<boolean> {
  const held = await file.stat();
  const there = await Deno.stat(path).catch(() => undefined);
  return there !== undefined && held.ino === there.ino && held.dev === there.dev;
}

/** Names the holder. A full disk has no room for that, which is no reason to refuse the lock. */
async function describe(file: Deno.FsFile): Promise<void> {
  const holder: Holder = { process: Deno.pid, since: new Date().toISOString() };
  try {
    await file.truncate();
    await file.write(new TextEncoder().encode(JSON.stringify(holder)));
  } catch {
    // The message will not name the holder.
  }
}

async function holder(path: string): Promise<string> {
  try {
    const { process, since } = JSON.parse(await Deno.readTextFile(path)) as Partial<Holder>;
    const started = new Date(String(since));
    if (!Number.isSafeInteger(process) || Number.isNaN(started.getTime())) return "";
    return ` by process ${process} (since ${started.toISOString()})`;
  } catch {
    return "";
  }
}
