/**
 * Models of Ollama's library, by the protocol of container registries.
 *
 * @module
 */
import { z } from "zod";
import { M40Error } from "../../errors.ts";
import { systemReason } from "../../system_error.ts";
import {
  chooseManifest,
  LAYER,
  leftOut,
  type ListedManifest,
  refusalOf,
} from "../ollama_layers.ts";
import { MAX_TEXT_LENGTH, parseMessages, parseParameters } from "../record.ts";
import { type Answer, ask, parseAnswer } from "./answers.ts";
import { ollamaRegistry, urlBelow } from "./endpoints.ts";
import { plainName } from "./plain_name.ts";
import type { OllamaReference } from "./references.ts";
import { remoteCompanion } from "./remote_head.ts";
import { type Extras, type Source, sourceOfFile } from "./source.ts";

const MAX_MANIFEST_BYTES = 2 ** 20;
/** Real manifests have fewer than ten layers. */
const MAX_LAYERS = 100;
const MAX_FILE_BYTES = 2 ** 46;
/** GGUF files of a model that are looked at. */
const MAX_LOOKS = 4;

const layerSchema = z.object({
  mediaType: z.string().max(200),
  digest: z.string().regex(/^sha256:[0-9a-f]{64}$/, "a digest is not sha256: and 64 hex digits"),
  size: z.number().int().min(0).max(MAX_FILE_BYTES),
});

const manifestSchema = z.object({
  schemaVersion: z.literal(2),
  layers: z.array(layerSchema).min(1).max(MAX_LAYERS),
});

type Layer = z.infer<typeof layerSchema>;

const MANIFEST = "application/vnd.docker.distribution.manifest.v2+json";

/**
 * What a model of the library is.
 *
 * @throws {M40Error} `model_not_found` where there is none; `unsupported` where it is no complete GGUF; `io` where the
 * registry does not answer as it should.
 */
export async function findInLibrary(
  reference: OllamaReference,
  signal?: AbortSignal,
): Promise<Source> {
  const { namespace, model, tag } = reference;
  const short = namespace === "library" ? model : `${namespace}/${model}`;
  const title = `ollama:${short}:${tag}`;
  const blobs = (kind: string, name: string) =>
    urlBelow(ollamaRegistry(), "v2", namespace, model, kind, name);
  const askManifest = async (name: string) => {
    const answer = await ask(blobs("manifests", name), {
      what: title,
      headers: { accept: MANIFEST },
      maxBytes: MAX_MANIFEST_BYTES,
      signal,
    });
    assertFound(answer, title, short);
    return answer;
  };
  let answer = await askManifest(tag);
  const listed = listedManifest(answer, title);
  if (listed !== undefined) {
    answer = await askManifest(`sha256:${listed.sha256}`);
    await assertDigest(answer.body, `sha256:${listed.sha256}`, `the manifest of ${title}`);
  }
  const { layers } = parseAnswer(answer, manifestSchema, title);
  const kinds = layers.map(({ mediaType }) => mediaType.slice(LAYER.length));
  const file = await modelLayer(layers, kinds, title, blobs, signal);
  const sha256 = file.digest.slice("sha256:".length);
  const plainModel = namespace === "library" ? model : `${namespace}-${model}`;
  const remote = { url: blobs("blobs", file.digest).href, bytes: file.size, sha256 };
  const name = plainName(plainModel, tag === "latest" ? undefined : tag);
  return {
    ...sourceOfFile(title, remote, name, title),
    notes: [
      ...kinds.includes("projector")
        ? [`${title} sees pictures; m40 takes its text part only.`]
        : [],
      ...leftOut(kinds).map((what) => `${title}: ${what} is not used.`),
    ],
    extras: () => readExtras(layers, (layer) => readSmall(layer, title, blobs, signal)),
  };
}

function assertFound({ status, url }: Answer, title: string, short: string): void {
  if (status >= 200 && status < 300) return;
  if (status === 404 || status === 401) {
    throw new M40Error(
      "model_not_found",
      `There is no ${title}; https://ollama.com/search finds models, and the page of ${short} has its tags.`,
    );
  }
  throw new M40Error("io", `${title} cannot be fetched: ${url.origin} answered ${status}.`);
}

/** The manifest to take where an answer lists several. */
function listedManifest(answer: Answer, title: string): ListedManifest | undefined {
  const value = parseAnswer(answer, z.unknown(), title);
  try {
    return chooseManifest(value);
  } catch (error) {
    throw new M40Error("io", `${title} cannot be read: ${systemReason(error)}.`);
  }
}

/** The layer that is the model's GGUF file: of several the one that is no companion of it. */
async function modelLayer(
  layers: readonly Layer[],
  kinds: readonly string[],
  title: string,
  blobs: (kind: string, name: string) => URL,
  signal?: AbortSignal,
): Promise<Layer> {
  const refusal = refusalOf(kinds);
  if (refusal !== undefined) {
    throw new M40Error("unsupported", `${title} cannot be run by m40: ${refusal}.`);
  }
  const models = layers.filter(({ mediaType }) => mediaType === `${LAYER}model`);
  if (models.length === 1) return models[0];
  const found: Layer[] = [];
  for (const layer of models.slice(0, MAX_LOOKS)) {
    const file = { url: blobs("blobs", layer.digest).href, bytes: layer.size };
    const companion = await remoteCompanion(file, false, signal).catch(() => {
      signal?.throwIfAborted();
      return undefined;
    });
    if (companion === undefined) found.push(layer);
  }
  if (found.length === 1) return found[0];
  throw new M40Error(
    "unsupported",
    `${title} has ${found.length} GGUF files of weights among its ${layers.length} layers; wanted exactly one.`,
  );
}

/** The text of a layer that holds some lines; its digest is checked. */
async function readSmall(
  { digest, size, mediaType }: Layer,
  title: string,
  blobs: (kind: string, name: string) => URL,
  signal?: AbortSignal,
): Promise<string> {
  const what = `the ${mediaType.slice(LAYER.length)} of ${title}`;
  if (size > MAX_TEXT_LENGTH) {
    throw new M40Error("io", `${what} has ${size} bytes; wanted ${MAX_TEXT_LENGTH} at most.`);
  }
  const { status, body, url } = await ask(blobs("blobs", digest), { what, maxBytes: size, signal });
  if (status !== 200) {
    throw new M40Error("io", `${what} cannot be fetched: ${url.origin} answered ${status}.`);
  }
  await assertDigest(body, digest, what);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch {
    throw new M40Error("io", `${what} is not UTF-8.`);
  }
}

async function assertDigest(body: Uint8Array, digest: string, what: string): Promise<void> {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", body.slice()));
  if (`sha256:${hash.toHex()}` === digest) return;
  throw new M40Error("io", `${what} is not what its manifest says: its SHA-256 is another one.`);
}

async function readExtras(
  layers: readonly Layer[],
  read: (layer: Layer) => Promise<string>,
): Promise<Extras> {
  const one = async (kind: string) => {
    const layer = layers.find(({ mediaType }) => mediaType === `${LAYER}${kind}`);
    return layer && await read(layer);
  };
  const params = await one("params");
  const messages = await one("messages");
  return {
    template: await one("template"),
    system: await one("system"),
    messages: messages === undefined ? undefined : parsed("messages", messages, parseMessages),
    parameters: params === undefined ? undefined : parsed("parameters", params, parseParameters),
  };
}

function parsed<T>(what: string, text: string, parse: (value: unknown) => T): T {
  try {
    return parse(JSON.parse(text));
  } catch (error) {
    const reason = error instanceof Error ? error.message.slice(0, 300) : "";
    throw new M40Error("io", `the ${what} that come with the model cannot be used: ${reason}`);
  }
}
