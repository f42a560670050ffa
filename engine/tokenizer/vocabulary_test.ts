import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { M40Error } from "../errors.ts";
import type { Metadata } from "../gguf/metadata.ts";
import { loadTokenizer } from "./load.ts";
import {
  BASIC,
  bool,
  BYTES,
  floats,
  ints,
  string,
  strings,
  uint32,
  vocabularyMetadata,
} from "../../tests/fixtures/tokenizer_metadata.ts";

const K = "tokenizer.ggml.";
const RAW = { addSpecial: false };

function refused(metadata: Metadata, ...parts: string[]): void {
  const error = assertThrows(() => loadTokenizer(metadata), M40Error);
  assertEquals(error.code, "invalid_model");
  for (const part of parts) assertStringIncludes(error.message, part);
}

Deno.test("tokenizer: an unknown kind of vocabulary is refused by name, with those that are known", () => {
  for (const name of ["wordpiece", "constructor", ""]) {
    const error = assertThrows(
      () => loadTokenizer(vocabularyMetadata(BASIC, { [`${K}model`]: string(name) })),
      M40Error,
    );
    assertEquals(error.code, "unsupported");
    assertStringIncludes(error.message, `"${name}"`);
    assertStringIncludes(error.message, "llama");
  }
});

Deno.test("tokenizer: a vocabulary that is missing, empty or of another type is refused by key", () => {
  refused(vocabularyMetadata(BASIC, { [`${K}model`]: undefined }), `${K}model`);
  refused(vocabularyMetadata(BASIC, { [`${K}model`]: uint32(1) }), `${K}model`);
  refused(vocabularyMetadata(BASIC, { [`${K}tokens`]: undefined }), `${K}tokens`);
  refused(vocabularyMetadata(BASIC, { [`${K}tokens`]: strings([]) }), `${K}tokens`);
  refused(vocabularyMetadata(BASIC, { [`${K}tokens`]: ints([1, 2]) }), `${K}tokens`);
  refused(vocabularyMetadata(BASIC, { [`${K}tokens`]: string("a b c") }), `${K}tokens`);
  refused(vocabularyMetadata(BASIC, { [`${K}scores`]: undefined }), `${K}scores`);
});

Deno.test("tokenizer: scores and types that do not fit the tokens are refused", () => {
  const size = `${BASIC.length}`;
  refused(vocabularyMetadata(BASIC, { [`${K}scores`]: floats([1, 2]) }), `${K}scores`, "2", size);
  refused(vocabularyMetadata(BASIC, { [`${K}scores`]: strings(["1"]) }), `${K}scores`);
  const scores = new Array(BASIC.length).fill(0);
  scores[7] = NaN;
  refused(vocabularyMetadata(BASIC, { [`${K}scores`]: floats(scores) }), `${K}scores`, "7");
  refused(vocabularyMetadata(BASIC, { [`${K}token_type`]: ints([]) }), `${K}token_type`, size);
  refused(vocabularyMetadata([...BASIC, { text: "x", type: 77 }]), `${K}token_type`, "77");
  refused(vocabularyMetadata([...BASIC, { text: "x", type: -1 }]), `${K}token_type`, "-1");
  refused(vocabularyMetadata([...BASIC, { text: "<0xGG>", type: 6 }]), "<0xGG>", "byte");
});

Deno.test("tokenizer: special ids that are no whole numbers are refused; -1 means none", () => {
  for (const name of ["bos", "eos", "unknown", "eot", "eom"]) {
    const key = `${K}${name}_token_id`;
    refused(vocabularyMetadata(BASIC, { [key]: { type: "float32", value: 1.5 } }), key, "1.5");
    refused(vocabularyMetadata(BASIC, { [key]: string("1") }), key);
  }
  for (const none of [uint32(0xffffffff), { type: "int32" as const, value: -1 }, undefined]) {
    const tokenizer = loadTokenizer(
      vocabularyMetadata(BASIC, { [`${K}bos_token_id`]: none, [`${K}eos_token_id`]: none }),
    );
    assertEquals([tokenizer.bos, tokenizer.eos, tokenizer.addBos], [undefined, undefined, false]);
    assertEquals(tokenizer.encode("a"), tokenizer.encode("a", RAW));
  }
});

Deno.test("tokenizer: BOS and EOS are added as the metadata says, and not on request", () => {
  const encode = (addBos: boolean | undefined, addEos: boolean | undefined) => {
    const tokenizer = loadTokenizer(vocabularyMetadata([...BASIC, "▁"], {
      [`${K}add_bos_token`]: addBos === undefined ? undefined : bool(addBos),
      [`${K}add_eos_token`]: addEos === undefined ? undefined : bool(addEos),
    }));
    assertEquals(tokenizer.encode(" ", RAW), [259, 259]);
    return tokenizer.encode("");
  };
  assertEquals(encode(undefined, undefined), [1]);
  assertEquals(encode(true, true), [1, 2]);
  assertEquals(encode(false, true), [2]);
  assertEquals(encode(false, false), []);
});

Deno.test("tokenizer: without byte tokens a character becomes the unknown token; without both the file is refused", () => {
  const unknown = { text: "<unk>", type: 2 };
  const changes = { [`${K}bos_token_id`]: undefined, [`${K}eos_token_id`]: undefined };
  const tokenizer = loadTokenizer(vocabularyMetadata([unknown, "▁", "a"], changes));
  assertEquals(tokenizer.encode("aéa😀"), [1, 2, 0, 2, 0]);
  assertEquals(tokenizer.decode([1, 2, 0, 1, 2]), "a a");
  assertEquals(tokenizer.decode([1, 2, 0], { skipSpecial: false }), "a<unk>");
  refused(
    vocabularyMetadata(["▁", "a"], { ...changes, [`${K}unknown_token_id`]: undefined }),
    "<0x00>",
    "unknown",
  );
  // All bytes but the second of é: the character is unknown as a whole, not half of it.
  const partial = loadTokenizer(
    vocabularyMetadata(
      BASIC.filter((token) => typeof token === "string" || token.text !== "<0xA9>"),
    ),
  );
  assertEquals(partial.encode("é", RAW).slice(3), [0]);
});

Deno.test("tokenizer: an empty token is never encoded, and of two tokens with one text the last is", () => {
  const tokenizer = loadTokenizer(
    vocabularyMetadata([...BASIC, "", "▁", "a", "a", { text: "", type: 3 }, { text: "", type: 4 }]),
  );
  assertEquals(tokenizer.encode("a", { addSpecial: false, parseSpecial: true }), [260, 262]);
  assertEquals(tokenizer.decode([259, 261, 263, 264, 262]), "aa");
});

Deno.test("tokenizer: a file without token types, or with bytes as normal tokens, still has its byte tokens", () => {
  for (
    const types of [
      undefined,
      ints(BASIC.map((token) => (token as { type: number }).type % 6 || 1)),
    ]
  ) {
    const tokenizer = loadTokenizer(vocabularyMetadata(BASIC, { [`${K}token_type`]: types }));
    assertEquals(tokenizer.encode("A", RAW).slice(3), [3 + 0x41]);
    assertEquals(tokenizer.decode([3 + 0xc3, 3 + 0xa9]), "é");
    assertEquals(tokenizer.isControl(1), true);
  }
  // One such text is not a set of byte tokens.
  const tokenizer = loadTokenizer(
    vocabularyMetadata(["<unk>", "<s>", "</s>", "<0x41>"], {
      [`${K}token_type`]: ints([2, 3, 3, 1]),
    }),
  );
  assertEquals(tokenizer.decode([3]), "<0x41>");
});

Deno.test("tokenizer: an id that is not in the vocabulary is answered with its range", () => {
  const tokenizer = loadTokenizer(vocabularyMetadata(BASIC));
  for (const id of [-1, BASIC.length, 1.5, NaN, Infinity, 2 ** 40]) {
    for (
      const use of [
        () => tokenizer.decode([id]),
        () => tokenizer.decode([id], { skipSpecial: false }),
        () => tokenizer.decoder().push(id),
        () => tokenizer.tokenBytes(id),
        () => tokenizer.tokenText(id),
        () => tokenizer.isControl(id),
      ]
    ) {
      const error = assertThrows(use, M40Error);
      assertEquals(error.code, "invalid_request");
      assertStringIncludes(error.message, `${BASIC.length - 1}`);
    }
  }
});

Deno.test("tokenizer: end tokens are EOS, the ids of the metadata and the special tokens known by their text", () => {
  const tokens = [
    ...BASIC, // 0 to 258; </s> is 2
    { text: "<|im_end|>", type: 3 }, // 259
    { text: "<|end|>", type: 4 }, // 260: listed as user-defined
    { text: "<end_of_turn>", type: 1 }, // 261: listed as a normal one
    { text: "<EOT>", type: 4 }, // 262: not unmistakable
    { text: "stop", type: 3 }, // 263
    { text: "over", type: 3 }, // 264
    { text: "out", type: 3 }, // 265
  ];
  const tokenizer = loadTokenizer(vocabularyMetadata(tokens, {
    [`${K}eos_token_id`]: uint32(263),
    [`${K}eot_token_id`]: uint32(264),
    [`${K}eom_token_id`]: uint32(265),
  }));
  assertEquals([...tokenizer.endTokens].sort(), [2, 259, 260, 261, 263, 264, 265]);
  assertEquals([260, 261, 262].map((id) => tokenizer.isControl(id)), [true, true, false]);
  assertEquals(tokenizer.encode("<|end|>", RAW).includes(260), false);
  assertEquals(tokenizer.encode("<|end|>", { addSpecial: false, parseSpecial: true }), [260]);
});

Deno.test("tokenizer: a vocabulary of nothing but bytes spells everything", () => {
  const tokenizer = loadTokenizer(vocabularyMetadata(BYTES, {
    [`${K}bos_token_id`]: undefined,
    [`${K}eos_token_id`]: undefined,
    [`${K}unknown_token_id`]: undefined,
    [`${K}add_space_prefix`]: bool(false),
  }));
  assertEquals(tokenizer.encode("aé😀"), [...new TextEncoder().encode("aé😀")]);
  assertEquals(tokenizer.decode(tokenizer.encode("aé😀")), "aé😀");
});
