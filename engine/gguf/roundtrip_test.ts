import {
  assert,
  assertEquals,
  assertGreater,
  assertLess,
  assertRejects,
  assertThrows,
} from "@std/assert";
import { fromFileUrl } from "@std/path";
import { arrayEntry, entry } from "./entries.ts";
import type { MetadataEntry } from "./metadata.ts";
import { type Gguf, parseGguf, readGguf } from "./reader.ts";
import { bytesSource } from "./source.ts";
import { StringArray } from "./string_array.ts";
import { GGML_TYPES, tensorTypeByName } from "./types.ts";
import { type GgufTensorInput, writeGguf } from "./writer.ts";
import { GgufBytes } from "../../tests/fixtures/gguf_bytes.ts";
import { golden, GOLDEN_NAMES } from "../../tests/fixtures/goldens.ts";
import { TemporaryFolder } from "../../tests/fixtures/temporary.ts";

async function withFolder(body: (folder: string) => Promise<void>) {
  using temporary = new TemporaryFolder();
  const folder = temporary.path;
  await body(folder);
}

/** Entries with string arrays decoded, for comparing. */
function plain(gguf: Gguf): [string, unknown][] {
  return [...gguf.metadata.entries()].map(([key, { type, element, value }]) => [
    key,
    { type, element, value: value instanceof StringArray ? value.toArray() : value },
  ]);
}

Deno.test("GGUF: there are golden files to read", () => assertGreater(GOLDEN_NAMES.length, 5));

for (const name of GOLDEN_NAMES) {
  Deno.test(`GGUF: ${name} is read, written and read again without a change`, async () => {
    const bytes = await Deno.readFile(golden(name));
    const first = await readGguf(golden(name));
    assertEquals(first.version, 3);
    assertEquals(first.fileBytes, bytes.length);
    assertGreater(first.tensors.size, 10);
    const tokens = first.metadata.strings("tokenizer.ggml.tokens").length;
    assertEquals(first.tensors.get("token_embd.weight")?.shape[1], tokens);
    await withFolder(async (folder) => {
      const path = `${folder}/copy.gguf`;
      const tensors = [...first.tensors.values()].map((
        { name, type, shape, offset, bytes: size },
      ) => ({
        name,
        type,
        shape,
        // In pieces, as from a stream.
        data: function* () {
          const half = size >> 1;
          yield bytes.subarray(offset, offset + half);
          yield bytes.subarray(offset + half, offset + size);
        },
      }));
      const written = await writeGguf(path, { metadata: first.metadata, tensors });
      const second = await readGguf(path);
      assertEquals(second.fileBytes, written);
      assertEquals(plain(second), plain(first));
      assertEquals([...second.tensors.keys()], [...first.tensors.keys()]);
      const copy = await Deno.readFile(path);
      for (const [name, a] of first.tensors) {
        const b = second.tensors.get(name)!;
        assertEquals([b.type, b.shape, b.bytes], [a.type, a.shape, a.bytes]);
        assertEquals(
          copy.subarray(b.offset, b.offset + b.bytes),
          bytes.subarray(a.offset, a.offset + a.bytes),
        );
      }
    });
  });
}

const everyType: [string, MetadataEntry][] = [
  ["u8", entry("uint8", 255)],
  ["i8", entry("int8", -128)],
  ["u16", entry("uint16", 65535)],
  ["i16", entry("int16", -32768)],
  ["u32", entry("uint32", 4294967295)],
  ["i32", entry("int32", -2147483648)],
  ["f32", entry("float32", 0.25)],
  ["bool", entry("bool", true)],
  ["string", entry("string", "Grüße 🦙")],
  ["u64", entry("uint64", 2n ** 64n - 1n)],
  ["u64.small", entry("uint64", 2 ** 40)],
  ["i64", entry("int64", -(2n ** 63n))],
  ["f64", entry("float64", Math.PI)],
  ["array.u8", arrayEntry("uint8", [0, 255])],
  ["array.i8", arrayEntry("int8", [-128, 127])],
  ["array.u16", arrayEntry("uint16", [0, 65535])],
  ["array.i16", arrayEntry("int16", [-32768, 32767])],
  ["array.u32", arrayEntry("uint32", [0, 4294967295])],
  ["array.i32", arrayEntry("int32", [-2147483648, 2147483647])],
  ["array.f32", arrayEntry("float32", [0.5, -Infinity])],
  ["array.bool", arrayEntry("bool", [true, false, true])],
  ["array.string", arrayEntry("string", ["", "a", "日本", "x".repeat(3_000_000)])],
  ["array.u64", arrayEntry("uint64", [0, 2n ** 64n - 1n])],
  ["array.i64", arrayEntry("int64", [-(2n ** 63n), 1])],
  ["array.f64", arrayEntry("float64", [Math.E])],
  ["array.empty", arrayEntry("string", [])],
  ["array.long", arrayEntry("uint32", Array.from({ length: 400_000 }, (_, i) => i * 7))],
  ["last", entry("string", "after the long ones")],
];

Deno.test("GGUF: metadata of every type comes back as it was written", async () => {
  await withFolder(async (folder) => {
    const path = `${folder}/types.gguf`;
    await writeGguf(path, { metadata: everyType, tensors: [] });
    const got = new Map(plain(await readGguf(path)));
    assertEquals([...got.keys()], everyType.map(([key]) => key));
    for (const [key, { type, element, value }] of everyType) {
      const wanted = value instanceof StringArray ? value.toArray() : value;
      assertEquals(got.get(key), { type, element, value: wanted }, key);
    }
    // The same out of version 2, which differs in nothing but its number.
    const bytes = await Deno.readFile(path);
    bytes[4] = 2;
    const second = parseGguf(bytes, "v2.gguf");
    assertEquals(second.version, 2);
    assertEquals(second.metadata.string("last"), "after the long ones");
  });
});

Deno.test("GGUF: tensors of every type lie where the table says, at the alignment asked for", async () => {
  await withFolder(async (folder) => {
    for (const alignment of [undefined, 8, 4096]) {
      const path = `${folder}/tensors.gguf`;
      const tensors: GgufTensorInput[] = Object.values(GGML_TYPES).map((type, i) => ({
        name: `t.${type.name}`,
        type,
        shape: [type.blockSize * (i + 1), 3],
        data: new Uint8Array(type.typeSize * (i + 1) * 3).fill(i + 1),
      }));
      await writeGguf(path, {
        metadata: alignment ? [["general.alignment", entry("uint32", alignment)]] : [],
        tensors,
      });
      const gguf = await readGguf(path, { anyType: true });
      assertEquals(gguf.alignment, alignment ?? 32);
      const bytes = await Deno.readFile(path);
      for (const { name, type, shape, data } of tensors) {
        const tensor = gguf.tensors.get(name)!;
        assertEquals([tensor.type, tensor.shape], [type, shape]);
        assertEquals((tensor.offset - gguf.dataOffset) % gguf.alignment, 0);
        assertEquals(
          bytes.subarray(tensor.offset, tensor.offset + tensor.bytes),
          data as Uint8Array,
        );
      }
    }
  });
});

Deno.test("GGUF: the writer refuses what the reader would, and leaves no file behind", async () => {
  await withFolder(async (folder) => {
    const path = `${folder}/bad.gguf`;
    const f32 = tensorTypeByName("F32")!;
    const q4k = tensorTypeByName("Q4_K")!;
    const tensor = (change: Partial<GgufTensorInput>): GgufTensorInput => ({
      name: "t",
      type: f32,
      shape: [8],
      data: new Uint8Array(32),
      ...change,
    });
    const bad: [GgufTensorInput[], string][] = [
      [[tensor({ data: new Uint8Array(31) })], "31 bytes"],
      [[tensor({ data: new Uint8Array(33) })], "more than 32 bytes"],
      [[tensor({ type: q4k })], "multiple of 256"],
      [[tensor({ shape: [] })], "shape"],
      [[tensor({ shape: [1, 1, 1, 1, 8] })], "shape"],
      [[tensor({ shape: [8, -1] })], "shape"],
      [[tensor({}), tensor({})], "twice"],
      [[tensor({ name: "" })], "empty"],
    ];
    for (const [tensors, message] of bad) {
      await assertRejects(() => writeGguf(path, { metadata: [], tensors }), RangeError, message);
    }
    const twice = [["x", entry("bool", true)], ["x", entry("bool", true)]] as const;
    await assertRejects(
      () => writeGguf(path, { metadata: twice, tensors: [] }),
      RangeError,
      "twice",
    );
    const crooked = [["general.alignment", entry("uint32", 24)]] as const;
    await assertRejects(
      () => writeGguf(path, { metadata: crooked, tensors: [] }),
      RangeError,
      "power of two",
    );
    assertEquals([...Deno.readDirSync(folder)], []);
  });
});

Deno.test("GGUF: only the header is read, not the tensors", () => {
  const header = new GgufBytes().start(1, 1).string("general.name").u32(8).string("big")
    .tensor("t", [2 ** 20, 2 ** 20]).data(0).build();
  const inMemory = bytesSource(header);
  let furthest = 0;
  const gguf = parseGguf({
    size: 2 ** 43,
    read(offset, into) {
      furthest = Math.max(furthest, offset + into.length);
      inMemory.read(offset, into);
      return into.length;
    },
  }, "4 TB.gguf");
  assertEquals(gguf.tensors.get("t")!.bytes, 2 ** 42);
  assertEquals(gguf.metadata.string("general.name"), "big");
  assertLess(furthest, 2 ** 20);
});

Deno.test("GGUF: a file that becomes shorter while it is read is refused", () => {
  const bytes = new GgufBytes().start(0, 1).string("x").u32(8).string("y".repeat(1000)).build();
  const source = { ...bytesSource(bytes.subarray(0, 500)), size: bytes.length };
  assertThrows(() => parseGguf(source, "shrinking.gguf"), Error, "became shorter");
});

Deno.test("GGUF: strings in metadata need not be UTF-8, and a byte order mark is kept", () => {
  const bytes = new GgufBytes().start(0, 2)
    .string("general.author").u32(8).u64(3).raw(0x4a, 0xfc, 0x6e)
    .string("general.name").u32(8).string("\ufeffx").build();
  const { metadata } = parseGguf(bytes, "latin.gguf");
  assertEquals(metadata.string("general.author"), "J\ufffdn");
  assertEquals(metadata.string("general.name"), "\ufeffx");
});

const vocabularies: [name: string, tokens: number, merges: number, some: [number, string]][] = [
  ["ggml-vocab-llama-spm.gguf", 32000, 0, [15043, "▁Hello"]],
  ["ggml-vocab-llama-bpe.gguf", 128256, 280147, [128009, "<|eot_id|>"]],
  ["ggml-vocab-gpt-2.gguf", 50257, 50000, [50256, "<|endoftext|>"]],
  ["ggml-vocab-deepseek-coder.gguf", 32256, 31757, [301, "ot"]],
];
for (const [name, tokens, merges, [id, text]] of vocabularies) {
  const file = new URL(`../../../shared/vocab/${name}`, import.meta.url);
  let exists = true;
  try {
    Deno.statSync(file);
  } catch {
    exists = false;
  }
  Deno.test(`GGUF: the vocabulary ${name} is read whole (ignored where the file is absent)`, {
    ignore: !exists,
  }, async () => {
    const { metadata } = await readGguf(fromFileUrl(file));
    const array = metadata.stringArray("tokenizer.ggml.tokens");
    const strings = metadata.strings("tokenizer.ggml.tokens");
    assertEquals(strings.length, tokens);
    assertEquals(strings[id], text);
    for (let i = 0; i < tokens; i++) assert(strings[i] === array.at(i), `token ${i}`);
    if (merges > 0) assertEquals(metadata.strings("tokenizer.ggml.merges").length, merges);
    assertEquals(metadata.numbers("tokenizer.ggml.token_type").length, tokens);
  });
}
