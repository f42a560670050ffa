/**
 * Clients from other registries than Python's: installed into folders that last as long as this process.
 *
 * @module
 */
import { join } from "@std/path";
import { failureOf } from "../fixtures/official_clients.ts";

/** Where this folder's programs are. */
export const HERE = import.meta.dirname!;

/**
 * A folder with packages of npm and a program next to them; undefined, and a message, where they are not available.
 *
 * @param program A file of the folder `javascript`, if any.
 */
export async function npmWith(
  packages: readonly string[],
  program?: string,
): Promise<string | undefined> {
  const folder = temporary("npm");
  await Deno.writeTextFile(join(folder, "package.json"), "{}");
  if (program !== undefined) {
    await Deno.copyFile(join(HERE, "javascript", program), join(folder, program));
  }
  const quiet = ["--silent", "--no-audit", "--no-fund"];
  const failure = await failureOf("npm", "install", "--prefix", folder, ...quiet, ...packages);
  return failure === undefined ? folder : skipped(packages.join(" "), failure);
}

/** A copy of one of this folder's projects; what its tool makes of it lies there. */
export async function projectOf(name: string): Promise<string> {
  const folder = temporary(name);
  await copy(join(HERE, name), folder);
  return folder;
}

async function copy(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const { name, isDirectory } of Deno.readDir(from)) {
    if (isDirectory) await copy(join(from, name), join(to, name));
    else await Deno.copyFile(join(from, name), join(to, name));
  }
}

/** Says why a client is not run. */
export function skipped(what: string, why: string): undefined {
  console.log(`skipped: ${what} is not available: ${why.trim().slice(-300)}`);
}

/** A folder that is gone with this process. */
export function temporary(name: string): string {
  const folder = Deno.makeTempDirSync({ prefix: `m40-${name}-` });
  globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
  return folder;
}
