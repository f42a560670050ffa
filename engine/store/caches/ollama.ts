/**
 * Models in Ollama's cache: manifests/REGISTRY/NAMESPACE/NAME/TAG says which of the files in blobs/ are
 * a model.
 *
 * Manifests come from elsewhere. What they name is used only where it is a digest, and the file of that
 * digest a regular one in blobs/.
 *
 * @module
 */
import { join } from "@std/path";
import { systemReason } from "../../system_error.ts";
import { foreignEntries, readSmallText } from "../files.ts";
import { homeDirectory } from "../folders.ts";
import { localCompanion } from "../local_companion.ts";
import { chooseManifest, LAYER, leftOut, refusalOf } from "../ollama_layers.ts";
import { MAX_TEXT_LENGTH, type ModelRecord, parseMessages, parseParameters } from "../record.ts";
import type { ForeignModel } from "./foreign_model.ts";

/** The registry that Ollama means where a name has none, and the namespace. */
const REGISTRY = "registry.ollama.ai";
const NAMESPACE = "library";

const MAX_MANIFEST_BYTES = 2 ** 22;
const MAX_LAYERS = 64;
const MAX_PARAMETER_BYTES = 2 ** 16;
/** Entries of a folder, and manifests in all, that are looked at. */
const MAX_ENTRIES = 2000;
const MAX_MANIFESTS = 10_000;

/** What a folder or file of the manifests may be called. */
const WORD = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,199}$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;

/** A registry, which may have a port. */
const REGISTRY_WORD = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,199}(:\d{1,5})?$/;

/** A layer, checked. */
interface Layer {
  readonly kind: string;
  /** 64 hex digits. */
  readonly sha256: string;
  readonly bytes: number;
}

/** The folders that Ollama keeps models in. */
export function ollamaDirectories(): string[] {
  const named = Deno.env.get("OLLAMA_MODELS");
  if (named) return [named];
  const home = homeDirectory();
  return [
    ...home === undefined ? [] : [join(home, ".ollama/models")],
    // Where its Linux installer has the service keep them.
    "/usr/share/ollama/.ollama/models",
  ];
}

/** The models of Ollama's cache, and what is named there but cannot be used. */
export async function ollamaModels(
  directories: readonly string[] = ollamaDirectories(),
): Promise<ForeignModel[]> {
  const models: ForeignModel[] = [];
  for (const directory of directories) {
    // A user who moved the cache has made a link of its folder; from there on none is followed.
    const root = await Deno.realPath(directory).catch(() => undefined);
    if (root === undefined) continue;
    for await (const words of manifests(join(root, "manifests"))) {
      if (models.length >= MAX_MANIFESTS) return models;
      models.push(await modelOf(root, words));
    }
  }
  return models;
}

/** Registry, namespace, name and tag of each manifest. */
async function* manifests(folder: string, words: readonly string[] = []): AsyncGenerator<string[]> {
  const kind = words.length < 3 ? "folders" : "files";
  for (const name of await foreignEntries(folder, kind, MAX_ENTRIES)) {
    if (!(words.length === 0 ? REGISTRY_WORD : WORD).test(name)) continue;
    const inside = [...words, name];
    if (kind === "files") yield inside;
    else yield* manifests(join(folder, name), inside);
  }
}

async function modelOf(root: string, words: readonly string[]): Promise<ForeignModel> {
  const [registry, namespace, name, tag] = words;
  const path = join(root, "manifests", ...words);
  const longName = `${registry}/${namespace}/${name}:${tag}`;
  const base = nameOf(words);
  // As `m40 pull` would fetch it.
  const source = `${registry === REGISTRY ? "ollama:" : ""}${base}:${tag}`;
  const alias = tag === "latest" ? base : undefined;
  const common = { origin: "ollama", names: [`${base}:${tag}`], alias, longName } as const;
  try {
    const layers = await readManifest(root, path);
    const { weights, file } = await weightsOf(root, layers);
    const record = (warn: (problem: string) => void) =>
      recordOf(root, path, layers, weights, source, warn);
    return { ...common, files: [file], fileBytes: weights.bytes, record };
  } catch (error) {
    const problem = `Ollama's manifest ${path} is not used: ${reasonOf(error)}`;
    return { ...common, files: [], fileBytes: 0, problem, record: () => Promise.reject(error) };
  }
}

/** The name that Ollama itself has for a model, before its tag. */
function nameOf([registry, namespace, name]: readonly string[]): string {
  if (registry !== REGISTRY) return `${registry}/${namespace}/${name}`;
  return namespace === NAMESPACE ? name : `${namespace}/${name}`;
}

/** The layers of a manifest, or of one of the manifests of a list. */
async function readManifest(root: string, path: string): Promise<Layer[]> {
  const value: unknown = JSON.parse(await readSmallText(path, MAX_MANIFEST_BYTES));
  const listed = chooseManifest(value);
  if (listed === undefined) return readLayers(value);
  const child = await blobOf(root, listed, MAX_MANIFEST_BYTES).catch((error) => {
    throw new Error(
      `it is a list of manifests, of which the right one is not there: ${reasonOf(error)}`,
    );
  });
  return readLayers(JSON.parse(await readSmallText(child, MAX_MANIFEST_BYTES)));
}

/** Checks every layer of a manifest, whether it is used or not. */
function readLayers(manifest: unknown): Layer[] {
  const { layers } = (manifest ?? {}) as { layers?: unknown };
  if (!Array.isArray(layers)) throw new Error("it has no list of layers");
  if (layers.length > MAX_LAYERS) {
    throw new Error(`it has ${layers.length} layers, and ${MAX_LAYERS} are the most`);
  }
  return layers.map((layer, i) => {
    const { mediaType, digest, size } = (layer ?? {}) as Record<string, unknown>;
    if (typeof mediaType !== "string") throw new Error(`layer ${i + 1} has no media type`);
    if (typeof digest !== "string" || !DIGEST.test(digest)) {
      const shown = (JSON.stringify(digest) ?? "missing").slice(0, 100);
      throw new Error(`the digest of layer ${i + 1} is ${shown}, wanted sha256: and 64 hex digits`);
    }
    if (!Number.isSafeInteger(size) || (size as number) < 0) {
      throw new Error(`the size of layer ${i + 1} is ${JSON.stringify(size)?.slice(0, 100)}`);
    }
    const kind = mediaType.startsWith(LAYER) ? mediaType.slice(LAYER.length) : "";
    return { kind, sha256: digest.slice("sha256:".length), bytes: size as number };
  });
}

/** The layer that is the model's GGUF file, and that file: of several the one that is no companion of it. */
async function weightsOf(
  root: string,
  layers: readonly Layer[],
): Promise<{ weights: Layer; file: string }> {
  const refusal = refusalOf(layers.map(({ kind }) => kind));
  if (refusal !== undefined) throw new Error(refusal);
  const found: { weights: Layer; file: string }[] = [];
  const others: string[] = [];
  for (const weights of layers.filter(({ kind }) => kind === "model")) {
    const file = await blobOf(root, weights, weights.bytes);
    const companion = await localCompanion(file, false);
    if (companion === undefined) found.push({ weights, file });
    else others.push(companion.what);
  }
  if (found.length === 1) return found[0];
  throw new Error(
    found.length > 1
      ? `it has ${found.length} GGUF files of weights, wanted one`
      : `its GGUF file is no model but ${others[0]}`,
  );
}

/** The path of a layer's file; it must have as many bytes as the manifest says. */
async function blobOf(
  root: string,
  { sha256, bytes }: Pick<Layer, "sha256" | "bytes">,
  maxBytes: number,
): Promise<string> {
  const path = join(root, "blobs", `sha256-${sha256}`);
  const info = await Deno.lstat(path);
  if (!info.isFile || await Deno.realPath(path) !== path) {
    throw new Error(`${path} is a link or not a file, and is not followed`);
  }
  if (info.size !== bytes || bytes > maxBytes) {
    throw new Error(`${path} has ${info.size} bytes, wanted ${bytes} (at most ${maxBytes})`);
  }
  return path;
}

/** What the small layers say. */
async function recordOf(
  root: string,
  path: string,
  layers: readonly Layer[],
  { sha256, bytes }: Layer,
  source: string,
  warn: (problem: string) => void,
): Promise<ModelRecord> {
  const brought = (kind: string) => `the ${kind} that Ollama's manifest ${path} brings`;
  const textOf = async (kind: string, maxBytes = MAX_TEXT_LENGTH) => {
    const layer = layers.find((each) => each.kind === kind);
    if (layer === undefined) return undefined;
    try {
      return await readSmallText(await blobOf(root, layer, maxBytes), maxBytes);
    } catch (error) {
      warn(`${brought(kind)} is not used: ${reasonOf(error)}`);
    }
  };
  const parsedOf = <T>(kind: string, text: string | undefined, parse: (value: unknown) => T) => {
    try {
      return text === undefined ? undefined : parse(JSON.parse(text));
    } catch (error) {
      warn(`${brought(kind)} are not used: ${reasonOf(error)}`);
    }
  };
  for (const what of leftOut(layers.map(({ kind }) => kind))) {
    warn(`${what}, which Ollama's manifest ${path} brings, is not used`);
  }
  return {
    source,
    pulledAt: (await Deno.stat(path).catch(() => undefined))?.mtime ?? new Date(0),
    files: [{ name: `sha256-${sha256}`, bytes, sha256 }],
    template: await textOf("template"),
    system: await textOf("system"),
    messages: parsedOf("messages", await textOf("messages"), parseMessages),
    parameters: parsedOf("params", await textOf("params", MAX_PARAMETER_BYTES), parseParameters),
  };
}

function reasonOf(error: unknown): string {
  return error instanceof SyntaxError ? "it is not JSON" : systemReason(error);
}
