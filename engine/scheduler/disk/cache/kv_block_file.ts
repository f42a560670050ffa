/**
 * A KV block's file: a header, then the KV block as the device's library gives it (`m40_cache_save_kv_blocks`). Numbers
 * are little-endian.
 *
 * | offset | bytes |                                                                        |
 * | ------ | ----- | ---------------------------------------------------------------------- |
 * | 0      | 8     | "m40 KV", 0, the format's version                                      |
 * | 8      | 4     | the CRC-32 of the header's bytes from 12 on                            |
 * | 12     | 4     | bytes of the header, a multiple of 4096                                |
 * | 16     | 8     | bytes of the KV block                                                      |
 * | 24     | 4     | how many of the KV block's tokens were computed as prompt rows             |
 * | 28     | 4     | the group of layers; 16: no KV block, but the state after it               |
 * | 32     | 32    | the origin that the bits depend on, a SHA-256                          |
 * | 64     | 32    | the prefix's hash, a SHA-256                                           |
 * | 96     | 4     | bytes of a block                                                       |
 * | 100    | 4 n   | the CRC-32 of each block of the KV block, the last of which may be shorter |
 *
 * CRC-32 takes less than a tenth of the time that SHA-256 takes, which on processors as old as the M40 has no
 * instructions of its own: 4 MiB would hold up the event loop for 10 ms. It guards against damage, not against
 * a program that may write to the folder; a hash without a key would not, either.
 *
 * @module
 */
import { crc32 } from "node:zlib";
import type { KvBlockName } from "./kv_block_name.ts";

/** The version of the format; raised with any change to it, or to what keys are made of. */
export const FORMAT_VERSION = 1;

const MAGIC = [..."m40 KV"].map((letter) => letter.charCodeAt(0));
const BLOCK_BYTES = 65536;
const ALIGNMENT = 4096;
const TABLE_OFFSET = 100;
/** A state may be as large as many KV blocks: after so many bytes others have their turn on the event loop. */
const BYTES_AT_ONCE = 4 * 2 ** 20;

/** Bytes of a header before a KV block of so many bytes. */
export function headerBytes(kvBlockBytes: number): number {
  const bytes = TABLE_OFFSET + 4 * Math.ceil(kvBlockBytes / BLOCK_BYTES);
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
}

/** The header of a KV block's file; `identity` is its origin's hash, in hexadecimal. */
export async function encodeHeader(
  identity: string,
  { hash, promptRows, group }: KvBlockName,
  kvBlock: Uint8Array,
): Promise<Uint8Array<ArrayBuffer>> {
  const header = new Uint8Array(headerBytes(kvBlock.length));
  const view = new DataView(header.buffer);
  header.set([...MAGIC, 0, FORMAT_VERSION]);
  view.setUint32(12, header.length, true);
  view.setBigUint64(16, BigInt(kvBlock.length), true);
  view.setUint32(24, promptRows, true);
  view.setUint32(28, group, true);
  header.set(Uint8Array.fromHex(identity), 32);
  header.set(Uint8Array.fromHex(hash), 64);
  view.setUint32(96, BLOCK_BYTES, true);
  for (let i = 0; i * BLOCK_BYTES < kvBlock.length; i++) {
    if (i > 0 && i * BLOCK_BYTES % BYTES_AT_ONCE === 0) await new Promise((go) => setTimeout(go));
    const block = kvBlock.subarray(i * BLOCK_BYTES, (i + 1) * BLOCK_BYTES);
    view.setUint32(TABLE_OFFSET + 4 * i, crc32(block), true);
  }
  view.setUint32(8, crc32(header.subarray(12)), true);
  return header;
}

/** Whether a header that was read is that of a KV block, and the KV block as it was written. */
export async function isUndamaged(
  header: Uint8Array,
  identity: string,
  name: KvBlockName,
  kvBlock: Uint8Array,
): Promise<boolean> {
  const expected = await encodeHeader(identity, name, kvBlock);
  return header.length === expected.length && header.every((byte, i) => byte === expected[i]);
}
