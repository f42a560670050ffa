/** The models of the models directory. */
import { basename, dirname, join } from "@std/path";
import { joinFileName, splitFileName } from "../gguf/mod.ts";
import { entries, fileBytes, withReason } from "./files.ts";
import { modelFileName, parseFileName } from "./names.ts";

/** Files of one name. */
interface Found {
  whole?: string;
  /** By the number of parts that they say there are; each set in order. */
  readonly parts: Map<number, string[]>;
}

/** The files of a model, as they are to be read. */
export interface OwnModel {
  readonly name: string;
  /** Paths in order. Parts may be missing; reading them says which. */
  readonly files: readonly string[];
  readonly fileBytes: number;
}

/** The models of a directory, by name. */
export async function ownModels(directory: string): Promise<OwnModel[]> {
  const found = await find(directory);
  const models = [...found].map(([name, files]) => sized(name, directory, chosen(files)));
  return (await Promise.all(models)).filter((model) => model !== undefined)
    .sort((a, b) => a.name < b.name ? -1 : 1);
}

/** The model of a name that can be one; undefined where the directory has none. */
export async function ownModel(directory: string, name: string): Promise<OwnModel | undefined> {
  // Most models are one file: no need to look at all the others.
  const whole = modelFileName(name);
  const single = await sized(name, directory, [whole]);
  if (single !== undefined) return single;
  const files = (await find(directory)).get(name);
  return files && await sized(name, directory, chosen(files));
}

/** The names of all files that are of a model, however they are cut; sorted. */
export async function filesOf(directory: string, name: string): Promise<string[]> {
  const files = (await find(directory)).get(name);
  if (files === undefined) return [];
  const whole = files.whole === undefined ? [] : [files.whole];
  return [...whole, ...[...files.parts.values()].flat()].sort();
}

async function find(directory: string): Promise<Map<string, Found>> {
  const models = new Map<string, Found>();
  const all = await withReason(
    entries(directory),
    (reason) => `The models directory ${directory} cannot be read: ${reason}`,
  );
  for (const { name: file, isDirectory } of all) {
    const parsed = isDirectory ? undefined : parseFileName(file);
    if (parsed === undefined) continue;
    const { name, part } = parsed;
    let found = models.get(name);
    if (found === undefined) models.set(name, found = { parts: new Map() });
    if (part === undefined) found.whole = file;
    else found.parts.set(part.count, [...found.parts.get(part.count) ?? [], file]);
  }
  return models;
}

/** Which of a name's files are read: the whole one, else the parts that are all there, else the fewest. */
function chosen({ whole, parts }: Found): readonly string[] {
  if (whole !== undefined) return [whole];
  const sets = [...parts].sort(([a], [b]) => a - b);
  const [, files] = sets.find(([count, files]) => files.length === count) ?? sets[0];
  return files;
}

/** A model with its size; undefined where none of its files is one, as with links that lead nowhere. */
async function sized(
  name: string,
  directory: string,
  files: readonly string[],
): Promise<OwnModel | undefined> {
  const paths = files.map((file) => join(directory, file));
  const sizes = await Promise.all(paths.map(fileBytes));
  const there = paths.filter((_, i) => sizes[i] !== undefined);
  if (there.length === 0) return undefined;
  return {
    name,
    files: there,
    fileBytes: sizes.reduce((sum: number, size) => sum + (size ?? 0), 0),
  };
}

/** The files of the model that the file at a path is of: itself, or its parts that are there. */
export async function siblings(path: string): Promise<{ path: string; bytes: number }[]> {
  const { stem, part } = splitFileName(basename(path)) ?? {};
  const paths = stem === undefined || part === undefined
    ? [path]
    : Array.from({ length: part.count }, (_, i) =>
      join(dirname(path), joinFileName(stem, { number: i + 1, count: part.count })));
  const sizes = await Promise.all(paths.map(fileBytes));
  return paths.flatMap((path, i) => sizes[i] === undefined ? [] : [{ path, bytes: sizes[i] }]);
}
