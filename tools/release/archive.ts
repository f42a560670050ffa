/**
 * Archives whose bytes follow from their files' names, contents and modes alone.
 *
 * @module
 */
import { basename, dirname, join, relative } from "@std/path";
import { run } from "./run.ts";

/** The files of a folder and those below, by their paths from it, in the order of their bytes. */
export async function filesBelow(folder: string): Promise<string[]> {
  const found: string[] = [];
  const visit = async (path: string) => {
    for await (const { name, isDirectory, isFile } of Deno.readDir(path)) {
      const inside = join(path, name);
      if (isDirectory) await visit(inside);
      else if (isFile) found.push(relative(folder, inside));
      else throw new Error(`${inside} is neither a file nor a folder`);
    }
  };
  await visit(folder);
  return found.sort((a, b) => a < b ? -1 : 1);
}

/** The SHA-256 of a file in hexadecimal digits. */
export async function sha256(path: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", await Deno.readFile(path));
  return new Uint8Array(hash).toHex();
}

/** Lines as sha256sum writes and checks them. */
export async function checksums(folder: string, files: readonly string[]): Promise<string> {
  const lines = [];
  for (const file of files) lines.push(`${await sha256(join(folder, file))}  ${file}\n`);
  return lines.join("");
}

/** Sets the time of a folder and of all that is in it. */
export async function setTimes(folder: string, seconds: number): Promise<void> {
  for await (const { name, isDirectory, isSymlink } of Deno.readDir(folder)) {
    const path = join(folder, name);
    if (isDirectory) await setTimes(path, seconds);
    else if (!isSymlink) await Deno.utime(path, seconds, seconds);
  }
  await Deno.utime(folder, seconds, seconds);
}

/** Packs a folder as a .tar.gz: files in order, without an owner, of one time. */
export async function pack(folder: string, output: string, seconds: number): Promise<void> {
  const tar = output.replace(/\.gz$/, "");
  await run("tar", [
    ...["--create", "--format=ustar", "--sort=name", `--mtime=@${seconds}`],
    ...["--owner=0", "--group=0", "--numeric-owner", "--mode=u+rw,go+r,go-w,a-s"],
    ...["--file", tar, "--directory", dirname(folder), basename(folder)],
  ], { env: { LC_ALL: "C" } });
  await run("gzip", ["--no-name", "--best", "--force", tar]);
}
