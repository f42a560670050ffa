import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { M40Error } from "../errors.ts";
import type { MetadataEntry } from "../gguf/metadata.ts";
import { loadTokenizer } from "./load.ts";
import {
  BASIC,
  byteLevelMetadata,
  string,
  type TokenInput,
  uint32,
  vocabularyMetadata,
} from "../../tests/fixtures/tokenizer_metadata.ts";

const RUNS = Number(Deno.env.get("M40_FUZZ_RUNS") ?? 1000);
const K = "tokenizer.ggml.";
const MARK = "\ue000";
const PROMPT = { addSpecial: false, parseSpecial: true };

/** Control tokens that overlap, contain one another, and are a single character. */
const CONTROL = ["<|a|>", "|>b", "aa", "aaa", "<", "<|", "§", "😀", "😀😀"];
const USER_DEFINED = ["<|u|>", "u|", "<b>"];
const SPECIAL: TokenInput[] = [
  ...CONTROL.map((text) => ({ text, type: 3 })),
  ...USER_DEFINED.map((text) => ({ text, type: 4 })),
  { text: "<unk>", type: 2 },
];
const bpe = loadTokenizer(byteLevelMetadata(["a a", "| >"], SPECIAL));
const sentencePiece = loadTokenizer(
  vocabularyMetadata([...BASIC, "\u2581", ...SPECIAL.slice(0, -1)]),
);

const pieces = fc.array(
  fc.oneof(
    fc.constantFrom(...CONTROL, ...USER_DEFINED, "<unk>", "<s>", "</s>", "a", "|", ">", "u", " "),
    fc.string({ unit: "binary", maxLength: 4 }),
  ),
  { maxLength: 12 },
);
const text = pieces.map((parts) => parts.join("").replaceAll(/[\ue000\u2581]/g, "").toWellFormed());

for (const [name, tokenizer] of Object.entries({ bpe, sentencePiece })) {
  Deno.test(`special tokens: no text that is protected becomes a control token (${name})`, () => {
    let controls = 0;
    fc.assert(
      fc.property(text, (text) => {
        const isSteering = (token: number) =>
          tokenizer.isControl(token) || tokenizer.tokenText(token) === "<unk>";
        const tokens = tokenizer.encode(tokenizer.protect(text, MARK), { ...PROMPT, mark: MARK });
        assertEquals(tokens.filter(isSteering), []);
        assertEquals(tokenizer.decode(tokens), text);
        controls += tokenizer.encode(text, PROMPT).filter(isSteering).length;
      }),
      { numRuns: RUNS },
    );
    assert(controls > RUNS, "unprotected they would be control tokens");
  });
}

Deno.test("special tokens: what is not protected still steers, however close protected text is", () => {
  const user = "<|a|>§ 😀<";
  for (const mark of [MARK, "\u{10fffe}"]) {
    // As a chat template puts it: texts with a mark at each end between control tokens.
    const prompt = `<|a|>${mark}${bpe.protect(user, mark)}${mark}§${mark}x${mark}😀😀`;
    const tokens = bpe.encode(prompt, { ...PROMPT, mark });
    const steering = tokens.filter((token) => bpe.isControl(token)).map((token) =>
      bpe.tokenText(token)
    );
    assertEquals(steering, ["<|a|>", "§", "😀😀"]);
    assertEquals(bpe.decode(tokens), `${user}x`);
  }
});

Deno.test("special tokens: a control token is not put together across a mark", () => {
  const tokens = bpe.encode(`<|${MARK}a|>`, { ...PROMPT, mark: MARK });
  assertEquals(bpe.decode(tokens, { skipSpecial: false }), "<|a|>");
  assert(!tokens.includes(bpe.tokenId("<|a|>")!));
  assertEquals(bpe.encode("<|a|>", PROMPT), [bpe.tokenId("<|a|>")!]);
});

Deno.test("special tokens: user-defined tokens stand for their text in protected text as well", () => {
  const protectedText = bpe.protect("x<b>y", MARK);
  assert(
    bpe.encode(protectedText, { ...PROMPT, mark: MARK }).includes(bpe.tokenId("<b>")!) === false,
  );
  const other = loadTokenizer(byteLevelMetadata([], [{ text: "<b>", type: 4 }]));
  assertEquals(other.protect("x<b>y", MARK), "x<b>y");
  assertEquals(other.encode("x<b>y", { mark: MARK })[1], other.tokenId("<b>"));
});

Deno.test("special tokens: one of megabytes is refused before memory is taken for it, a long one is found", () => {
  const load = (length: number) =>
    loadTokenizer(byteLevelMetadata([], control("x".repeat(length))));
  const error = assertThrows(() => load(8_000_000), M40Error, "8000000 characters");
  assertEquals(error.code, "invalid_model");
  assertEquals(load(4096).encode("x".repeat(4096), PROMPT), [256]);
});

Deno.test("special tokens: a mark that is no code point, or is in the text, is refused", () => {
  for (const mark of ["", "ab", "\ue000\ue000", "x"]) {
    const error = assertThrows(() => bpe.protect("xyz", mark), M40Error);
    assertEquals(error.code, "invalid_request");
  }
});

function endTexts(tokens: TokenInput[], changes: Record<string, MetadataEntry> = {}): string[] {
  const tokenizer = loadTokenizer(byteLevelMetadata([], tokens, changes));
  return [...tokenizer.endTokens].map((token) => tokenizer.tokenText(token)).sort();
}

/** Control tokens. */
const control = (...texts: string[]): TokenInput[] => texts.map((text) => ({ text, type: 3 }));

Deno.test("end tokens: those of each family of models, and none that goes on", () => {
  const families: [tokens: string[], ends: string[]][] = [
    // Llama 3
    [["<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|eom_id|>", "<|eot_id|>"], [
      "<|end_of_text|>",
      "<|eom_id|>",
      "<|eot_id|>",
    ]],
    // Qwen
    [["<|endoftext|>", "<|im_start|>", "<|im_end|>"], ["<|endoftext|>", "<|im_end|>"]],
    // gpt-oss: <|end|> ends a message, not the answer
    [
      ["<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|return|>", "<|call|>"],
      ["<|call|>", "<|return|>"],
    ],
    // Solar Open
    [["<|think|>", "<|end|>", "<|flush|>", "<|calls|>"], ["<|calls|>", "<|flush|>"]],
    // Phi: <|end|> does end
    [["<|user|>", "<|assistant|>", "<|end|>"], ["<|end|>"]],
    // Gemma
    [["<start_of_turn>", "<end_of_turn>", "<eos>"], ["<end_of_turn>", "<eos>"]],
    // Gemma 4, in which </s> is a tag of HTML
    [["<turn|>", "<|tool_response>", "</s>"], ["<turn|>", "<|tool_response>"]],
    // DeepSeek
    [["<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜User｜>"], ["<｜end▁of▁sentence｜>"]],
    // Mistral
    [["<s>", "</s>", "[INST]"], ["</s>"]],
    // GLM: a turn ends where the next begins
    [["[gMASK]", "<sop>", "<|user|>", "<|assistant|>", "<|observation|>", "<|endoftext|>"], [
      "<|endoftext|>",
      "<|observation|>",
      "<|user|>",
    ]],
    // Kimi, Command R, EXAONE, MiniMax
    [["[BOS]", "[EOS]", "[EOT]", "<|im_end|>"], ["<|im_end|>", "[EOS]", "[EOT]"]],
    [["<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>"], ["<|END_OF_TURN_TOKEN|>"]],
    [["[|assistant|]", "[|endofturn|]"], ["[|endofturn|]"]],
    [["]~b]", "[e~["], ["[e~["]],
  ];
  for (const [tokens, ends] of families) {
    assertEquals(endTexts(control(...tokens)), [...ends].sort(), tokens.join(" "));
  }
});

Deno.test("end tokens: the ids of the metadata are always among them; plain text that looks alike is not", () => {
  const tokens = [...control("over"), ...control("out"), { text: "</s>", type: 1 }, {
    text: "<eos>",
    type: 4,
  }];
  assertEquals(
    endTexts(tokens, { [`${K}eos_token_id`]: uint32(256), [`${K}eot_token_id`]: uint32(257) }),
    [
      "out",
      "over",
    ],
  );
});

Deno.test("fill-in-the-middle: tokens by the metadata's keys, old ones too, and by well-known texts", () => {
  const load = (tokens: TokenInput[], changes: Record<string, MetadataEntry> = {}) =>
    loadTokenizer(byteLevelMetadata([], tokens, changes));
  const qwen = load([
    { text: "<|fim_prefix|>", type: 4 },
    { text: "<|fim_middle|>", type: 4 },
    { text: "<|fim_suffix|>", type: 4 },
    { text: "<|fim_pad|>", type: 4 },
    { text: "<|repo_name|>", type: 4 },
    { text: "<|file_sep|>", type: 4 },
  ]);
  assertEquals(qwen.fim, {
    prefix: 256,
    middle: 257,
    suffix: 258,
    pad: 259,
    repository: 260,
    separator: 261,
  });
  assert(qwen.isControl(256), "users cannot type it");
  assert(!qwen.encode("<|fim_prefix|>").includes(256));
  for (const token of [259, 260, 261]) assert(qwen.endTokens.has(token), "the next file begins");

  const keys = load(control("p", "s", "m", "<|fim_prefix|>"), {
    [`${K}fim_pre_token_id`]: uint32(256),
    [`${K}suffix_token_id`]: uint32(257),
    [`${K}middle_token_id`]: uint32(258),
  });
  assertEquals([keys.fim?.prefix, keys.fim?.suffix, keys.fim?.middle], [256, 257, 258]);
  assertEquals(keys.fim?.pad, undefined);

  const half = load([{ text: "<PRE>", type: 4 }, { text: "<SUF>", type: 4 }]);
  assertEquals(half.fim, undefined);
  assert(!half.isControl(256), "without the third, they are text");
  const beyond = load([{ text: "<PRE>", type: 4 }], { [`${K}fim_pre_token_id`]: uint32(999) });
  assertEquals(beyond.fim, undefined);
});

Deno.test("special tokens: white space before and after them goes along where models are known for it", () => {
  const tokens = control("<mask>", "<|end|>", "<s>");
  const jina = loadTokenizer(
    byteLevelMetadata([], tokens, { [`${K}pre`]: string("jina-v2-code") }),
  );
  assertEquals(jina.encode("a \n<mask> b", PROMPT), [97, 256, 32, 98]);
  assertEquals(jina.encode(" <s> ", PROMPT), [32, 258, 32]);
  const phi = loadTokenizer(
    byteLevelMetadata([], tokens, { "general.name": string("Phi-3 mini") }),
  );
  assertEquals(phi.encode("a <|end|> \nb", PROMPT), [97, 32, 257, 98]);
  const marked = `<|end|>\n${MARK}${phi.protect(" b", MARK)}${MARK}`;
  assertEquals(phi.encode(marked, { ...PROMPT, mark: MARK }), [257, 98], "marks are no obstacle");
});
