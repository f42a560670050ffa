import { levenshteinDistance } from "@std/text/levenshtein-distance";
import { M40Error } from "../errors.ts";
import { assertModel, type Gguf, quoteKey } from "../gguf/mod.ts";
import * as families from "./families.ts";
import type { Architecture } from "./model.ts";

const ARCHITECTURES: readonly Architecture[] = Object.values(families);

/** The names of the architectures that the engine knows. */
export function architectureNames(): string[] {
  return ARCHITECTURES.map((architecture) => architecture.name);
}

/**
 * The architecture of a file.
 *
 * @throws {M40Error} "unsupported" where the engine does not know it, or the file is no model; "invalid_model"
 * where the file does not say.
 */
export function architectureOf(gguf: Gguf): Architecture {
  assertModel(gguf);
  const name = gguf.metadata.string("general.architecture");
  const found = ARCHITECTURES.find((architecture) => architecture.name === name);
  if (found === undefined) {
    const like = alike(name);
    throw new M40Error(
      "unsupported",
      `${gguf.path}: architecture ${quoteKey(name)} is not known` +
        (like.length > 0 ? `; the nearest that are: ${like.join(", ")}` : "") +
        ". docs/models.md lists those that are, and the models that have them.",
    );
  }
  return found;
}

/** The known names that are most like another, the nearest first, three at most. */
function alike(name: string): string[] {
  // The distance of long names takes their length squared, and they are like none.
  if (name.length > 40) return [];
  return architectureNames()
    .map((known) => ({ known, distance: levenshteinDistance(name, known) }))
    .filter(({ known, distance }) => distance <= Math.max(2, known.length / 3))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, 3)
    .map(({ known }) => known);
}
