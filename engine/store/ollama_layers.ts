/**
 * What the layers of Ollama's manifests are, in its library and in its cache.
 *
 * @module
 */

/** How the media types of layers begin. */
export const LAYER = "application/vnd.ollama.image.";

/**
 * Why layers of these kinds are no complete model; undefined where they may be one.
 *
 * @param kinds The media types without {@link LAYER}.
 */
export function refusalOf(kinds: readonly string[]): string | undefined {
  if (kinds.includes("adapter")) {
    return "it brings an adapter (LoRA) for its weights, which m40 cannot apply";
  }
  if (kinds.includes("model")) return undefined;
  const tensors = kinds.filter((kind) => kind === "tensor").length;
  if (tensors > 0) {
    return `its weights are ${tensors} tensors for MLX and no GGUF file; take a tag without "mlx"`;
  }
  return "it has no GGUF file of weights";
}

/** What is left out of a model with these layers, for a sentence each that ends in "is not used". */
export function leftOut(kinds: readonly string[]): string[] {
  return kinds.includes("draft") ? ["its drafter"] : [];
}

/** A manifest among others for the same name. */
export interface ListedManifest {
  /** 64 hex digits. */
  readonly sha256: string;
  readonly bytes: number;
}

const MAX_LISTED = 100;

/**
 * Of a list of manifests (an index), one for each program or platform, the one to take: llama.cpp's, else Ollama's
 * own engine's, else that of Linux on x86-64, else the first.
 *
 * @returns Undefined where the value is no list of manifests.
 * @throws {Error} Where it is a damaged one.
 */
export function chooseManifest(value: unknown): ListedManifest | undefined {
  const { manifests } = (value ?? {}) as { manifests?: unknown };
  if (!Array.isArray(manifests)) return undefined;
  if (manifests.length < 1 || manifests.length > MAX_LISTED) {
    throw new Error(`it lists ${manifests.length} manifests, wanted 1 to ${MAX_LISTED}`);
  }
  const listed = manifests.map((each, i) => {
    const { digest, size } = (each ?? {}) as Record<string, unknown>;
    const [, sha256] = typeof digest === "string"
      ? /^sha256:([0-9a-f]{64})$/.exec(digest) ?? []
      : [];
    if (sha256 === undefined || !Number.isSafeInteger(size) || (size as number) < 0) {
      throw new Error(
        `manifest ${i + 1} of its list has no digest (sha256: and 64 hex digits) or size`,
      );
    }
    return {
      sha256,
      bytes: size as number,
      says: JSON.stringify(each).slice(0, 2000).toLowerCase(),
    };
  });
  const wanted = [/llama-?\.?cpp/, /ggml|gguf/, /"architecture":"amd64"/];
  for (const word of wanted) {
    const found = listed.find(({ says }) => word.test(says));
    if (found !== undefined) return found;
  }
  return listed[0];
}
