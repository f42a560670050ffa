/**
 * How nvcc makes the same bytes of the same sources, wherever and whenever it runs.
 *
 * @module
 */
import { dirname, join } from "@std/path";

/**
 * nvcc puts three things into the names of file-local symbols: the checkout's path, a temporary file's name with a
 * process's number in it, and that number again where the file exports nothing. With these flags all of it follows from
 * the source's name, so that the same sources give the same bytes.
 */
export function sameNames(source: string, folder: string): string[] {
  return [
    ...["-Xcudafe", `--orig_src_path_name=/m40/${source}`, "--keep", "--keep-dir", folder],
    ...["-include", "cuda/common/source_name.h"],
    `-DM40_SOURCE_NAME=m40_${source.replace(/\W/g, "_")}`,
  ];
}

/**
 * Starts a program with its memory at the same addresses each time, where the system lets it. The front end of CUDA
 * 11.8 goes through some of its tables in the order of their addresses. Without this the same kernel becomes other
 * machine code from build to build, with other registers and more or fewer clocks. What its environment holds moves its
 * stack: that has to be the same, too.
 */
export async function sameAddresses(): Promise<readonly string[]> {
  const launcher = ["setarch", "-R"];
  try {
    const { success } = await new Deno.Command("setarch", {
      args: ["-R", "true"],
      stdout: "null",
      stderr: "null",
    }).output();
    return success ? launcher : [];
  } catch {
    return [];
  }
}

/**
 * A folder to run the compiler in, whose path is always as long as any other's: nvcc hands on where it runs, which
 * moves what lies behind that in memory. It has copies of the sources.
 */
export class BuildFolder implements AsyncDisposable {
  private constructor(readonly path: string, private readonly made: Date) {}

  /** Copies files and folders of `root`, given by their paths from there. */
  static async make(root: string, parts: readonly string[]): Promise<BuildFolder> {
    const [number] = crypto.getRandomValues(new Uint32Array(1));
    const name = `m40-${number.toString(16).padStart(8, "0")}`;
    const folder = new BuildFolder(join("/tmp", name), new Date());
    await Deno.mkdir(folder.path, { mode: 0o700 });
    try {
      for (const part of parts) await copy(join(root, part), join(folder.path, part));
    } catch (error) {
      await folder[Symbol.asyncDispose]();
      throw error;
    }
    return folder;
  }

  /** Moves a file to the same place below `root`. It is as old as the copies: sources may have changed since. */
  async moveOut(root: string, file: string): Promise<void> {
    await Deno.copyFile(join(this.path, file), join(root, file));
    await Deno.utime(join(root, file), this.made, this.made);
    await Deno.remove(join(this.path, file));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.path, { recursive: true });
  }
}

async function copy(from: string, to: string): Promise<void> {
  if ((await Deno.stat(from)).isFile) {
    await Deno.mkdir(dirname(to), { recursive: true });
    await Deno.copyFile(from, to);
    return;
  }
  await Deno.mkdir(to, { recursive: true });
  for await (const { name } of Deno.readDir(from)) await copy(join(from, name), join(to, name));
}
