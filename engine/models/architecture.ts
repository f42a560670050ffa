import { M40Error } from "../errors.ts";
import type { Gguf } from "../gguf/reader.ts";
import { llama } from "./llama.ts";
import type { Architecture } from "./model.ts";

const ARCHITECTURES: readonly Architecture[] = [llama];

/** The names of the architectures that the engine knows. */
export function architectureNames(): string[] {
  return ARCHITECTURES.map((architecture) => architecture.name);
}

/**
 * The architecture of a file.
 *
 * @throws {M40Error} "unsupported" where the engine does not know it; "invalid_model" where the file
 * does not say.
 */
export function architectureOf(gguf: Gguf): Architecture {
  const name = gguf.metadata.string("general.architecture");
  const found = ARCHITECTURES.find((architecture) => architecture.name === name);
  if (found === undefined) {
    throw new M40Error(
      "unsupported",
      `${gguf.path}: architecture ${JSON.stringify(name)} is not known; ` +
        `known: ${architectureNames().join(", ")}`,
    );
  }
  return found;
}
