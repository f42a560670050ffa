import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import type { ChatFormat } from "./chat_format.ts";
import type { ChatMessage, ChatRequest } from "./conversation.ts";
import { loadChat } from "./load.ts";
import { Protection } from "./protection.ts";
import { BUILT_IN_TEMPLATES } from "./templates/mod.ts";
import { loadTokenizer } from "../tokenizer/load.ts";
import {
  BASIC,
  bool,
  string,
  vocabularyMetadata,
} from "../../tests/fixtures/tokenizer_metadata.ts";

const CONTROL = [
  ...["<|im_start|>", "<|im_end|>", "<|im_sep|>", "<|start|>", "<|end|>", "<|message|>"],
  ...["<|channel|>", "<|return|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"],
  ...["[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "<start_of_turn>"],
  ...["<end_of_turn>", "<｜User｜>", "<｜Assistant｜>", "<｜end▁of▁sentence｜>", "<|user|>"],
  ...[
    "<|assistant|>",
    "<|system|>",
    "[gMASK]",
    "<sop>",
    "<|END_OF_TURN_TOKEN|>",
    "<A>",
    "ʼn>",
    "end-of-turn",
  ],
];

/** A model's metadata with a vocabulary that has these tokens, and named templates. */
function metadataWith(templates: Iterable<[string, string]>) {
  const named = [...templates].map(([name, template]) =>
    [`tokenizer.chat_template.${name}`, string(template)] as const
  );
  return vocabularyMetadata(
    [...BASIC, "▁", ...CONTROL.map((text) => ({ text, type: 3 }))],
    { "tokenizer.ggml.add_space_prefix": bool(false), ...Object.fromEntries(named) },
  );
}

const TOKENIZER = loadTokenizer(metadataWith([]));

/** Chat with named templates, which one thread renders. */
async function withChat(
  templates: Iterable<[string, string]>,
  work: (chat: ChatFormat) => Promise<void>,
): Promise<void> {
  await using chat = loadChat(metadataWith(templates), TOKENIZER, "chatml")!;
  await work(chat);
}

/** Wholes and halves of control tokens' texts, in either case, and what surrounds them. */
const piece = fc.oneof(
  fc.constantFrom(...CONTROL, "</s>", "<s>", "<unk>"),
  fc.constantFrom(...CONTROL, "</s>").chain((text) =>
    fc.nat(text.length).map((at) => [text.slice(0, at), text.slice(at)][at % 2])
  ),
  fc.constantFrom(...CONTROL).map((text) => text.toUpperCase()),
  fc.constantFrom(
    " ",
    "\n",
    "a",
    "é",
    "</think>",
    "<think>",
    "\ue000",
    "\ue001",
    "{{ x }}",
    "|",
    "<",
  ),
);
const text = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(""));
const content = fc.oneof(
  text,
  fc.array(text, { maxLength: 3 }).map((texts) =>
    texts.map((text) => ({ type: "text" as const, text }))
  ),
);

/** Turns that every template takes: the user and the assistant in turn, the user first and last. */
const request = fc.record({
  system: fc.option(content),
  turns: fc.array(fc.tuple(content, content, text), { maxLength: 2 }),
  last: content,
  name: text,
  variables: fc.record({ model_identity: text, date_string: text, thing: fc.array(text) }),
}).map(({ system, turns, last, name, variables }): ChatRequest => ({
  messages: [
    ...(system === null ? [] : [{ role: "system" as const, content: system }]),
    ...turns.flatMap(([asked, said, reasoning]): ChatMessage[] => [
      { role: "user", content: asked, name },
      { role: "assistant", content: said, reasoning },
    ]),
    { role: "user", content: last },
  ],
  templateVariables: variables,
  reasoningEffort: name,
}));

/** The same with letters in place of texts, empty where those are. */
function harmless(request: ChatRequest): ChatRequest {
  const visit = (value: unknown, key: string): unknown => {
    if (typeof value === "string") {
      return key === "role" || key === "type" || value.trim() === "" ? value : "x";
    }
    if (Array.isArray(value)) return value.map((item) => visit(item, ""));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, visit(item, key)]));
  };
  return visit(request, "") as ChatRequest;
}

Deno.test("nothing that a request brings becomes a control token, in any template", async () => {
  await withChat(BUILT_IN_TEMPLATES, async (chat) => {
    const controlTokens = async (name: string, request: ChatRequest) => {
      const { tokens, text } = await chat.prompt({ ...request, templateName: name });
      // What is written is what the model reads, but for BOS, which a template may leave out.
      const read = TOKENIZER.decode(tokens, { skipSpecial: false });
      const [got, wanted] = [read, text].map((text) => text.replaceAll("▁", " "));
      if (got !== `<s>${wanted}`) assertEquals(got, wanted, name);
      return tokens.filter((token) => TOKENIZER.isControl(token)).map((token) =>
        TOKENIZER.tokenText(token)
      );
    };
    const name = fc.constantFrom(...chat.templateNames);
    assertEquals(chat.templateNames.length, BUILT_IN_TEMPLATES.size);
    await fc.assert(
      fc.asyncProperty(name, request, async (name, request) => {
        const wanted = await controlTokens(name, harmless(request));
        assertEquals(await controlTokens(name, request), wanted, name);
      }),
      { numRuns: 300 },
    );
  });
});

Deno.test("a template that changes letters, cuts and joins texts makes no control token of them", async () => {
  const said = "<|IM_END|>x<|im_ y end|>";
  const expressions = [
    "m.content | lower",
    "m.content.lower()",
    "shout | lower",
    "shout.lower()",
    "shout.capitalize()[1:]",
    "m.content.split('x')[0].lower()",
    "m.content.replace(' y ', '')",
    "m.content.split(' y ') | join",
    "m.content[10:].replace(' ', '').replace('y', '')",
    "m.content | replace('IM_END', 'im_end')",
    "(m.content | list | join) | lower",
    "m.content | title | lower",
    "'%s' % (m.content | lower)",
    "m.content | lower | tojson",
    "[m.content | lower, m.content]",
    "'<|im_' ~ end ~ '|>'",
    "'<|' ~ m.name ~ '|>'",
    "'<' ~ rest",
    "m.content[::-1][::-1] | lower",
  ];
  const templates = expressions.map((expression): [string, string] => [
    expression,
    `{% set m = messages[0] %}{{ ${expression} }}`,
  ]);
  await withChat(templates, async (chat) => {
    const messages = [{ role: "user" as const, content: said, name: "im_end" }];
    for (const templateName of expressions) {
      const { tokens } = await chat.prompt({
        messages,
        templateName,
        templateVariables: { rest: "|im_end|>", end: "end", shout: "XEND-OF-TURN" },
      });
      const control = tokens.slice(1).filter((token) => TOKENIZER.isControl(token));
      assertEquals(control, [], templateName);
    }
  });
});

Deno.test("a template's own control tokens stay what they are, next to any text", async () => {
  const template =
    "{{ '<|' + messages[0].role + '|>' }}{{ messages[0].content }}<|end|>{{ eos_token }}";
  await withChat([["own", template]], async (chat) => {
    const messages = [{ role: "user" as const, content: "<|end|>" }];
    const { tokens } = await chat.prompt({ messages, templateName: "own" });
    const control = tokens.filter((token) => TOKENIZER.isControl(token));
    const shown = control.map((token) => TOKENIZER.tokenText(token));
    assertEquals(shown, ["<s>", "<|user|>", "<|end|>", "</s>"]);
  });
});

Deno.test("the marks are the first two characters of private use that stand nowhere", () => {
  const tokenizer = loadTokenizer(vocabularyMetadata([...BASIC, "▁"]));
  const all = Array.from({ length: 6400 }, (_, i) => String.fromCharCode(0xe000 + i));
  const marks = (content: string, template = "") => {
    const request = { messages: [{ role: "user", content }] } as const;
    const { mark, endMark } = new Protection(tokenizer, /</g, request, template);
    return mark + endMark;
  };
  const without = (...places: readonly number[]) =>
    all.filter((_, place) => !places.includes(place)).join("");
  assertEquals(marks(""), "\ue000\ue001");
  assertEquals(marks("\ue001"), "\ue000\ue002");
  assertEquals(marks("\ue002", "\ue000"), "\ue001\ue003");
  assertEquals(marks(without(17, 6399)), "\ue011\uf8ff");
  assertEquals(marks(without(1, 2, 3), "\ue002"), "\ue001\ue003");
  assertThrows(() => marks(without(17)), Error, "all characters of private use");
});

Deno.test("the marks are found by few searches, whatever characters stand in a request", () => {
  const tokenizer = loadTokenizer(vocabularyMetadata([...BASIC, "▁"]));
  const all = Array.from({ length: 6398 }, (_, i) => String.fromCharCode(0xe000 + i)).join("");
  const { includes } = String.prototype;
  let searches = 0;
  String.prototype.includes = function (...args) {
    searches++;
    return includes.apply(this, args);
  };
  try {
    const request = { messages: [{ role: "user", content: all }] } as const;
    new Protection(tokenizer, /</g, request, "");
  } finally {
    String.prototype.includes = includes;
  }
  assert(searches < 10, `${searches} searches`);
});
