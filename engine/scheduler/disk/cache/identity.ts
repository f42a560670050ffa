import { createHash } from "node:crypto";
import type { CacheDesc, DeviceInfo } from "../../../device/mod.ts";
import type { Gguf } from "../../../gguf/mod.ts";
import { encodeOperations, type Program } from "../../../program/mod.ts";
import { FORMAT_VERSION } from "./kv_block_file.ts";

/** Of a tensor, the bytes of a sample and how many of them are taken. */
const SAMPLE_BYTES = 4096;
const SAMPLES = 4;
const CHUNK_BYTES = 2 ** 20;

/** The origin of KV blocks: all that their bits depend on, except their tokens. */
export interface Origin {
  readonly gguf: Gguf;
  readonly program: Program;
  readonly cache: CacheDesc;
  /** The kernel library's file. */
  readonly libraryPath: string;
  readonly device: DeviceInfo;
  /**
   * Of a model over several cards what each has, in their order; the library and the device above are the first one's.
   * A KV block's parts lie one after the other, so KV blocks are others where layers are split otherwise.
   */
  readonly parts?: readonly OriginPart[];
}

/** A card and the layers and states that are on it. */
export interface OriginPart {
  readonly libraryPath: string;
  readonly device: DeviceInfo;
  readonly cacheLayers: readonly number[];
  readonly states: readonly number[];
  /** KV heads of each of these layers that it has, where they are shared out. */
  readonly kvHeads?: readonly number[];
}

/**
 * Describes the origin of KV blocks, readable by a person. The hash of it identifies them.
 *
 * The model counts by its program, and by the type, the shape and samples of each tensor: all data up to 16 KiB, else
 * four times 4 KiB. So a file is recognised under another name, and with another chat template. A file that differs
 * only in tensor data between the samples is not recognised as another; training, merging or quantising changes data everywhere.
 *
 * @throws Where a file cannot be read.
 */
export async function describeOrigin(origin: Origin): Promise<Record<string, unknown>> {
  const { gguf, program, cache, libraryPath, device, parts } = origin;
  const weights = program.weights.map((_, i) => i);
  // How many KV blocks and slots there are changes none of them.
  const layout = Object.entries(cache).filter(([key]) => key !== "n_kv_blocks" && key !== "slots");
  return {
    format: FORMAT_VERSION,
    model: {
      name: gguf.metadata.string("general.name", ""),
      program: hashOf(
        encodeOperations(program.operations, weights),
        JSON.stringify(program.buffers),
      ),
      weights: await hashWeights(gguf, program),
    },
    // Overrides that change results are in the program too; the others are all included here.
    ...(gguf.overrides === undefined ? {} : { overrides: gguf.overrides }),
    library: await hashFile(libraryPath),
    device: factsOf(device),
    cache: Object.fromEntries(layout),
    ...(parts === undefined ? {} : { parts: await Promise.all(parts.map(describePart)) }),
  };
}

async function describePart({ libraryPath, device, ...kept }: OriginPart) {
  return { library: await hashFile(libraryPath), device: factsOf(device), ...kept };
}

/** What of a device the bits that it computes may depend on. */
function factsOf({ name, computeCapability, multiprocessors, driver, instructionSet }: DeviceInfo) {
  return { name, computeCapability, multiprocessors, driver, instructionSet };
}

/** The hash of a description. */
export function identityOf(description: Record<string, unknown>): string {
  return hashOf(JSON.stringify(description));
}

function hashOf(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("hex");
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  using file = await Deno.open(path, { read: true });
  const chunk = new Uint8Array(CHUNK_BYTES);
  for (let count; (count = await file.read(chunk)) !== null;) hash.update(chunk.subarray(0, count));
  return hash.digest("hex");
}

async function hashWeights(gguf: Gguf, { weights }: Program): Promise<string> {
  const hash = createHash("sha256");
  const files: Deno.FsFile[] = [];
  try {
    for (const { path } of gguf.files) files.push(await Deno.open(path, { read: true }));
    for (const { tensor, desc } of weights) {
      hash.update(JSON.stringify([desc, tensor.bytes]));
      for (const start of sampleOffsets(tensor.bytes)) {
        const sample = new Uint8Array(Math.min(SAMPLE_BYTES, tensor.bytes - start));
        await readAt(files[tensor.file], tensor.offset + start, sample);
        hash.update(sample);
      }
    }
  } finally {
    files.forEach((file) => file.close());
  }
  return hash.digest("hex");
}

/** Where samples of so many bytes begin. */
function sampleOffsets(bytes: number): number[] {
  if (bytes <= SAMPLES * SAMPLE_BYTES) {
    return Array.from({ length: Math.ceil(bytes / SAMPLE_BYTES) }, (_, i) => i * SAMPLE_BYTES);
  }
  const last = bytes - SAMPLE_BYTES;
  return Array.from({ length: SAMPLES }, (_, i) => Math.floor(last * i / (SAMPLES - 1)));
}

async function readAt(file: Deno.FsFile, offset: number, into: Uint8Array): Promise<void> {
  await file.seek(offset, Deno.SeekMode.Start);
  for (let filled = 0; filled < into.length;) {
    const count = await file.read(into.subarray(filled));
    if (count === null) throw new Error("the model's file has become shorter");
    filled += count;
  }
}
