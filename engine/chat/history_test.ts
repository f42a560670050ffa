/** What clients and models have said before: all of it is in the prompt, whatever the template takes. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { ChatMessage } from "./conversation.ts";
import type { ChatFormat } from "./chat_format.ts";
import { loadChat } from "./load.ts";
import { M40Error } from "../errors.ts";
import { loadTokenizer } from "../mod.ts";
import {
  assistant,
  call,
  calling,
  CONVERSATIONS,
  result,
  system,
  user,
} from "../../tests/fixtures/conversations.ts";
import { BASIC, vocabularyMetadata } from "../../tests/fixtures/tokenizer_metadata.ts";

const METADATA = vocabularyMetadata([...BASIC, "▁"], {});
const TOKENIZER = loadTokenizer(METADATA);

const TOOLS = [{ name: "f", description: "d" }];

async function withTemplate<T>(
  template: string,
  work: (chat: ChatFormat) => Promise<T>,
): Promise<T> {
  await using chat = loadChat(METADATA, TOKENIZER, template)!;
  return await work(chat);
}

const prompt = (template: string, messages: ChatMessage[], more = {}) =>
  withTemplate(template, async (chat) => (await chat.prompt({ messages, ...more })).text);

const CALLS =
  "{% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}";

/** Templates that each leave something out, as published ones do. */
const TEMPLATES = {
  "the first part of a system message": // Mistral Small 3.2
    "{% if messages[0].role == 'system' %}[{{ messages[0].content if messages[0].content is string else messages[0].content[0].text }}]{% endif %}" +
    "{% for m in messages if m.role != 'system' %}{{ m.role }}:{{ m.content }}" + CALLS +
    "|{% endfor %}",
  "the first part of anything": // Apriel 1.5
    "{% for m in messages %}{{ m.role }}:{{ m.content if m.content is string else m.content[0].text }}" +
    CALLS + "|{% endfor %}",
  "one system message": // MiniMax, Nemotron
    "{% for m in messages %}{% if m.role != 'system' or loop.first %}{{ m.role }}:{{ m.content }}" +
    CALLS + "|{% endif %}{% endfor %}",
  "the last of two system messages": // DeepSeek R1
    "{% set ns = namespace(s='') %}{% for m in messages if m.role == 'system' %}{% set ns.s = m.content %}{% endfor %}{{ ns.s }}|" +
    "{% for m in messages if m.role != 'system' %}{{ m.role }}:{{ m.content }}" + CALLS +
    "|{% endfor %}",
  "roles in turn": // Mistral
    "{% set ns = namespace(n=0) %}{% for m in messages %}{% if m.role == 'user' or (m.role == 'assistant' and not m.tool_calls) %}" +
    "{% if (m.role == 'user') != (ns.n % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}{% set ns.n = ns.n + 1 %}{% endif %}" +
    "{% if m.role == 'system' and not loop.first %}{{ raise_exception('system first') }}{% endif %}" +
    "{{ m.role }}:{{ m.content if not m.tool_calls }}" + CALLS + "|{% endfor %}",
  "one call, and nothing next to it": // Llama 3
    "{% for m in messages %}{% if m.tool_calls %}{% if m.tool_calls | length != 1 %}{{ raise_exception('one call') }}{% endif %}" +
    CALLS +
    "{% else %}{{ m.role }}:{{ m.content }}{% endif %}|{% endfor %}",
  "no content next to thoughts and a call": // gpt-oss
    "{% for m in messages %}{% if m.content and m.thinking and m.tool_calls %}{{ raise_exception('both') }}{% endif %}{{ m.role }}:{{ m.content }}" +
    CALLS + "|{% endfor %}",
  "no empty answer": // Ministral 3
    "{% for m in messages %}{% if m.role == 'assistant' and not m.content and not m.tool_calls %}{{ raise_exception('says nothing') }}{% endif %}{{ m.role }}:{{ m.content }}" +
    CALLS + "|{% endfor %}",
  "a result without its call": // gpt-oss
    "{% set ns = namespace(called=false) %}{% for m in messages %}" +
    "{% if m.role == 'tool' and not ns.called %}{{ raise_exception('no call before') }}{% endif %}" +
    "{% if m.tool_calls %}{% set ns.called = true %}{% elif m.role != 'tool' %}{% set ns.called = false %}{% endif %}" +
    "{{ m.role }}:{{ m.content }}" + CALLS + "|{% endfor %}",
  "a result without its call, which it leaves out":
    "{% for m in messages %}{% if m.role != 'tool' or not loop.first and messages[loop.index0 - 1].role in ['assistant', 'tool'] %}" +
    "{{ m.role }}:{{ m.content }}" + CALLS + "|{% endif %}{% endfor %}",
  "a conversation without a user": // Qwen3.5
    "{% if not messages | selectattr('role', 'equalto', 'user') | list %}{{ raise_exception('No user query') }}{% endif %}" +
    "{% for m in messages %}{{ m.role }}:{{ m.content }}" + CALLS + "|{% endfor %}",
  "no system and no tools": // Gemma 2
    "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}{% for m in messages %}" +
    "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}{{ m.role }}:{{ m.content }}|{% endfor %}",
  "texts as JSON": "{% for m in messages %}{{ m.role }}:{{ m.content | tojson }}" + CALLS +
    "|{% endfor %}",
  "texts escaped, and trimmed": "{% for m in messages %}{{ m.role }}:{{ m.content | trim | e }}" +
    CALLS + "|{% endfor %}",
  "a system message in the last user's": // Mistral Nemo
    "{% for m in messages if m.role != 'system' %}{{ m.role }}:{% if loop.last and m.role == 'user' and messages[0].role == 'system' %}{{ messages[0].content }} {% endif %}{{ m.content }}" +
    CALLS + "|{% endfor %}",
};

for (const [lacking, template] of Object.entries(TEMPLATES)) {
  Deno.test(`every text is in the prompt, and once: ${lacking}`, async () => {
    await withTemplate(template, async (chat) => {
      for (const [name, messages] of Object.entries(CONVERSATIONS)) {
        for (const tools of [TOOLS, undefined]) {
          const { text } = await chat.prompt({ messages, tools });
          const wanted = JSON.stringify(messages).match(/T\d/g)!.toSorted();
          assertEquals((text.match(/T\d/g) ?? []).toSorted(), wanted, `${name}: ${text}`);
        }
      }
    });
  });
}

Deno.test("what a template shows as it is stays as it is", async () => {
  const template = "{% for m in messages %}{{ m.role }}:{{ m.content }}" + CALLS + "|{% endfor %}";
  const messages = [system("A"), system("B"), user("C"), user("D"), system("E"), assistant("F")];
  assertEquals(
    await prompt(template, messages),
    "system:A|system:B|user:C|user:D|system:E|assistant:F|",
  );
});

Deno.test("results have the names of the calls that they answer, though ids come again", async () => {
  const template = "{% for m in messages %}{{ m.role }}({{ m.name }}):{{ m.content }}" + CALLS +
    "|{% endfor %}";
  const rounds = [
    user("x"),
    calling(call("0", "first")),
    result("0", "1"),
    calling(call("0", "second")),
    result("0", "2"),
    calling(call("", "third"), call("", "fourth")),
    result("", "3"),
    result("", "4"),
  ];
  const text = await prompt(template, rounds);
  assertEquals(text.match(/tool\(\w+\):\d/g), [
    "tool(first):1",
    "tool(second):2",
    "tool(third):3",
    "tool(fourth):4",
  ]);
});

Deno.test("two calls where a template takes one come each with its result", async () => {
  const messages = [
    user("x"),
    calling(call("a", "one"), call("b", "two")),
    result("b", "of b"),
    result("a", "of a"),
    user("y"),
  ];
  const text = await prompt(TEMPLATES["one call, and nothing next to it"], messages);
  const order = ['"one"', "of a", '"two"', "of b", "user:y"].map((one) => text.indexOf(one));
  assert(order.every((at) => at >= 0), text);
  assertEquals(order.toSorted((a, b) => a - b), order);
});

Deno.test("a call that was cut is shown with its result as the model wrote it, and left out where none answers", async () => {
  const shown =
    "{% for m in messages %}{{ m.role }}:{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>" +
    '{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments if c.function.arguments is string else c.function.arguments | tojson }}}' +
    "</tool_call>{% endfor %}|{% endfor %}";
  const cut = '{"city": "Par';
  const answered = [user("x"), calling(call("a", "f", cut)), result("a", "no JSON")];
  assert((await prompt(shown, answered)).includes(cut));
  // Where a template wants a value, the text is in one.
  const object = await prompt(TEMPLATES["one system message"], answered);
  assert(object.includes(JSON.stringify(cut).slice(1, -1)) && object.includes("no JSON"), object);
  const open = [user("x"), assistant("y", { toolCalls: [call("a", "f", cut)] }), user("z")];
  assertEquals(await prompt(shown, open), "user:x|assistant:y|user:z|");
  for (const text of ["null", "[]", " ", "{}"]) {
    const none = [user("x"), calling(call("a", "f", text)), result("a", "r")];
    assert((await prompt(shown, none)).includes('"arguments": {}}'), text);
  }
  for (const text of ['{"a": NaN}', "[1]", "5", '"a"']) {
    const odd = [user("x"), calling(call("a", "f", text)), result("a", "r")];
    assert((await prompt(shown, odd)).includes(`"arguments": ${text}}`), text);
  }
});

Deno.test("a result whose call was cut is a tool's where the template takes that, else a text that says so", async () => {
  const messages = [
    result("a", "A"),
    user("x"),
    calling(call("b", "g")),
    result("b", "B"),
    result("c", "C"),
  ];
  const called = 'assistant:<tool_call>{"name": "g", "arguments": {}}</tool_call>|tool:B|tool:C|';
  const plain = "{% for m in messages %}{{ m.role }}:{{ m.content }}" + CALLS + "|{% endfor %}";
  assertEquals(await prompt(plain, messages), `tool:A|user:x|${called}`);
  const refusing = TEMPLATES["a result without its call"];
  assertEquals(
    await prompt(refusing, messages),
    `user:<tool_response>\nA\n</tool_response>|user:x|${called}`,
  );
});

Deno.test("a template that lists the tools where a message equals the last user's lists them once", async () => {
  // Mistral's: users and assistants in turn, and no text next to a call.
  const template = "{% set users = messages | selectattr('role', 'equalto', 'user') | list %}" +
    TEMPLATES["roles in turn"].replace(
      "{{ m.role }}:",
      "{% if tools and m == users[-1] %}TOOLS{{ tools | tojson }}{% endif %}{{ m.role }}:",
    );
  const messages = [
    user("x"),
    ...["a", "b", "c"].flatMap((id) => [
      assistant(`T${id}`, { toolCalls: [call(id)] }),
      result(id, "r"),
    ]),
  ];
  const text = await prompt(template, messages, { tools: TOOLS });
  assertEquals(text.match(/TOOLS|T[abc]/g)?.toSorted(), ["TOOLS", "Ta", "Tb", "Tc"], text);
});

Deno.test("an empty answer at the end is left out where the template refuses it, and started again to be continued", async () => {
  const messages = [user("a"), assistant("b"), user("c"), assistant("")];
  const template = TEMPLATES["no empty answer"];
  for (const continueFinal of [false, true]) {
    assertEquals(
      await prompt(template, messages, { continueFinal }),
      "user:a|assistant:b|user:c|",
    );
    assertEquals(await prompt(template, [assistant("")], { continueFinal }), "user:|");
  }
});

Deno.test("reasoning may be left out, also where it stands in the content", async () => {
  const template =
    "{% for m in messages %}{{ m.role }}:{{ m.content.split('</think>')[-1] }}|{% endfor %}";
  const messages = [
    user("a"),
    assistant("<think>b</think>c", { reasoning: "d" }),
    assistant("<think>e</think>"),
    user("f"),
  ];
  assertEquals(await prompt(template, messages), "user:a|assistant:c|assistant:|user:f|");
});

Deno.test("a text that a template leaves out wherever it is put is named", async () => {
  const template =
    "{% for m in messages if 'secret' not in m.content %}{{ m.role }}:{{ m.content }}|{% endfor %}";
  const secret = user("a secret, and " + "more ".repeat(99));
  const messages = [user("a"), assistant("b"), secret];
  const error = await assertRejects(() => prompt(template, messages), M40Error);
  assertEquals([error.code, error.param], ["invalid_request", "messages"]);
  const placed = [user("a"), assistant("b"), { ...secret, at: "input.7" }];
  const other = await assertRejects(() => prompt(template, placed), M40Error);
  assertEquals(other.param, "input.7");
  assert(other.message.includes("input.7, message 3 of 3"), other.message);
  assert(
    error.message.includes('message 3 of 3, of the role user ("a secret, and more'),
    error.message,
  );
  assert(error.message.length < 400);
});

Deno.test("a tool without a description has an empty one where the template needs it, and none elsewhere", async () => {
  const tools = [{ name: "f" }];
  const needs =
    "{% for t in tools or [] %}{{ '// ' + t.function.description }}{{ t.function.name }}|{% endfor %}" +
    TEMPLATES["one system message"];
  assert((await prompt(needs, [user("x")], { tools })).startsWith("// f|"));
  const shows = "{{ tools | tojson }}" + TEMPLATES["one system message"];
  assert(!(await prompt(shows, [user("x")], { tools })).includes("description"));
});

Deno.test("the format of calls is that in which the template writes one, whatever tags it speaks of", async () => {
  const speaks = "{% if tools %}{{ tools | tojson }} Write no <tool_call></tool_call>.{% endif %}";
  const writes = (open: string, close: string, inner = "{{ c.function | tojson }}") =>
    speaks + "{% for m in messages %}{{ m.role }}:{{ m.content }}" +
    `{% for c in m.tool_calls or [] %}${open}${inner}${close}{% endfor %}|{% endfor %}`;
  const formats = {
    hermes: writes("<tool_call>", "</tool_call>"),
    apriel: writes("<tool_calls>[", "]</tool_calls>"),
    generic: writes("<call>", "</call>"),
    "qwen-xml": writes(
      "<tool_call>\n<function={{ c.function.name }}>\n",
      "</function>\n</tool_call>",
      "{% for k, v in c.function.arguments.items() %}<parameter={{ k }}>\n{{ v }}\n</parameter>\n{% endfor %}",
    ),
  };
  for (const [format, template] of Object.entries(formats)) {
    await withTemplate(template, async (chat) => {
      const { tools } = await chat.prompt({ messages: [user("x")], tools: TOOLS });
      assertEquals(tools?.format.name, format);
    });
  }
});

Deno.test("templates that want a list of tools get an empty one where there are none", async () => {
  const template = "{% for t in tools %}{{ t | tojson }}{% endfor %}" +
    TEMPLATES["one system message"];
  assertEquals(await prompt(template, [user("x")]), "user:x|");
});

Deno.test("an effort becomes the nearest word that the template takes", async () => {
  const shown =
    "{{ reasoning_effort if reasoning_effort is defined else 'none' }}:{{ messages[0].content }}";
  const refusing = (words: string) =>
    `{% if reasoning_effort is defined and reasoning_effort not in ${words} %}{{ raise_exception('no such effort') }}{% endif %}` +
    shown;
  const ignoring = (words: string) =>
    `{% set e = reasoning_effort if reasoning_effort in ${words} else 'default' %}{{ e }}:{{ messages[0].content }}`;
  const cases: [template: string, expectedWords: Record<string, string>][] = [
    [refusing("['low', 'medium', 'xhigh']"), { // Qwen3.8
      minimal: "low",
      low: "low",
      medium: "medium",
      high: "medium",
      xhigh: "xhigh",
      max: "xhigh",
      odd: "none",
    }],
    [refusing("['high']"), { minimal: "high", low: "high", max: "high" }],
    [refusing("[]"), { low: "none", high: "none" }],
    [shown, {
      minimal: "low",
      medium: "medium",
      high: "high",
      xhigh: "high",
      max: "high",
      odd: "odd",
    }],
    [ignoring("['low', 'high']"), { minimal: "low", medium: "default", max: "high" }],
    [ignoring("['minimal', 'low']"), { minimal: "minimal", high: "default", max: "default" }],
  ];
  for (const [template, expectedWords] of cases) {
    await withTemplate(template, async (chat) => {
      for (const [reasoningEffort, word] of Object.entries(expectedWords)) {
        const { text } = await chat.prompt({ messages: [user("x")], reasoningEffort });
        assertEquals(text, `${word}:x`, `${reasoningEffort} in ${template}`);
      }
    });
  }
});

Deno.test("ten thousand messages whose texts come again are looked through in one go", async () => {
  const messages = Array.from({ length: 5000 }, (_, i) => [
    user(`${i % 7} ok`),
    assistant(`${i % 5} <b>ok</b>`),
  ]).flat();
  // The texts are cut, so that none is found as it is.
  const template = "{% for m in messages %}{{ m.content | e }}|{% endfor %}";
  const text = await prompt(template, messages);
  assertEquals(text.split("|").length, messages.length + 1);
});
