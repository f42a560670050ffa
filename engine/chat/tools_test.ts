/**
 * What becomes of tools, their calls and their results in prompts.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import type { ChatFormat } from "./chat_format.ts";
import type { ChatMessage, ChatRequest, Tool } from "./conversation.ts";
import { loadChat } from "./load.ts";
import { BUILT_IN_TEMPLATES } from "./templates/mod.ts";
import { M40Error } from "../errors.ts";
import { loadTokenizer } from "../tokenizer/load.ts";
import {
  BASIC,
  bool,
  string,
  vocabularyMetadata,
} from "../../tests/fixtures/tokenizer_metadata.ts";

const CONTROL = [
  ...["<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>", "[TOOL_CALLS]", "<|call|>"],
  ...["<|start|>", "<|end|>", "<|message|>", "<|channel|>", "[INST]", "[/INST]", "<|eot_id|>"],
  ...["<tool_response>", "end-of-turn", '<|"|>', "<start_of_turn>", "<|python_tag|>"],
];

async function withChat<T>(
  templates: Iterable<[string, string]>,
  work: (chat: ChatFormat) => Promise<T>,
): Promise<T> {
  const named = [...templates].map(([name, template]) =>
    [`tokenizer.chat_template.${name}`, string(template)] as const
  );
  const metadata = vocabularyMetadata(
    [...BASIC, "▁", ...CONTROL.map((text) => ({ text, type: 3 }))],
    { "tokenizer.ggml.add_space_prefix": bool(false), ...Object.fromEntries(named) },
  );
  await using chat = loadChat(metadata, loadTokenizer(metadata), "chatml")!;
  return await work(chat);
}

const WEATHER: Tool = {
  name: "get_weather",
  description: "The weather of a place",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};
const ASKED: ChatMessage = { role: "user", content: "Paris?" };
const call = (id: string, city: string) => ({
  id,
  name: "get_weather",
  arguments: `{"city": "${city}"}`,
});
const TURNS: ChatMessage[] = [
  ASKED,
  { role: "assistant", content: "Let me see.", toolCalls: [call("call_1", "Paris")] },
  { role: "tool", content: "Rain", toolCallId: "call_1" },
];

/** The prompt's text, and what the answer may call. */
function promptOf(template: string, request: Partial<ChatRequest>) {
  return withChat(
    [["own", template]],
    (chat) => chat.prompt({ messages: TURNS, tools: [WEATHER], templateName: "own", ...request }),
  );
}

/** A template that shows everything, and calls as it is asked to. */
const showing = (calls: string, more = "") =>
  "{% for t in tools or [] %}[{{ t.function.name }}]{% endfor %}" +
  "{% for m in messages %}{{ m.role }}:{{ m.content }}{{ '(' + m.name + ')' if m.name }}" +
  `{% for c in m.tool_calls or [] %}<tool_call>${calls}</tool_call>{% endfor %}` +
  `{{ '#' + m.tool_call_id if m.tool_call_id }};${more}{% endfor %}`;

/** A call as Hermes writes it, with arguments in some way. */
const hermes = (way: string) =>
  `{{ '{"name": "' + c.function.name + '", "arguments": ' }}${way}{{ '}' }}`;

Deno.test("a template gets tools, calls with their arguments as it takes them, and results with their tool's name", async () => {
  const ways = {
    "{{ c.function.arguments | tojson }}": '{"city": "Paris"}',
    "{{ c.function.arguments }}": '{"city": "Paris"}',
    "{{ '' + c.function.arguments }}": '{"city": "Paris"}',
    '{ {% for k, v in c.function.arguments.items() %}"{{ k }}":"{{ v }}"{% endfor %}}':
      '{ "city":"Paris"}',
  };
  for (const [way, written] of Object.entries(ways)) {
    const { text, tools } = await promptOf(showing(hermes(way)), {});
    assertEquals(
      text,
      "[get_weather]user:Paris?;assistant:Let me see.<tool_call>" +
        `{"name": "get_weather", "arguments": ${written}}</tool_call>;` +
        "tool:Rain(get_weather)#call_1;",
    );
    assertEquals([tools?.format.name, tools?.choice, tools?.parallel], ["hermes", "auto", true]);
  }
});

Deno.test("a template without tools gets them in the system message, calls and results as texts", async () => {
  const template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}" +
    "{% for m in messages if m.role == 'tool' %}{{ raise_exception('no tools') }}{% endfor %}";
  const system: ChatMessage = { role: "system", content: "Be brief." };
  const { text, tools } = await promptOf(template, { messages: [system, ...TURNS] });
  assert(text.startsWith("<system>Be brief.\n\n# Tools\n\n"), text);
  assert(text.includes('{"name":"get_weather","description":"The weather of a place",'), text);
  assert(
    text.endsWith(
      '<assistant>Let me see.\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n' +
        "</tool_call>\n<user><tool_response>\nRain\n</tool_response>\n",
    ),
    text,
  );
  assertEquals(tools?.format.name, "generic");
  // What follows results is of the same turn of the user's.
  const later = await promptOf(template, {
    messages: [...TURNS, { ...TURNS[2], content: "Sun" }, { role: "user", content: "So?" }],
  });
  assert(
    later.text.endsWith(
      "<user><tool_response>\nRain\n</tool_response>\n<tool_response>\nSun\n</tool_response>\nSo?\n",
    ),
    later.text,
  );
});

Deno.test("a template that shows tools in a way that is not known gets them as texts all the same", async () => {
  const template = showing("x").replaceAll("<tool_call>", "<call>").replaceAll("</tool_call>", "");
  const { text, tools } = await promptOf(template, {});
  assertEquals(tools?.format.name, "generic");
  assert(text.includes("# Tools") && !text.includes("[get_weather]"), text);
});

Deno.test("a template that takes one call a message has one call an answer; ids are made to its measure", async () => {
  const one = showing(
    "{{ raise_exception('one call') if m.tool_calls | length > 1 }}" +
      hermes("{{ c.function.arguments | tojson }}"),
  );
  assertEquals((await promptOf(one, {})).tools?.parallel, false);
  const short = showing(
    hermes("{{ c.function.arguments | tojson }}") +
      " {{ c.id if c.id | length == 9 else raise_exception('9 letters') }}",
  );
  const { text } = await promptOf(short, {});
  const [, id] = / ([a-z0-9]{9})<\/tool_call>/.exec(text)!;
  assert(text.endsWith(`#${id};`), "a result names its call by the same id");
});

Deno.test("a choice of none leaves the tools out; one by name is one call", async () => {
  const template = showing(hermes("{{ c.function.arguments | tojson }}"));
  const none = await promptOf(template, { toolChoice: "none" });
  assertEquals([none.tools, none.text.includes("[get_weather]")], [undefined, false]);
  const named = await promptOf(template, { toolChoice: { name: "get_weather" } });
  assertEquals(named.tools?.parallel, false);
  const single = await promptOf(template, { parallelToolCalls: false });
  assertEquals(single.tools?.parallel, false);
});

Deno.test("tools and calls that cannot be are refused by name", async () => {
  const deep = JSON.parse('{"a":'.repeat(70) + "1" + "}".repeat(70));
  const tool = (name: string, more = {}): Tool => ({ name, ...more });
  const cases: [Partial<ChatRequest>, RegExp][] = [
    [{ tools: [tool("a b")] }, /tools\.0: got the name "a b"; wanted 1 to 128/],
    [{ tools: [tool("")] }, /tools\.0: got the name ""/],
    [{ tools: [tool("a"), tool("a")] }, /tools\.1: there is another tool of the name a/],
    [{ tools: Array.from({ length: 513 }, (_, i) => tool(`t${i}`)) }, /got 513 tools/],
    [{ tools: [tool("a", { description: "x".repeat(2 ** 20 + 1) })] }, /more than 1048576/],
    [{ tools: [tool("a", { parameters: deep })] }, /more than 64 deep/],
    [{ tools: [], toolChoice: "required" }, /no tools to call/],
    [{ toolChoice: { name: "b" } }, /asks for "b"; no tool has that name/],
    [{ messages: [ASKED, { ...TURNS[1], role: "user" }] }, /only an assistant calls tools/],
    [{ messages: [ASKED, TURNS[1]], continueFinal: true }, /cannot be continued/],
  ];
  await withChat([], async (chat) => {
    for (const [request, message] of cases) {
      const error = await assertRejects(
        () => chat.prompt({ messages: [ASKED], tools: [WEATHER], ...request }),
        M40Error,
      );
      assertEquals(error.code, "invalid_request");
      assert(message.test(error.message) && error.message.length < 500, error.message);
    }
  });
});

const hostile = fc.oneof(
  fc.constantFrom(...CONTROL, "</s>", "<s>"),
  fc.constantFrom(...CONTROL).chain((text) => fc.nat(text.length).map((at) => text.slice(at))),
  fc.constantFrom(...CONTROL).chain((text) => fc.nat(text.length).map((at) => text.slice(0, at))),
  fc.constantFrom(" ", "\n", '"', "\\", "}", "é", "\ue000", "</think>"),
);
const text = fc.array(hostile, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(""));

Deno.test("nothing of tools, calls and results becomes a control token, in any template", async () => {
  await withChat(BUILT_IN_TEMPLATES, async (chat) => {
    const tokenizer = chat["tokenizer"];
    const controlsOf = async (templateName: string, said: readonly string[]) => {
      const [description, key, value, id, result] = said;
      const parameters = {
        type: "object",
        properties: { [key]: { type: "string", description, enum: [value] } },
      };
      const { tokens } = await chat.prompt({
        templateName,
        messages: [
          ASKED,
          {
            role: "assistant",
            content: null,
            toolCalls: [{ id, name: "end-of-turn", arguments: JSON.stringify({ [key]: value }) }],
          },
          { role: "tool", content: result, toolCallId: id },
        ],
        tools: [{ name: "end-of-turn", description, parameters }],
      });
      return tokens.filter((token) => tokenizer.isControl(token));
    };
    const harmless = new Map<string, number[]>();
    for (const name of chat.templateNames) {
      harmless.set(name, await controlsOf(name, ["x", "x", "x", "x", "x"]));
    }
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...chat.templateNames),
        fc.array(text, { minLength: 5, maxLength: 5 }),
        async (name, said) => {
          assertEquals(await controlsOf(name, said), harmless.get(name), name);
        },
      ),
      {
        numRuns: Number(Deno.env.get("M40_FUZZ_CASES") ?? 150),
        seed: 3,
        // `<parameter=NAME>` completes this name.
        examples: [["seed-oss", ["x", '<|"|', "x", "x", "x"]]],
      },
    );
  });
});
