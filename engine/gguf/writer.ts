import {
  Metadata,
  type MetadataEntry,
  type MetadataValue,
  NestedArray,
  quoteKey,
} from "./metadata.ts";
import { StringArray } from "./string_array.ts";
import { tensorBytes, type TensorType, VALUE_TYPES } from "./types.ts";
import { ARRAY_TYPES, type ElementType, valueBytes } from "./values.ts";

/** A tensor to write. */
export interface GgufTensorInput {
  readonly name: string;
  readonly type: TensorType;
  /** Weights in each dimension, columns (innermost) first. */
  readonly shape: readonly number[];
  /**
   * Its data, as it shall lie in the file. A function is called when the tensor's turn has come and
   * may give it in pieces, so that a file of any size is written without holding it in memory.
   */
  readonly data: Uint8Array | (() => Iterable<Uint8Array> | AsyncIterable<Uint8Array>);
}

/** What {@link writeGguf} writes. */
export interface GgufInput {
  /** Keys and values in the order of the file. `general.alignment`, where given, is obeyed. */
  readonly metadata: Metadata | Iterable<readonly [string, MetadataEntry]>;
  readonly tensors: readonly GgufTensorInput[];
}

const VERSION = 3;
const MAX_DIMENSIONS = 4;

/**
 * Writes a GGUF file (version 3, little-endian). The file appears under its name when it is
 * complete: until then, and after an error, there is no new file and an older one stays as it was.
 *
 * Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
 *
 * @returns The length of the file in bytes.
 * @throws {RangeError} where a tensor's shape is not one of its type, a name appears twice, or the
 * data is longer or shorter than the shape says.
 */
export async function writeGguf(path: string, input: GgufInput): Promise<number> {
  const metadata = input.metadata instanceof Metadata
    ? input.metadata
    : new Metadata(checkKeys(input.metadata));
  const alignment = metadata.integer("general.alignment", 32, { min: 1, max: 2 ** 30 });
  if (!Number.isInteger(Math.log2(alignment))) {
    throw new RangeError(`general.alignment is ${alignment}, wanted a power of two`);
  }
  const header = encodeHeader(metadata, input.tensors, alignment);
  const partial = `${path}.partial`;
  try {
    using file = await Deno.open(partial, { write: true, create: true, truncate: true });
    await writeAll(file, header);
    let position = header.length;
    for (const tensor of input.tensors) {
      position += await pad(file, position, alignment);
      position += await writeTensor(file, tensor);
    }
    position += await pad(file, position, alignment);
    await Deno.rename(partial, path);
    return position;
  } catch (error) {
    await Deno.remove(partial).catch(() => {});
    throw error;
  }
}

function* checkKeys(entries: Iterable<readonly [string, MetadataEntry]>) {
  const seen = new Set<string>();
  for (const [key, value] of entries) {
    if (key === "" || seen.has(key)) {
      throw new RangeError(
        `metadata ${quoteKey(key)} ${key === "" ? "is empty" : "appears twice"}`,
      );
    }
    seen.add(key);
    yield [key, value] as const;
  }
}

/** The bytes of a tensor's data; throws where its shape is not one that its type can have. */
function inputBytes({ name, type, shape }: GgufTensorInput): number {
  const weights = shape.reduce((product, size) => product * size, 1);
  if (
    shape.length < 1 || shape.length > MAX_DIMENSIONS || !Number.isSafeInteger(weights) ||
    !shape.every((size) => Number.isInteger(size) && size >= 0) || shape[0] % type.blockSize !== 0
  ) {
    throw new RangeError(
      `tensor ${quoteKey(name)} of type ${type.name} has the shape [${shape}], wanted 1 to ` +
        `${MAX_DIMENSIONS} whole numbers from 0 on, the first a multiple of ${type.blockSize}`,
    );
  }
  return tensorBytes(type, weights);
}

/**
 * The header of a GGUF file, up to the padding before its data.
 *
 * @throws {RangeError} As {@link writeGguf} does.
 */
export function encodeHeader(
  metadata: Metadata,
  tensors: readonly GgufTensorInput[],
  alignment: number,
): Uint8Array {
  const out = new ByteWriter();
  out.bytes(new TextEncoder().encode("GGUF"));
  out.uint32(VERSION);
  out.uint64(tensors.length);
  out.uint64(metadata.size);
  for (const [key, entry] of metadata.entries()) {
    out.string(key);
    writeEntry(out, entry);
  }
  const names = new Set<string>();
  let offset = 0;
  for (const tensor of tensors) {
    const { name, shape, type } = tensor;
    if (name === "" || names.has(name)) {
      throw new RangeError(
        `tensor ${quoteKey(name)} ${name === "" ? "is empty" : "appears twice"}`,
      );
    }
    names.add(name);
    out.string(name);
    out.uint32(shape.length);
    for (const size of shape) out.uint64(size);
    out.uint32(type.id);
    out.uint64(offset);
    offset = Math.ceil((offset + inputBytes(tensor)) / alignment) * alignment;
  }
  return out.finish();
}

function writeEntry(out: ByteWriter, entry: MetadataEntry): void {
  const { type, value } = entry;
  out.uint32(VALUE_TYPES.indexOf(type));
  if (type !== "array") return writeScalar(out, type, value);
  writeArray(out, entry);
}

function writeArray(out: ByteWriter, { element, value }: MetadataEntry): void {
  out.uint32(VALUE_TYPES.indexOf(element!));
  out.uint64((value as { length: number }).length);
  if (value instanceof NestedArray) {
    for (const item of value.items) writeArray(out, item);
  } else if (value instanceof StringArray) {
    for (let i = 0; i < value.length; i++) out.sized(value.bytes(i));
  } else if (ArrayBuffer.isView(value)) {
    out.bytes(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
  } else {
    for (const item of value as boolean[]) writeScalar(out, "bool", item);
  }
}

function writeScalar(out: ByteWriter, type: ElementType, value: MetadataValue) {
  if (type === "string") return out.string(value as string);
  const bytes = new Uint8Array(valueBytes(type));
  if (type === "bool") bytes[0] = value ? 1 : 0;
  else {
    const wide = type === "uint64" || type === "int64";
    const view = new ARRAY_TYPES[type](bytes.buffer);
    (view as { [index: number]: number | bigint })[0] = wide
      ? BigInt(value as number | bigint)
      : value as number;
  }
  out.bytes(bytes);
}

async function writeTensor(file: Deno.FsFile, tensor: GgufTensorInput): Promise<number> {
  const wanted = inputBytes(tensor);
  const pieces = tensor.data instanceof Uint8Array ? [tensor.data] : tensor.data();
  let written = 0;
  for await (const piece of pieces) {
    written += piece.length;
    if (written > wanted) break;
    await writeAll(file, piece);
  }
  if (written !== wanted) {
    throw new RangeError(
      `tensor ${quoteKey(tensor.name)} has ${written > wanted ? "more than " : ""}` +
        `${Math.min(written, wanted)} bytes of data, wanted ${wanted} for the shape ` +
        `[${tensor.shape}] in ${tensor.type.name}`,
    );
  }
  return written;
}

async function pad(file: Deno.FsFile, position: number, alignment: number): Promise<number> {
  const padding = Math.ceil(position / alignment) * alignment - position;
  await writeAll(file, new Uint8Array(padding));
  return padding;
}

async function writeAll(file: Deno.FsFile, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
}

/** Bytes that grow as they are written. */
class ByteWriter {
  #buffer = new Uint8Array(64 * 1024);
  #length = 0;
  readonly #encoder = new TextEncoder();

  bytes(bytes: Uint8Array): void {
    this.#room(bytes.length);
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  uint32(value: number): void {
    this.#room(4);
    new DataView(this.#buffer.buffer).setUint32(this.#length, value, true);
    this.#length += 4;
  }

  uint64(value: number): void {
    this.uint32(value % 0x100000000);
    this.uint32(Math.floor(value / 0x100000000));
  }

  /** Bytes after their number. */
  sized(bytes: Uint8Array): void {
    this.uint64(bytes.length);
    this.bytes(bytes);
  }

  string(text: string): void {
    this.sized(this.#encoder.encode(text));
  }

  finish(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  #room(count: number): void {
    if (this.#length + count <= this.#buffer.length) return;
    const larger = new Uint8Array(Math.max(this.#length + count, this.#buffer.length * 2));
    larger.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = larger;
  }
}
