/**
 * Folders of models for tests of the store: a models directory and the caches of other programs, all in a
 * temporary folder that the environment names meanwhile.
 *
 * @module
 */
import "./own_environment.ts";
import { dirname, join } from "@std/path";

/** Where {@link inStore} has things. */
export interface StoreFolder {
  /** All of it; the home directory. */
  readonly home: string;
  /** The models directory. */
  readonly models: string;
  /** Ollama's cache, and Hugging Face's. */
  readonly ollama: string;
  readonly hub: string;
}

/** Runs a test in folders of its own. */
export async function inStore(test: (store: StoreFolder) => Promise<void>): Promise<void> {
  const home = await Deno.realPath(await Deno.makeTempDir({ prefix: "m40-store-" }));
  const store = {
    home,
    models: join(home, "models"),
    ollama: join(home, "ollama"),
    hub: join(home, "hub"),
  };
  await Deno.mkdir(store.models);
  const wanted: Record<string, string | undefined> = {
    HOME: home,
    M40_MODELS: store.models,
    OLLAMA_MODELS: store.ollama,
    HF_HUB_CACHE: store.hub,
    XDG_CACHE_HOME: join(home, "cache"),
  };
  const before = Object.keys(wanted).map((name) => [name, Deno.env.get(name)] as const);
  for (const [name, value] of Object.entries(wanted)) Deno.env.set(name, value!);
  try {
    await test(store);
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) Deno.env.delete(name);
      else Deno.env.set(name, value);
    }
    await Deno.remove(home, { recursive: true });
  }
}

/** Writes a file, and the folders that it is in. */
export async function put(path: string, content: string | Uint8Array): Promise<string> {
  await Deno.mkdir(dirname(path), { recursive: true });
  await Deno.writeFile(
    path,
    typeof content === "string" ? new TextEncoder().encode(content) : content,
  );
  return path;
}

/** A layer as a manifest of Ollama has it. */
export interface ManifestLayer {
  readonly mediaType: unknown;
  readonly digest: unknown;
  readonly size: unknown;
}

/** Puts a blob into Ollama's cache, and tells the layer that names it. */
export async function putBlob(
  ollama: string,
  kind: string,
  content: string | Uint8Array,
): Promise<ManifestLayer> {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes.slice()));
  const hex = Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
  await put(join(ollama, "blobs", `sha256-${hex}`), bytes);
  const mediaType = `application/vnd.ollama.image.${kind}`;
  return { mediaType, digest: `sha256:${hex}`, size: bytes.length };
}

/** Puts a manifest into Ollama's cache, under `registry.ollama.ai/library/mistral/latest` for example. */
export async function putManifest(
  ollama: string,
  place: string,
  layers: unknown,
): Promise<string> {
  const path = join(ollama, "manifests", place);
  return await put(path, JSON.stringify({ schemaVersion: 2, layers }));
}

/** Puts a file into Hugging Face's cache as its tools do: a blob, and a link in a snapshot. */
export async function putHubFile(
  hub: string,
  repository: string,
  place: string,
  content: string | Uint8Array,
  revision = "main0",
): Promise<string> {
  const root = join(hub, `models--${repository.replace("/", "--")}`);
  const blob = `blob-${place.replaceAll("/", "-")}-${revision}`;
  await put(join(root, "blobs", blob), content);
  const path = join(root, "snapshots", revision, place);
  await Deno.mkdir(dirname(path), { recursive: true });
  const up = "../".repeat(place.split("/").length + 1);
  await Deno.symlink(`${up}blobs/${blob}`, path);
  return path;
}
