/**
 * GGUF files in Hugging Face's cache: models--OWNER--REPO/snapshots/REVISION/ has links to the files in
 * blobs/ beside it.
 *
 * A link is followed only where it leads to a file of the same repository.
 *
 * @module
 */
import { basename, dirname, join } from "@std/path";
import { joinFileName, splitFileName } from "../../gguf/part_names.ts";
import { foreignEntries, readSmallText } from "../files.ts";
import { homeDirectory } from "../folders.ts";
import { isModelName } from "../names.ts";
import type { ModelRecord } from "../record.ts";
import { type ForeignModel, isCompanion } from "./foreign_model.ts";

const MAX_REPOSITORIES = 10_000;
const MAX_REVISIONS = 100;
/** Entries of a folder that are looked at, and how deep folders in folders are. */
const MAX_ENTRIES = 2000;
const MAX_DEPTH = 3;

/** What owners and repositories may be called. */
const WORD = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/;
const FOLDER = /^models--(.+?)--(.+)$/;

/** The names by which a file's quantisation is told in its name's end: `-Q4_K_M`, `.IQ2_XS`, `-UD-Q4_K_XL`. */
const QUANTISATION = /[-._]((?:UD-)?(?:I?Q[0-9]|TQ[0-9]|MXFP4|NVFP4|BF16|F16|F32)[A-Za-z0-9_]*)$/i;

/** Where Hugging Face's tools keep what they fetched; undefined where the environment does not say. */
export function hubDirectory(): string | undefined {
  const cache = Deno.env.get("HF_HUB_CACHE") || Deno.env.get("HUGGINGFACE_HUB_CACHE");
  if (cache) return cache;
  const base = Deno.env.get("HF_HOME");
  if (base) return join(base, "hub");
  const xdg = Deno.env.get("XDG_CACHE_HOME");
  if (xdg) return join(xdg, "huggingface/hub");
  const home = homeDirectory();
  return home && join(home, ".cache/huggingface/hub");
}

/** The models of Hugging Face's cache; a model in parts is one. */
export async function hubModels(
  directory: string | undefined = hubDirectory(),
): Promise<ForeignModel[]> {
  const root = directory && await Deno.realPath(directory).catch(() => undefined);
  if (!root) return [];
  const models: ForeignModel[] = [];
  for (const folder of await foreignEntries(root, "folders", MAX_REPOSITORIES)) {
    const [, owner, name] = FOLDER.exec(folder) ?? [];
    if (owner === undefined || !WORD.test(owner) || !WORD.test(name)) continue;
    models.push(...await repositoryModels(join(root, folder), `${owner}/${name}`));
  }
  return models;
}

/** A GGUF file of a repository. */
interface Found {
  /** Its place in the repository. */
  readonly place: string;
  readonly path: string;
  readonly bytes: number;
  readonly fetched: Date;
}

async function repositoryModels(root: string, repository: string): Promise<ForeignModel[]> {
  const found = new Map<string, Found>();
  for (const revision of await revisions(root)) {
    const snapshot = join(root, "snapshots", revision);
    for await (const file of ggufFiles(root, snapshot, "")) {
      // The first revision that has a file is the one that counts.
      if (!found.has(file.place)) found.set(file.place, file);
    }
  }
  const models: ForeignModel[] = [];
  for (const [place, file] of found) {
    const { stem, part } = splitFileName(basename(place))!;
    if (isCompanion(place) || part !== undefined && part.number !== 1) continue;
    const files = part === undefined ? [file] : partsOf(found, dirname(place), stem, part.count);
    // Parts are found by their names, so they must be in one folder; and a part may be under way.
    if (files.some((each) => each === undefined)) continue;
    models.push(modelOf(repository, place, stem, files as Found[]));
  }
  return models;
}

function partsOf(found: ReadonlyMap<string, Found>, folder: string, stem: string, count: number) {
  const first = found.get(join(folder, joinFileName(stem, { number: 1, count })));
  return Array.from({ length: count }, (_, i) => {
    const file = found.get(join(folder, joinFileName(stem, { number: i + 1, count })));
    return file && first && dirname(file.path) === dirname(first.path) ? file : undefined;
  });
}

function modelOf(
  repository: string,
  place: string,
  stem: string,
  files: readonly Found[],
): ForeignModel {
  const address = `hf.co/${repository}`;
  const quantisation = QUANTISATION.exec(stem)?.[1] ??
    // Large models have a folder for each quantisation.
    QUANTISATION.exec(`-${basename(dirname(place))}`)?.[1];
  const record: ModelRecord = {
    source: quantisation === undefined ? `${address}/${place}` : `${address}:${quantisation}`,
    pulledAt: files[0].fetched,
    files: files.map(({ path, bytes }) => ({ name: basename(path), bytes })),
  };
  return {
    origin: "hugging-face",
    names: [
      ...isModelName(stem) ? [stem] : [],
      ...quantisation === undefined ? [] : [`${address}:${quantisation}`],
    ],
    longName: `${address}/${place}`,
    files: files.map(({ path }) => path),
    fileBytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    record: () => Promise.resolve(record),
  };
}

/** The revisions that are there, the current one first. */
async function revisions(root: string): Promise<string[]> {
  const all = (await foreignEntries(join(root, "snapshots"), "folders", MAX_REVISIONS))
    .filter((name) => WORD.test(name));
  const current = await readSmallText(join(root, "refs/main"), 200).catch(() => "");
  return all.sort((a, b) => Number(b === current.trim()) - Number(a === current.trim()));
}

/** The GGUF files below a folder of a snapshot. */
async function* ggufFiles(root: string, folder: string, place: string): AsyncGenerator<Found> {
  for (const name of await foreignEntries(folder, "all", MAX_ENTRIES)) {
    const path = join(folder, name);
    const inside = place === "" ? name : `${place}/${name}`;
    if (name.endsWith(".gguf")) {
      const file = await fileInside(root, path);
      if (file !== undefined) yield { place: inside, path, ...file };
    } else if (!name.includes(".") || /^[A-Za-z0-9._-]+$/.test(name)) {
      const info = await Deno.lstat(path).catch(() => undefined);
      if (info?.isDirectory && inside.split("/").length < MAX_DEPTH) {
        yield* ggufFiles(root, path, inside);
      }
    }
  }
}

/** A file, where it is one and, behind its links, in the repository's folder. */
async function fileInside(
  root: string,
  path: string,
): Promise<{ bytes: number; fetched: Date } | undefined> {
  try {
    const real = await Deno.realPath(path);
    if (!real.startsWith(`${root}/`)) return undefined;
    const { isFile, size, mtime } = await Deno.stat(real);
    return isFile ? { bytes: size, fetched: mtime ?? new Date(0) } : undefined;
  } catch {
    return undefined;
  }
}
