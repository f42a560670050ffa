import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { readGguf } from "../gguf/reader.ts";
import { loadTokenizer } from "./load.ts";
import type { Tokenizer } from "./tokenizer.ts";

const NAMES = ["plain", "no-prefix", "phrases"];
const RUNS = Number(Deno.env.get("M40_FUZZ_RUNS") ?? 500);

async function load(name: string): Promise<Tokenizer> {
  const path = new URL(`../../tests/data/tokenizer/${name}.gguf`, import.meta.url).pathname;
  return loadTokenizer((await readGguf(path)).metadata);
}

/** Texts with what tends to go wrong in them; no U+2581, which is a space to such a vocabulary. */
const fragment = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: "grapheme" }),
  fc.string(),
  fc.constantFrom(
    ..." |  |\n|\t|\0|\u0001|\ufeff|\ufffd|<s>|</s>|<unk>|<0x0A>|<tool>|</tool>|<long|_tag>|<|user|>|é|e\u0301"
      .split("|"),
    "the miller",
    " the",
    "😀",
    "\u{1f468}\u200d\u{1f469}",
    "银铃",
    "ü",
  ),
);
const text = fc.array(fragment, { maxLength: 12 }).map((parts) =>
  parts.join("").replaceAll("\u2581", "")
);

for (const name of NAMES) {
  Deno.test(`tokenizer: decoding gives any text back (vocabulary "${name}")`, async () => {
    const tokenizer = await load(name);
    fc.assert(
      fc.property(text, (text) => {
        assertEquals(tokenizer.decode(tokenizer.encode(text)), text);
        assertEquals(
          tokenizer.decode(tokenizer.encode(text, { addSpecial: false, parseSpecial: true }), {
            skipSpecial: false,
          }),
          text,
        );
      }),
      { numRuns: RUNS },
    );
  });

  Deno.test(`tokenizer: streaming gives what decoding gives, for any tokens (vocabulary "${name}")`, async () => {
    const tokenizer = await load(name);
    const bytes: number[] = [];
    for (let id = 0; id < tokenizer.vocabSize; id++) {
      if (/^<0x..>$/.test(tokenizer.tokenText(id))) bytes.push(id);
    }
    assertEquals(bytes.length, 256);
    // Bytes that begin and continue characters, mostly broken ones, among the other tokens.
    const token = fc.oneof(
      fc.nat(tokenizer.vocabSize - 1),
      fc.constantFrom(...bytes.slice(0x80)),
      fc.constantFrom(
        ...[0xc3, 0xa9, 0xe2, 0x82, 0xac, 0xf0, 0x9f, 0x98, 0x80].map((b) => bytes[b]),
      ),
    );
    const options = fc.record({ skipSpecial: fc.boolean(), continuing: fc.boolean() });
    fc.assert(
      fc.property(fc.array(token, { maxLength: 40 }), options, (tokens, options) => {
        const decoder = tokenizer.decoder(options);
        const pieces = [...tokens.map((token) => decoder.push(token)), decoder.flush()];
        assertEquals(pieces.join(""), tokenizer.decode(tokens, options));
        for (const piece of pieces) assert(piece.isWellFormed());
        if (options.skipSpecial && options.continuing) {
          const all = Uint8Array.from(tokens.flatMap((token) => [...tokenizer.tokenBytes(token)]));
          assertEquals(
            pieces.join(""),
            new TextDecoder("utf-8", { ignoreBOM: true }).decode(all),
          );
        }
      }),
      { numRuns: RUNS },
    );
  });

  Deno.test(`tokenizer: any bytes keep their values (vocabulary "${name}")`, async () => {
    const tokenizer = await load(name);
    const part = fc.oneof(
      fc.uint8Array({ maxLength: 6 }),
      fragment.map((text) => new TextEncoder().encode(text)),
      fc.constantFrom(
        ...[[0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82], [0xf0, 0x9f]]
          .map((b) => Uint8Array.from(b)),
      ),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
        const bytes = Uint8Array.from(parts.flatMap((part) => [...part]));
        if (new TextDecoder().decode(bytes).includes("\u2581")) return;
        const tokens = tokenizer.encodeBytes(bytes);
        assertEquals(unprefixed(tokenizer, tokens), [...bytes]);
      }),
      { numRuns: RUNS },
    );
  });
}

/** The bytes of tokens without the spaces that encoding puts in front of text. */
function unprefixed(tokenizer: Tokenizer, tokens: number[]): number[] {
  const hasPrefix = tokenizer.encode("a", { addSpecial: false }).map((t) => tokenizer.tokenText(t))
    .join("").startsWith("\u2581");
  const bytes: number[] = [];
  let first = true;
  for (const token of tokens) {
    const own = [...tokenizer.tokenBytes(token)];
    const isSpecial = /^<\/?(tool|long|long_tag)>$|^<\/?s>$/.test(tokenizer.tokenText(token));
    if (hasPrefix && first && !isSpecial) own.shift();
    bytes.push(...own);
    first = isSpecial;
  }
  return bytes;
}

Deno.test("tokenizer: a lone surrogate is encoded as U+FFFD", async () => {
  const tokenizer = await load("plain");
  for (const text of ["a\ud800b", "\udc80", "\udcffx", "😀\ude00"]) {
    assertEquals(tokenizer.encode(text), tokenizer.encode(text.toWellFormed()));
    assertEquals(tokenizer.decode(tokenizer.encode(text)), text.toWellFormed());
  }
});

Deno.test("tokenizer: U+2581 in a text comes back as a space, as in SentencePiece", async () => {
  const tokenizer = await load("plain");
  assertEquals(tokenizer.decode(tokenizer.encode("a\u2581b")), "a b");
});
