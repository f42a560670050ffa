import { Metadata, type MetadataEntry, quoteKey } from "./metadata.ts";
import { bytesSource, type GgufSource, HeaderCursor } from "./source.ts";
import {
  GGML_TYPES,
  tensorBytes,
  type TensorType,
  unknownTensorType,
  unsupportedTensor,
} from "./types.ts";
import { readEntry } from "./values.ts";

/** A tensor's place in a GGUF file. */
export interface GgufTensor {
  readonly name: string;
  readonly type: TensorType;
  /** Weights in each dimension as in the file: columns (innermost) first. One to four numbers. */
  readonly shape: readonly number[];
  /** Which file it is in: an index in {@link Gguf.files}. */
  readonly file: number;
  /** Where its data starts, in bytes from the start of that file. */
  readonly offset: number;
  /** The length of its data in bytes. */
  readonly bytes: number;
}

/** One of the files that a model is in. */
export interface GgufFile {
  readonly path: string;
  readonly bytes: number;
  /**
   * What distinguishes it from another file in its place: by which file, and when written; absent where it was not read
   * from a disk.
   */
  readonly stamp?: string;
}

/** What the header of a GGUF file says, or those of all files of a model that is in several. */
export interface Gguf {
  /** The first file. */
  readonly path: string;
  /** All files, in order; mostly one. */
  readonly files: readonly GgufFile[];
  /** The version of the format: 2 or 3. */
  readonly version: number;
  readonly metadata: Metadata;
  /** The tensors by name, in the order of the header. */
  readonly tensors: ReadonlyMap<string, GgufTensor>;
  /** In the first file, every tensor starts at a multiple of this many bytes after {@link dataOffset}. */
  readonly alignment: number;
  /** Where the tensors' data starts, in bytes from the start of the first file. */
  readonly dataOffset: number;
  /** Bytes of all files. */
  readonly fileBytes: number;
  /** Sentences for people: what of the files was translated or left out when they were read. */
  readonly notes?: readonly string[];
  /** The metadata that was given in addition to the files, as it was written there. */
  readonly overrides?: readonly string[];
}

/** Options of reading a header. */
export interface ReadGgufOptions {
  /** Accept tensors of types that m40 cannot compute with, or does not know; for looking at a file. */
  anyType?: boolean;
}

const MAX_DIMENSIONS = 4;
const MAX_NAME_BYTES = 65535;
const DEFAULT_ALIGNMENT = 32;
/** The shortest that a key-value pair and a tensor's record can be, in bytes. */
const MIN_PAIR_BYTES = 8 + 1 + 4 + 1;
const MIN_TENSOR_BYTES = 8 + 1 + 4 + 8 + 4 + 8;
/** No real file has this many keys or tensors; each costs much more memory than its bytes in the file. */
export const MAX_COUNT = 2 ** 20;

/**
 * Reads the header of one GGUF file from any source: metadata and the table of tensors, whose offsets are checked
 * against the length of the source.
 *
 * @throws {M40Error} `invalid_model` where it is not a GGUF that m40 reads, and says why.
 * @param path What to call the source in errors.
 */
export function parseGguf(
  source: GgufSource | Uint8Array,
  path: string,
  options: ReadGgufOptions = {},
): Gguf {
  if (source instanceof Uint8Array) source = bytesSource(source);
  const cursor = new HeaderCursor(source, path);
  const version = readVersion(cursor);
  const tensorCount = readCount(cursor, "tensors", MIN_TENSOR_BYTES);
  const pairCount = readCount(cursor, "key-value pairs", MIN_PAIR_BYTES);

  const entries = new Map<string, MetadataEntry>();
  for (let i = 0; i < pairCount; i++) {
    const key = readName(cursor, `key ${i + 1} of ${pairCount}`);
    if (entries.has(key)) throw cursor.fail(`metadata ${quoteKey(key)} appears twice`);
    entries.set(key, readEntry(cursor, key));
  }
  const metadata = new Metadata(entries, path);
  const alignment = readAlignment(metadata, cursor);

  const tensors = new Map<string, GgufTensor>();
  for (let i = 0; i < tensorCount; i++) {
    const name = readName(cursor, `the name of tensor ${i + 1} of ${tensorCount}`);
    if (tensors.has(name)) throw cursor.fail(`tensor ${quoteKey(name)} appears twice`);
    tensors.set(name, readTensor(cursor, name, options));
  }

  const dataOffset = Math.ceil(cursor.position / alignment) * alignment;
  for (const [name, tensor] of tensors) {
    tensors.set(name, { ...tensor, offset: dataOffset + tensor.offset });
  }
  checkPlaces(measured(tensors, source.size), dataOffset, alignment, cursor);
  const { size } = source;
  return {
    path,
    files: [{ path, bytes: size }],
    version,
    metadata,
    tensors,
    alignment,
    dataOffset,
    fileBytes: size,
  };
}

/** The version that a file says it has, behind the magic; only those that are read. */
export function readVersion(cursor: HeaderCursor): number {
  if (cursor.source.size === 0) throw cursor.fail("the file is empty; wanted a GGUF file");
  const start = cursor.take(Math.min(cursor.source.size, 4), "the magic");
  const magic = String.fromCharCode(...start);
  if (magic !== "GGUF") throw cursor.fail(`not a GGUF file: ${describeMagic(magic, start)}`);
  const version = cursor.uint32("the version");
  if (version === 2 || version === 3) return version;
  // A version is a small number, so one with only its high bytes set was written the other way round.
  if (version !== 0 && (version & 0xffff) === 0) {
    throw cursor.fail(
      `a big-endian GGUF file (version ${swap32(version)}); m40 reads little-endian files: ` +
        "convert it, or download the little-endian one",
    );
  }
  if (version === 1) {
    throw cursor.fail("GGUF version 1, which is obsolete; m40 reads versions 2 and 3: convert it");
  }
  throw cursor.fail(
    `GGUF version ${version}; m40 reads versions 2 and 3` +
      (version > 3 ? ": the file is damaged, or newer than this program" : ": the file is damaged"),
  );
}

function describeMagic(magic: string, bytes: Uint8Array): string {
  if (magic === "vers") return "a Git LFS pointer; fetch the file itself with `git lfs pull`";
  if (/^(<!|<h)/i.test(magic)) return "a web page; the download did not fetch the model";
  if (/^(lmgg|fmgg|tjgg|algg)$/.test(magic)) {
    return `an older GGML format ("${[...magic].reverse().join("")}"); convert it to GGUF`;
  }
  if (magic.startsWith("PK")) return "a zip archive, perhaps a PyTorch model; convert it to GGUF";
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
  return `it starts with the bytes ${hex}, wanted 47 47 55 46 ("GGUF")`;
}

function swap32(value: number): number {
  return (((value & 0xff) << 24) | ((value & 0xff00) << 8) | ((value >>> 8) & 0xff00) |
    (value >>> 24)) >>> 0;
}

/** A count of records that are at least `minBytes` long each, checked against what is left of the file. */
function readCount(cursor: HeaderCursor, what: string, minBytes: number): number {
  const count = cursor.size(`the number of ${what}`);
  if (count > cursor.remaining / minBytes) {
    throw cursor.fail(
      `the header promises ${count} ${what}, but a file of ${cursor.source.size} bytes has no ` +
        "room for them: it is truncated or damaged",
    );
  }
  if (count > MAX_COUNT) {
    throw cursor.fail(
      `the header promises ${count} ${what}; m40 reads files of up to ${MAX_COUNT}`,
    );
  }
  return count;
}

const strictDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A metadata key or a tensor's name: not empty, and UTF-8, because it is compared. */
export function readName(cursor: HeaderCursor, what: string): string {
  const length = cursor.size(`the length of ${what}`);
  if (length === 0 || length > MAX_NAME_BYTES) {
    throw cursor.fail(`${what} is ${length} bytes long, wanted 1 to ${MAX_NAME_BYTES}`);
  }
  const bytes = cursor.take(length, what);
  try {
    return strictDecoder.decode(bytes);
  } catch {
    throw cursor.fail(`${what} is not UTF-8: the file is damaged`);
  }
}

function readAlignment(metadata: Metadata, cursor: HeaderCursor): number {
  const alignment = metadata.integer("general.alignment", DEFAULT_ALIGNMENT);
  if (!(alignment >= 1 && alignment <= 2 ** 30 && Number.isInteger(Math.log2(alignment)))) {
    throw cursor.fail(
      `metadata "general.alignment": got ${alignment}, wanted a power of two up to 2^30`,
    );
  }
  return alignment;
}

/** A tensor's record; its offset is still counted from the start of the data. */
function readTensor(cursor: HeaderCursor, name: string, options: ReadGgufOptions): GgufTensor {
  const what = `tensor ${quoteKey(name)}`;
  const dimensions = cursor.uint32(`the number of dimensions of ${what}`);
  if (dimensions < 1 || dimensions > MAX_DIMENSIONS) {
    throw cursor.fail(`${what} has ${dimensions} dimensions, wanted 1 to ${MAX_DIMENSIONS}`);
  }
  const shape: number[] = [];
  let weights = 1;
  for (let i = 0; i < dimensions; i++) {
    const size = cursor.size(`dimension ${i + 1} of ${what}`);
    shape.push(size);
    weights *= size;
    if (!Number.isSafeInteger(weights)) {
      throw cursor.fail(`${what} has the shape [${shape}]: more weights than can be counted`);
    }
  }
  const type = readTensorType(cursor, what, options);
  if (type.supported && shape[0] % type.blockSize !== 0) {
    throw cursor.fail(
      `${what} has rows of ${shape[0]} weights, which is not a multiple of the ` +
        `${type.blockSize} that a block of ${type.name} holds`,
    );
  }
  const bytes = Math.ceil(tensorBytes(type, weights));
  if (!Number.isSafeInteger(bytes)) {
    throw cursor.fail(`${what} has the shape [${shape}]: more bytes than can be counted`);
  }
  const offset = cursor.size(`the offset of ${what}`);
  return { name, type, shape, file: 0, offset, bytes };
}

function readTensorType(
  cursor: HeaderCursor,
  what: string,
  { anyType = false }: ReadGgufOptions,
): TensorType {
  const id = cursor.uint32(`the type of ${what}`);
  const type = GGML_TYPES[id];
  if (type && (type.supported || anyType)) return type;
  if (anyType) return unknownTensorType(id);
  throw cursor.fail(unsupportedTensor(what, id));
}

/**
 * The tensors in the order of their data. Files of forks have blocks of other sizes under the numbers of types that m40
 * does not compute with. Such a tensor has no more than the bytes up to the next one.
 */
function measured(tensors: Map<string, GgufTensor>, fileBytes: number): GgufTensor[] {
  const sorted = [...tensors.values()].sort((a, b) => a.offset - b.offset || a.bytes - b.bytes);
  return sorted.map((tensor, i) => {
    if (tensor.type.supported) return tensor;
    const room = Math.max(0, (sorted[i + 1]?.offset ?? fileBytes) - tensor.offset);
    const known = tensor.type.typeSize > 0;
    if (known && tensor.bytes <= room) return tensor;
    // The last tensor's room is the file's end, which says whether a file is complete.
    if (known && i === sorted.length - 1) return tensor;
    const bounded = { ...tensor, bytes: room };
    tensors.set(tensor.name, bounded);
    return bounded;
  });
}

/** Checks that every tensor lies within the file, aligned, and apart from the others. */
function checkPlaces(
  tensors: readonly GgufTensor[],
  dataOffset: number,
  alignment: number,
  cursor: HeaderCursor,
): void {
  const { size } = cursor.source;
  tensors.forEach((tensor, i) => {
    const what = `tensor ${quoteKey(tensor.name)}`;
    if ((tensor.offset - dataOffset) % alignment !== 0) {
      throw cursor.fail(
        `${what} starts ${tensor.offset - dataOffset} bytes into the data, which is not a ` +
          `multiple of the alignment, ${alignment}`,
      );
    }
    // Not offset + bytes > size: the sum may lie beyond what a number counts exactly.
    if (tensor.offset > size || tensor.bytes > size - tensor.offset) {
      throw cursor.fail(
        `the data of ${what} (${tensor.bytes} bytes from byte ${tensor.offset} on) lies outside ` +
          `of the file, which has ${size} bytes: it is truncated or damaged; download it again`,
      );
    }
    const before = tensors[i - 1];
    if (before && before.offset + before.bytes > tensor.offset) {
      throw cursor.fail(
        `the data of tensors ${quoteKey(before.name)} and ${quoteKey(tensor.name)} overlaps at ` +
          `byte ${tensor.offset}: the file is damaged`,
      );
    }
  });
}
