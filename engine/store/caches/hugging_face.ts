/**
 * GGUF files in Hugging Face's cache: models--OWNER--REPO/snapshots/REVISION/ has links to the files in blobs/ next to
 * it.
 *
 * A link is followed only where it leads to a file of the same repository.
 *
 * @module
 */
import { basename, join } from "@std/path";
import { type Companion, CompanionError, splitFileName } from "../../gguf/mod.ts";
import { foreignEntries, readSmallText } from "../files.ts";
import { huggingFaceDirectory } from "../folders.ts";
import { localCompanion } from "../local_companion.ts";
import { isModelName } from "../names.ts";
import type { ModelRecord } from "../record.ts";
import { onlyOfQuantisation, type Variant, variantsOf } from "../sources/quantisations.ts";
import type { ForeignModel } from "./foreign_model.ts";

const MAX_REPOSITORIES = 10_000;
const MAX_REVISIONS = 100;
/** Entries of a folder that are looked at, and how deep folders in folders are. */
const MAX_ENTRIES = 2000;
const MAX_DEPTH = 3;
/** GGUF files of a repository that are looked at. */
const MAX_FILES = 10_000;

/** What owners and repositories may be called. */
const WORD = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/;
const FOLDER = "models--";

/** Where Hugging Face's tools keep what they fetched; undefined where the environment does not say. */
export function hubDirectory(): string | undefined {
  const cache = Deno.env.get("HF_HUB_CACHE") || Deno.env.get("HUGGINGFACE_HUB_CACHE");
  if (cache) return cache;
  const base = huggingFaceDirectory();
  return base && join(base, "hub");
}

/**
 * The models of Hugging Face's cache, a model in parts is one; and companions of models, with that as their problem.
 */
export async function hubModels(
  directory: string | undefined = hubDirectory(),
): Promise<ForeignModel[]> {
  const root = directory && await Deno.realPath(directory).catch(() => undefined);
  if (!root) return [];
  const models: ForeignModel[] = [];
  for (const folder of await foreignEntries(root, "folders", MAX_REPOSITORIES)) {
    if (!folder.startsWith(FOLDER)) continue;
    const [owner, ...parts] = folder.slice(FOLDER.length).split("--");
    const name = parts.join("--");
    if (!WORD.test(owner) || !WORD.test(name)) continue;
    models.push(...await repositoryModels(join(root, folder), `${owner}/${name}`));
  }
  return models;
}

/** A GGUF file of a repository. */
interface Found {
  /** Its path in the repository. */
  readonly place: string;
  readonly path: string;
  readonly bytes: number;
  readonly fetched: Date;
}

async function repositoryModels(root: string, repository: string): Promise<ForeignModel[]> {
  const models = new Map<string, ForeignModel>();
  for (const revision of await revisions(root)) {
    const found = new Map<string, Found>();
    for await (const file of ggufFiles(root, join(root, "snapshots", revision), "")) {
      if (found.size >= MAX_FILES) break;
      found.set(file.place, file);
    }
    const listed = [...found.values()].map(({ place, bytes }) => ({ path: place, bytes }));
    const variants = variantsOf(listed).filter(({ missing }) => missing.length === 0);
    const companions = new Map<Variant, Companion>();
    for (const variant of variants) {
      const { path } = found.get(variant.files[0].path)!;
      const companion = await localCompanion(path, variant.files.length > 1);
      if (companion !== undefined) companions.set(variant, companion);
    }
    const only = onlyOfQuantisation(variants.filter((variant) => !companions.has(variant)));
    for (const variant of variants) {
      const { stem } = variant;
      // The first revision that has all of a model counts: parts of two are not of one model.
      if (models.has(stem)) continue;
      models.set(
        stem,
        modelOf(repository, variant, only.has(variant), found, companions.get(variant)),
      );
    }
  }
  return [...models.values()];
}

/** @param isOnly Whether it is the only model of its quantisation, which names it then. */
function modelOf(
  repository: string,
  variant: Variant,
  isOnly: boolean,
  found: ReadonlyMap<string, Found>,
  companion: Companion | undefined,
): ForeignModel {
  const { quantisation, files, bytes } = variant;
  const address = `hf.co/${repository}`;
  const paths = files.map(({ path }) => found.get(path)!.path);
  const place = files[0].path;
  const { stem } = splitFileName(basename(place))!;
  const source = isOnly ? `${address}:${quantisation}` : `${address}/${place}`;
  const record: ModelRecord = {
    source,
    pulledAt: found.get(place)!.fetched,
    files: files.map(({ path, bytes }) => ({ name: basename(path), bytes })),
  };
  return {
    origin: "hugging-face",
    names: [...isModelName(stem) ? [stem] : [], ...isOnly ? [source] : []],
    longName: `${address}/${place}`,
    quantisation,
    files: paths,
    fileBytes: bytes,
    problem: companion && new CompanionError(paths[0], companion).message.replace(/\.$/, ""),
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
    } else {
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
