/** Headers of several files as that of the model that they are parts of. */
import { basename } from "@std/path";
import { M40Error } from "../errors.ts";
import { type Gguf, type GgufTensor, MAX_COUNT } from "./header.ts";
import { type Metadata, quoteKey } from "./metadata.ts";
import { MAX_PARTS, type Part } from "./part_names.ts";

/** Which part of its model a header says that it is; 1 of 1 where it knows of no parts. */
export function partOf({ metadata }: Gguf): Part {
  // Tools that join parts leave 0 behind.
  const count = metadata.integer("split.count", 1, { min: 0, max: MAX_PARTS });
  if (count <= 1) return { number: 1, count: 1 };
  return { number: 1 + metadata.integer("split.no", undefined, { min: 0, max: count - 1 }), count };
}

/**
 * Fails where a file is not the part that its name says.
 *
 * @throws {M40Error} `invalid_model`
 */
export function checkPart(gguf: Gguf, named: Part): void {
  const { number, count } = partOf(gguf);
  if (number === named.number && count === named.count) return;
  throw fault(
    gguf.path,
    `named as part ${named.number} of ${named.count}, but its header ` +
      (count === 1
        ? "knows of no parts: it is a whole model under a wrong name, or not what its name says; " +
          "rename it, or download it again"
        : `says part ${number} of ${count}: it is of another model, or was renamed; ` +
          "download it again"),
  );
}

/**
 * The header of a model in several files, out of theirs in order; the metadata is the first one's.
 *
 * @throws {M40Error} `invalid_model` where they are not the parts of one model, each with a tensor table
 * of its own.
 */
export function joinParts(parts: readonly Gguf[]): Gguf {
  const [first] = parts;
  const promised = promisedTensors(first);
  const tensors = new Map<string, GgufTensor>();
  parts.forEach((part, file) => {
    if (promisedTensors(part) !== promised) {
      throw fault(
        part.path,
        `its header says that all parts together have ${describeCount(promisedTensors(part))}, ` +
          `${basename(first.path)} says ${describeCount(promised)}: they are of different models`,
      );
    }
    checkMetadata(part, first);
    for (const [name, tensor] of part.tensors) {
      const other = tensors.get(name);
      if (other !== undefined) {
        throw fault(
          part.path,
          `tensor ${quoteKey(name)} is in ${basename(parts[other.file].path)} too: ` +
            "they are parts of different models",
        );
      }
      tensors.set(name, { ...tensor, file });
    }
    if (tensors.size > MAX_COUNT) {
      throw fault(part.path, `with it the parts have more than ${MAX_COUNT} tensors`);
    }
  });
  if (promised !== undefined && tensors.size !== promised) {
    throw fault(
      first.path,
      `its header promises ${promised} tensors in ${parts.length} parts, but they have ` +
        `${tensors.size}: they are of different models, or damaged; download them again`,
    );
  }
  return {
    ...first,
    tensors,
    files: parts.flatMap(({ files }) => files),
    fileBytes: parts.reduce((sum, { fileBytes }) => sum + fileBytes, 0),
  };
}

function promisedTensors({ metadata }: Gguf): number | undefined {
  const key = "split.tensors.count";
  return metadata.has(key) ? metadata.integer(key, undefined, { max: MAX_COUNT }) : undefined;
}

function describeCount(tensors: number | undefined): string {
  return tensors === undefined ? "nothing" : `${tensors} tensors`;
}

/** Later parts mostly say nothing of the model; what they say must be what the first one says. */
function checkMetadata({ path, metadata }: Gguf, first: Gguf): void {
  for (const key of metadata.keys()) {
    if (key.startsWith("split.") || key === "general.alignment") continue;
    if (!first.metadata.has(key)) continue;
    const [got, wanted] = [comparable(metadata, key), comparable(first.metadata, key)];
    if (got === wanted) continue;
    throw fault(
      path,
      `metadata ${quoteKey(key)} is ${got}, in ${basename(first.path)} it is ${wanted}: ` +
        "they are parts of different models",
    );
  }
}

/** A value in a form that distinguishes models; of lists the length does, and costs nothing to compare. */
function comparable(metadata: Metadata, key: string): string {
  const value = metadata.entry(key)?.value;
  if (typeof value === "object") return `a list of ${value.length}`;
  const text = typeof value === "string" ? JSON.stringify(value) : String(value);
  return text.length > 100 ? `${text.slice(0, 97)}... (${text.length} characters)` : text;
}

function fault(path: string, message: string): M40Error {
  return new M40Error("invalid_model", `${path}: ${message}`);
}
