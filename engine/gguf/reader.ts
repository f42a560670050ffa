import { basename, dirname, join } from "@std/path";
import { M40Error } from "../errors.ts";
import { systemReason } from "../system_error.ts";
import { type Gguf, parseGguf, type ReadGgufOptions } from "./header.ts";
import { joinAdvice, piecesOf, wholeOf } from "./cut_pieces.ts";
import { applyOverrides, type Override } from "./override.ts";
import { translateOllama } from "./ollama/mod.ts";
import { EXTENSION, joinFileName, type Part, splitFileName } from "./part_names.ts";
import { checkPart, joinParts, partOf } from "./parts.ts";
import { fileSource } from "./source.ts";

export {
  type Gguf,
  type GgufFile,
  type GgufTensor,
  parseGguf,
  type ReadGgufOptions,
} from "./header.ts";

/** Options of reading a model's files. */
export interface ReadFilesOptions extends ReadGgufOptions {
  /** Leave names as the file has them, though they are of another dialect than llama.cpp's; for looking at a file. */
  asWritten?: boolean;
  /** Values of metadata that replace the file's own, before its names are translated. */
  overrides?: readonly Override[];
}

/**
 * Reads the header of a GGUF file (version 2 or 3, little-endian): metadata and the table of tensors.
 * The tensors' data is not read, but its offset is checked against the length of the file.
 *
 * A model may be in several files, named `X-00001-of-00003.gguf` and so on. Whichever of them is given,
 * all of them are read, and the result is the whole model's. Names of other dialects become llama.cpp's.
 *
 * Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
 *
 * @throws {M40Error} `invalid_model` where a file is not a GGUF that m40 reads, or the parts are not all
 * there or not of one model, and says why; `invalid_request` for an override that does not fit;
 * `model_not_found` where there is no such file; `io` where it cannot be read.
 */
export async function readGguf(path: string, options: ReadFilesOptions = {}): Promise<Gguf> {
  const gguf = applyOverrides(await readFiles(path, options), options.overrides);
  return options.asWritten ? gguf : translateOllama(gguf);
}

/** Reads the headers of all files of a model, as they are. */
async function readFiles(path: string, options: ReadGgufOptions): Promise<Gguf> {
  await assertNotCut(path);
  const gguf = await readFile(path, options);
  const { part: named, stem } = splitFileName(basename(path)) ?? {};
  const said = partOf(gguf);
  if (named === undefined || stem === undefined) {
    if (said.count === 1) return gguf;
    throw new M40Error(
      "invalid_model",
      `${path}: its header says that it is part ${said.number} of ${said.count}, but the others are ` +
        `found by their names only; wanted one such as ${joinFileName("NAME", said)}` +
        joinedAdvice(gguf, said),
    );
  }
  checkPart(gguf, named);
  if (named.count === 1) return gguf;
  const paths = await partPaths(dirname(path), stem, named.count);
  const parts: Gguf[] = [];
  for (const [i, each] of paths.entries()) {
    const number = i + 1;
    const part = number === named.number ? gguf : await readFile(each, options);
    checkPart(part, { number, count: named.count });
    parts.push(part);
  }
  return joinParts(parts);
}

/** What helps where a part has more behind its own data: parts that were written one behind another. */
function joinedAdvice({ files, tensors, alignment }: Gguf, first: Part): string {
  const ends = tensors.values().map(({ offset, bytes }) => offset + bytes);
  const end = Math.ceil(ends.reduce((a, b) => Math.max(a, b), 0) / alignment) * alignment;
  const behind = files[0].bytes - end;
  if (first.number !== 1 || behind <= 0) return "";
  return `. There are ${behind} bytes behind its data: if the parts were put together by cat, they cannot be read ` +
    "so. Keep them side by side under their names, or put them together by llama.cpp's llama-gguf-split --merge";
}

/**
 * Fails where a path is a piece of a file that was cut up, or of the file itself where only its pieces are there.
 *
 * @throws {M40Error} `invalid_model`, with how they are joined.
 */
export async function assertNotCut(path: string): Promise<void> {
  const name = basename(path);
  const whole = wholeOf(name) ?? name;
  if (whole === name && !name.endsWith(EXTENSION)) return;
  if (whole === name && await Deno.stat(path).then(() => true, () => false)) return;
  const folder = dirname(path);
  const names: string[] = [];
  try {
    for await (const entry of Deno.readDir(folder)) if (entry.isFile) names.push(entry.name);
  } catch {
    return;
  }
  const pieces = piecesOf(whole, names);
  if (pieces.length === 0) return;
  throw new M40Error(
    "invalid_model",
    `${path} cannot be read as it is. ` +
      joinAdvice(join(folder, whole), pieces.map((piece) => join(folder, piece))),
  );
}

/**
 * Checks that what was read of files still holds: that none was replaced or written to since.
 *
 * @throws {M40Error} `invalid_model` where one was; `model_not_found` where one is gone; `io` where that cannot be
 * seen.
 */
export async function assertUnchanged({ files }: Gguf): Promise<void> {
  for (const { path, stamp } of files) {
    let info: Deno.FileInfo;
    try {
      info = await Deno.stat(path);
    } catch (error) {
      throw unreadable(path, error);
    }
    if (stamp === undefined || stamp === stampOf(info)) continue;
    throw new M40Error(
      "invalid_model",
      `${path} is not the file that the model was loaded from: it was replaced or written to since; ` +
        "unload the model, and it is loaded again",
    );
  }
}

function stampOf({ size, mtime, dev, ino }: Deno.FileInfo): string {
  return `${size} ${mtime?.getTime()} ${dev} ${ino}`;
}

/** The paths of all parts of a model; fails where some are missing, with which. */
async function partPaths(folder: string, stem: string, count: number): Promise<string[]> {
  const nameOf = (number: number) => joinFileName(stem, { number, count });
  const missing: string[] = [];
  const paths: string[] = [];
  for (let number = 1; number <= count; number++) {
    const path = join(folder, nameOf(number));
    paths.push(path);
    try {
      await Deno.stat(path);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) continue;
      missing.push(nameOf(number));
    }
  }
  if (missing.length === 0) return paths;
  const shown = missing.slice(0, 5).join(", ") + (missing.length > 5 ? ", …" : "");
  throw new M40Error(
    "invalid_model",
    `${join(folder, nameOf(1))}: the model is in ${count} files, and ${missing.length} of them ` +
      `${missing.length === 1 ? "is" : "are"} missing from ${folder}: ${shown}; ` +
      "all are needed: download what is missing",
  );
}

/** Reads the header of one file. */
async function readFile(path: string, options: ReadGgufOptions): Promise<Gguf> {
  try {
    const info = await Deno.stat(path);
    if (!info.isFile) {
      throw new M40Error("invalid_model", `${path}: not a file; wanted a GGUF file`);
    }
    using file = await Deno.open(path, { read: true });
    const gguf = parseGguf(fileSource(file, info.size), path, options);
    return { ...gguf, files: gguf.files.map((one) => ({ ...one, stamp: stampOf(info) })) };
  } catch (error) {
    throw unreadable(path, error);
  }
}

function unreadable(path: string, error: unknown): M40Error {
  if (error instanceof M40Error) return error;
  if (error instanceof Deno.errors.NotFound) {
    return new M40Error("model_not_found", `${path}: there is no such file`);
  }
  return new M40Error("io", `${path}: cannot be read: ${systemReason(error)}`);
}
