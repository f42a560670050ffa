/**
 * What becomes of a conversation for templates that know less than it has, and which template a model gets.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { ChatMessage, ChatRequest } from "./conversation.ts";
import { loadChat } from "./load.ts";
import type { RenderMessage } from "./render_job.ts";
import { renderTemplate } from "./render_template.ts";
import { BUILT_IN_TEMPLATES } from "./templates/mod.ts";
import { M40Error } from "../errors.ts";
import { loadTokenizer } from "../tokenizer/load.ts";
import {
  BASIC,
  bool,
  string,
  type TokenInput,
  uint32,
  vocabularyMetadata,
} from "../../tests/fixtures/tokenizer_metadata.ts";

function render(template: string, messages: ChatMessage[], more: Partial<ChatRequest> = {}) {
  return renderTemplate({
    template,
    messages: messages as RenderMessage[],
    continueFinal: more.continueFinal ?? false,
    specialTokens: { bos_token: "<s>", eos_token: "</s>" },
    variables: more.templateVariables ?? {},
    mark: "",
    endMark: "\ue001",
  }).text;
}

const builtIn = (name: string) => BUILT_IN_TEMPLATES.get(name)!;
const user = (content: ChatMessage["content"]): ChatMessage => ({ role: "user", content });
const system = (content: ChatMessage["content"]): ChatMessage => ({ role: "system", content });
const parts = (...texts: string[]) => texts.map((text) => ({ type: "text" as const, text }));

Deno.test("a developer's message is a system message where the template knows no developer", () => {
  const messages: ChatMessage[] = [{ role: "developer", content: "Be brief." }, user("Hi")];
  assert(render(builtIn("chatml"), messages).startsWith("<|im_start|>system\nBe brief.<|im_end|>"));
  assert(
    render(builtIn("gpt-oss"), messages).includes(
      "developer<|message|># Instructions\n\nBe brief.",
    ),
  );
});

Deno.test("system messages go in front of the user's first where the template does not take them", () => {
  const refusing =
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no') }}{% endif %}" +
    "[{{ m.role }}: {{ m.content }}]{% endfor %}";
  const leavingOut =
    "{% for m in messages if m.role != 'system' %}[{{ m.role }}: {{ m.content }}]{% endfor %}";
  for (const template of [refusing, leavingOut]) {
    assertEquals(render(template, [system("A"), system("B"), user("c")]), "[user: A\n\nB\n\nc]");
    assertEquals(render(template, [system(""), user("c")]), "[user: c]");
    assertEquals(
      render(template, [user("a"), { role: "assistant", content: "b" }, system("S"), user("c")]),
      "[user: a][assistant: b][user: <system-reminder>\nS\n</system-reminder>\n\nc]",
    );
  }
});

Deno.test("parts are joined for templates that know texts alone, and texts are parts for the others", () => {
  const texts = "{% for m in messages %}{{ m.content.strip() }};{% endfor %}";
  const lists =
    "{% for m in messages %}{% for p in m.content %}({{ p.text }}){% endfor %};{% endfor %}";
  const both = "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}" +
    "{% for p in m.content %}({{ p['text'] }}){% endfor %}{% endif %};{% endfor %}";
  const written = "{% for m in messages %}{{ m.content }};{% endfor %}";
  const messages = [user("a"), user(parts("b", "c"))];
  assertEquals(render(texts, messages), "a;b\nc;");
  assertEquals(render(lists, messages), "(a);(b)(c);");
  assertEquals(render(both, messages), "a;(b)(c);");
  assertEquals(render(written, messages), "a;b\nc;");
});

Deno.test("no content is an empty text, and no Python's None", () => {
  const said: ChatMessage = { role: "assistant", content: null };
  assertEquals(
    render(builtIn("chatml"), [user("a"), said, user("b")]),
    "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n<|im_end|>\n<|im_start|>user\nb<|im_end|>\n" +
      "<|im_start|>assistant\n",
  );
});

Deno.test("an assistant's empty message that goes on is a new one that begins", () => {
  for (const content of ["", null, []]) {
    const messages: ChatMessage[] = [user("a"), { role: "assistant", content }];
    assertEquals(
      render(builtIn("chatml"), messages, { continueFinal: true }),
      render(builtIn("chatml"), [user("a")]),
    );
  }
});

Deno.test("a template that leaves out the message that is to be continued says so", () => {
  const template = "{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}";
  const messages: ChatMessage[] = [user("a"), { role: "assistant", content: "b" }];
  const error = (() => {
    try {
      return render(template, messages, { continueFinal: true });
    } catch (error) {
      return String(error);
    }
  })();
  assert(error.includes("leaves out the message"), error);
});

/** A model's vocabulary with these tokens, and these keys. */
function model(tokens: TokenInput[], changes: Parameters<typeof vocabularyMetadata>[1] = {}) {
  const metadata = vocabularyMetadata([...BASIC, ...tokens], {
    "tokenizer.ggml.add_space_prefix": bool(false),
    ...changes,
  });
  return { metadata, tokenizer: loadTokenizer(metadata) };
}

Deno.test("a model without a template gets ChatML's if its vocabulary is ChatML's, and says so", () => {
  const warnings: string[] = [];
  const onWarning = (warning: string) => warnings.push(warning);
  const plain = model([]);
  assertEquals(loadChat(plain.metadata, plain.tokenizer, undefined, { onWarning }), undefined);
  const half = model([{ text: "<|im_start|>", type: 3 }]);
  assertEquals(loadChat(half.metadata, half.tokenizer, undefined, { onWarning }), undefined);
  assertEquals(warnings, []);
  const tokens = [{ text: "<|im_start|>", type: 3 }, { text: "<|im_end|>", type: 3 }];
  const { metadata, tokenizer } = model(tokens);
  assertEquals(loadChat(metadata, tokenizer, undefined, { onWarning })?.source, "chatml");
  assertEquals(warnings.length, 1);
  const own = model(tokens, { "tokenizer.chat_template": string("{{ messages }}") });
  assertEquals(loadChat(own.metadata, own.tokenizer, undefined, { onWarning })?.source, "model");
  assertEquals(warnings.length, 1);
});

Deno.test("named templates are asked for by name, special tokens have theirs, and BOS comes once", async () => {
  const { metadata, tokenizer } = model([{ text: "<pad>", type: 3 }], {
    "tokenizer.chat_template": string("{{ bos_token }}default"),
    "tokenizer.chat_template.tool_use": string(
      "tools {{ pad_token }}{{ unk_token }}{{ eos_token }}",
    ),
    "tokenizer.ggml.padding_token_id": uint32(BASIC.length),
    "tokenizer.ggml.add_bos_token": bool(true),
  });
  const chat = loadChat(metadata, tokenizer)!;
  assertEquals(chat.templateNames, ["tool_use"]);
  const messages = [user("a")];
  const byDefault = await chat.prompt({ messages });
  assertEquals(byDefault.text, "<s>default");
  assertEquals(byDefault.tokens.filter((token) => token === 1).length, 1);
  const named = await chat.prompt({ messages, templateName: "tool_use" });
  assertEquals(named.text, "tools <pad><unk></s>");
  assertEquals(named.tokens[0], 1);
  await assertRejects(
    () => chat.prompt({ messages, templateName: "rag" }),
    M40Error,
    'no chat template "rag"; it has tool_use',
  );
  await chat.close();
});

Deno.test("a conversation that cannot fit is refused before it is encoded", async () => {
  const { metadata, tokenizer } = model([]);
  const chat = loadChat(metadata, tokenizer, "chatml", { contextTokens: 100 })!;
  const encode = tokenizer.encode.bind(tokenizer);
  let encoded = 0;
  tokenizer.encode = (text, options) => {
    encoded += text.length;
    return encode(text, options);
  };
  const error = await assertRejects(
    () => chat.prompt({ messages: [user("x".repeat(100_000))] }),
    M40Error,
  );
  assertEquals([error.code, error.param], ["context_length_exceeded", "messages"]);
  assert(encoded < 1000, `${encoded} characters were encoded`);
  await chat.close();
});

Deno.test("a long conversation renders and stays within its limits", async () => {
  const { metadata, tokenizer } = model([]);
  const chat = loadChat(metadata, tokenizer, "qwen3")!;
  const messages = Array.from({ length: 2001 }, (_, i): ChatMessage => ({
    role: i % 2 === 0 ? "user" : "assistant",
    content: "word ".repeat(50),
  }));
  const { text } = await chat.prompt({ messages });
  assertEquals(text.split("<|im_start|>").length, 2001 + 2);
  await chat.close();
});
