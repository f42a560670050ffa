import { Buffer } from "node:buffer";
import { dirname, fromFileUrl, join } from "@std/path";
import { M40Error } from "../errors.ts";
import { systemReason } from "../system_error.ts";
import { cacheDirectory } from "./folders.ts";

const FILE = fromFileUrl(new URL("../../tools/demo_model/demo.gguf", import.meta.url));

/** The built-in model's file as TypeScript sees it; in the executable native code cannot open it. */
export const demoModelFile: string = FILE;

/**
 * A path of the built-in model that native code can open.
 *
 * In a checkout that is the file itself. The executable carries the file in a file system that exists only for
 * TypeScript, so it is copied once into the cache folder. Where the environment names none, it goes into a temporary
 * folder that is removed when the program ends.
 *
 * @param standalone Whether this is the executable.
 */
export async function demoModelPath(standalone: boolean = Deno.build.standalone): Promise<string> {
  if (!standalone) return FILE;
  return await extract(FILE, join(cacheDirectory() ?? await temporaryDirectory(), "demo.gguf"));
}

async function temporaryDirectory(): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "m40-" });
  globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
  return folder;
}

/**
 * Makes `target` a copy of `source`, byte for byte, unless it is one already: a stale, damaged or
 * changed copy is replaced. A reader of the old one keeps it meanwhile, and no reader sees half a file.
 *
 * @returns `target`
 * @throws {M40Error} `io` where the copy cannot be written.
 */
export async function extract(source: string, target: string): Promise<string> {
  try {
    const wanted = await Deno.readFile(source);
    if (await holds(target, wanted)) return target;
    const folder = dirname(target);
    await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
    const temporary = await Deno.makeTempFile({ dir: folder, prefix: "demo-", suffix: ".part" });
    try {
      await Deno.writeFile(temporary, wanted);
      await Deno.rename(temporary, target);
    } catch (error) {
      await Deno.remove(temporary).catch(() => {});
      throw error;
    }
    return target;
  } catch (error) {
    throw new M40Error(
      "io",
      `The built-in model cannot be copied to ${target}: ${systemReason(error)}. ` +
        "Set XDG_CACHE_HOME to a folder that can be written.",
    );
  }
}

/** Whether the file at `path` is there and holds exactly these bytes. */
async function holds(path: string, wanted: Uint8Array): Promise<boolean> {
  try {
    // The length first: a changed copy may be larger than memory.
    const info = await Deno.stat(path);
    if (!info.isFile || info.size !== wanted.length) return false;
    return Buffer.compare(await Deno.readFile(path), wanted) === 0;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
