import { dirname, join } from "@std/path";
import { type Lock, nameOf, versionOf } from "./packages.ts";

/**
 * Lends the packages of a lock from the user's own cache of Deno to a cache in a folder for temporary files, for as
 * long as the work takes. The path of its cache goes into an executable that Deno compiles, and so would the user's name.
 */
export async function withLentCache(
  deno: (args: string[]) => Promise<void>,
  lock: Lock,
  work: (cache: string) => Promise<void>,
): Promise<void> {
  // What is not there yet is downloaded.
  await deno(["install", "--quiet"]);
  const cache = await Deno.makeTempDir({ prefix: "m40-compile-" });
  try {
    const own = await npmCache();
    for (const key of Object.keys(lock.npm)) await lend(own, join(cache, "npm"), key);
    await work(cache);
  } finally {
    await Deno.remove(cache, { recursive: true });
  }
}

/** Copies a package's version and what the registry says of it. */
async function lend(from: string, to: string, key: string): Promise<void> {
  const name = nameOf(key);
  for (const registry of Deno.readDirSync(from)) {
    if (!registry.isDirectory) continue;
    for (const path of [join(name, "registry.json"), join(name, versionOf(key))]) {
      const source = join(from, registry.name, path), copy = join(to, registry.name, path);
      if (exists(source) && !exists(copy)) await copyAll(source, copy);
    }
  }
}

async function copyAll(from: string, to: string): Promise<void> {
  await Deno.mkdir(dirname(to), { recursive: true });
  const { isDirectory } = await Deno.stat(from);
  if (!isDirectory) return await Deno.copyFile(from, to);
  await Deno.mkdir(to);
  for await (const { name } of Deno.readDir(from)) await copyAll(join(from, name), join(to, name));
}

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}

/** Where Deno keeps packages for this user. */
async function npmCache(): Promise<string> {
  const args = ["info", "--json"];
  const { stdout } = await new Deno.Command(Deno.execPath(), { args, stderr: "null" }).output();
  return JSON.parse(new TextDecoder().decode(stdout)).npmCache;
}
