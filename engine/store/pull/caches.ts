import { basename } from "@std/path";
import { type Choice, hubModels, ollamaModels, type RecordedFile } from "../mod.ts";
import { fileNames, holdsFile, link, placeFiles } from "./place.ts";

/**
 * Takes the files over from another program's cache on this machine that has the same ones. Both caches name files by
 * their hashes, which are computed again before they are believed.
 *
 * @returns Undefined where there is none.
 */
export async function linkFromCaches(
  directory: string,
  name: string,
  choice: Choice,
): Promise<RecordedFile[] | undefined> {
  const hashes = choice.files.map(({ sha256 }) => sha256);
  if (hashes.includes(undefined)) return undefined;
  for (const model of [...await ollamaModels(), ...await hubModels()]) {
    if (model.files.length !== hashes.length) continue;
    const paths = await realPaths(model.files);
    if (!paths.every((path, i) => basename(path).replace(/^sha256-/, "") === hashes[i])) continue;
    const held = await Promise.all(paths.map((path, i) => holdsFile(path, choice.files[i])));
    if (held.includes(undefined)) continue;
    const names = fileNames(name, paths.length);
    await placeFiles(directory, name, names, (i, path) => link(paths[i], path));
    return names.map((name, i) => ({ ...held[i]!, name }));
  }
  return undefined;
}

async function realPaths(files: readonly string[]): Promise<string[]> {
  return await Promise.all(files.map((file) => Deno.realPath(file).catch(() => file)));
}
