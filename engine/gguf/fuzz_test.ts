import { assert, assertEquals, assertGreater, assertLess } from "@std/assert";
import { golden, GOLDEN_NAMES } from "../../tests/fixtures/goldens.ts";
import { randomOf } from "../../tools/fuzz/mutate.ts";
import { M40Error } from "../errors.ts";
import { type Gguf, parseGguf } from "./reader.ts";

// More cases: M40_FUZZ_CASES=1000000. Others: M40_FUZZ_SEED=2. A failure prints the seed of its case;
// M40_FUZZ_CASES=1 with that seed runs it alone.
const CASES = Number(Deno.env.get("M40_FUZZ_CASES") ?? 10_000);
const SEED = Number(Deno.env.get("M40_FUZZ_SEED") ?? 1);

/** A header with what is before it known to be good, and the length of the file it came from. */
interface Seedling {
  name: string;
  header: Uint8Array<ArrayBuffer>;
  fileBytes: number;
  /** Where counts, lengths, types and dimensions lie: mutated more often than chance would. */
  places: number[];
}

const EXTREMES: bigint[] = [
  0n,
  1n,
  2n,
  4n,
  5n,
  0x7fn,
  0xffn,
  0x7fffn,
  0xffffn,
  0x10000n,
  0x7fffffffn,
  0x80000000n,
  0xffffffffn,
  0x100000000n,
  2n ** 40n,
  2n ** 53n - 1n,
  2n ** 53n,
  2n ** 60n,
  2n ** 61n,
  2n ** 63n - 1n,
  2n ** 63n,
  2n ** 64n - 1n,
];

/** Finds the positions of the numbers in a header by its known structure: 8 bytes that are small. */
function numberPlaces(header: Uint8Array): number[] {
  const view = new DataView(header.buffer, header.byteOffset, header.byteLength);
  const places = [4, 8, 16];
  for (let at = 24; at + 8 <= header.length; at++) {
    if (view.getUint32(at + 4, true) === 0 && view.getUint32(at, true) < 1e6) places.push(at);
  }
  return places;
}

async function seedlings(): Promise<Seedling[]> {
  const list: Seedling[] = [];
  for (const name of GOLDEN_NAMES) {
    const bytes = await Deno.readFile(golden(name));
    const header = bytes.slice(0, parseGguf(bytes, name).dataOffset);
    list.push({ name, header, fileBytes: bytes.length, places: numberPlaces(header) });
  }
  return list;
}

type Random = (below: number) => number;

/** One change of a header; returns the bytes to go on with. */
function mutate(
  bytes: Uint8Array<ArrayBuffer>,
  seedling: Seedling,
  random: Random,
): Uint8Array<ArrayBuffer> {
  if (bytes.length === 0) return bytes;
  const place = random(3) === 0
    ? random(bytes.length)
    : Math.min(seedling.places[random(seedling.places.length)], bytes.length - 1);
  switch (random(8)) {
    case 0: // a bit
      bytes[place] ^= 1 << random(8);
      return bytes;
    case 1: // a byte
      bytes[place] = random(256);
      return bytes;
    case 2: // cut off
      return bytes.slice(0, random(4) === 0 ? random(64) : place);
    case 3: { // bytes put in
      const extra = Uint8Array.from({ length: 1 + random(16) }, () => random(256));
      return joined(bytes.subarray(0, place), extra, bytes.subarray(place));
    }
    case 4: // bytes taken out
      return joined(bytes.subarray(0, place), bytes.subarray(place + 1 + random(16)));
    case 5: { // a part of another place, or of itself
      const from = random(bytes.length);
      return joined(
        bytes.subarray(0, place),
        bytes.subarray(from, from + 1 + random(400)),
        bytes.subarray(place),
      );
    }
    case 6: { // a number of 32 bits
      if (place + 4 > bytes.length) return bytes;
      const value = random(2) === 0 ? random(50) : Number(EXTREMES[random(13)]);
      new DataView(bytes.buffer).setUint32(place, value, true);
      return bytes;
    }
    default: { // a number of 64 bits
      if (place + 8 > bytes.length) return bytes;
      const value = random(4) === 0 ? BigInt(random(1 << 24)) : EXTREMES[random(EXTREMES.length)];
      new DataView(bytes.buffer).setBigUint64(place, value, true);
      return bytes;
    }
  }
}

function joined(...parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Everything that the rest of the program relies on once a header has been accepted. */
function checkAccepted(gguf: Gguf): void {
  const tensors = [...gguf.tensors.values()].sort((a, b) =>
    a.offset - b.offset || a.bytes - b.bytes
  );
  let end = gguf.dataOffset;
  for (const { offset, bytes, shape, type } of tensors) {
    assert(Number.isSafeInteger(offset) && Number.isSafeInteger(bytes) && bytes >= 0);
    assert(offset >= end, "tensors overlap");
    end = offset + bytes;
    assertEquals((offset - gguf.dataOffset) % gguf.alignment, 0);
    const weights = shape.reduce((product, size) => product * size, 1);
    assertEquals(weights / type.blockSize * type.typeSize, bytes);
    assert(type.supported);
  }
  assert(tensors.length === 0 || end <= gguf.fileBytes, "a tensor lies outside of the file");
  for (const [key, { type, element }] of gguf.metadata.entries()) {
    if (type === "array" && element === "string") {
      assertEquals(gguf.metadata.strings(key).length, gguf.metadata.stringArray(key).length);
    }
  }
}

/** Bytes that this file's tests have, garbage too: those beside them are in the same process. */
function memory(): number {
  const { heapUsed, external } = Deno.memoryUsage();
  return heapUsed + external;
}

Deno.test(`GGUF: ${CASES} damaged headers are each read or refused as an invalid model`, async () => {
  const list = await seedlings();
  const before = memory();
  let accepted = 0;
  let refused = 0;
  const reasons = new Set<string>();
  for (let i = 0; i < CASES; i++) {
    const seed = SEED + i;
    const random = randomOf(seed);
    const seedling = list[random(list.length)];
    let bytes: Uint8Array<ArrayBuffer> = seedling.header.slice();
    for (let changes = 1 + random(3); changes > 0; changes--) {
      bytes = mutate(bytes, seedling, random);
    }
    // What follows the header reads as zeros; how long the file is said to be varies too.
    const data = [seedling.fileBytes - seedling.header.length, 0, 8 * 2 ** 20][random(3)];
    const size = bytes.length + data;
    let largestRead = 0;
    const source = {
      size,
      read(offset: number, into: Uint8Array) {
        largestRead = Math.max(largestRead, into.length);
        assert(offset >= 0 && offset + into.length <= size, "a read outside of the file");
        into.fill(0);
        into.set(bytes.subarray(offset, offset + into.length));
        return into.length;
      },
    };
    try {
      checkAccepted(parseGguf(source, "fuzz.gguf"));
      accepted++;
    } catch (error) {
      if (!(error instanceof M40Error && error.code === "invalid_model")) {
        throw new Error(`seed ${seed} (a changed ${seedling.name}): ${error}`, { cause: error });
      }
      refused++;
      reasons.add(error.message.replace(/"(\\.|[^"\\])*"|\d+/g, "").slice(0, 60));
    }
    assert(largestRead <= size, `seed ${seed}: a read of ${largestRead} bytes of ${size}`);
  }
  assertEquals(accepted + refused, CASES);
  if (CASES < 10_000) return;
  // The changes reach all of the reader: some do no harm, others meet every kind of refusal.
  assertGreater(accepted, CASES / 100);
  assertGreater(refused, CASES / 10);
  assertGreater(reasons.size, 25, [...reasons].join("\n"));
  assertLess(memory() - before, 2 ** 30);
});
