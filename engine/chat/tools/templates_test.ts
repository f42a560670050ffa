import { assert, assertEquals, assertThrows } from "@std/assert";
import type { Tool, ToolChoice } from "../conversation.ts";
import { HarmonyReasoning } from "../harmony_reasoning.ts";
import { loadChat } from "../load.ts";
import type { OutputFormat } from "../reasoning.ts";
import { TaggedReasoning } from "../tagged_reasoning.ts";
import { BUILT_IN_TEMPLATES } from "../templates/mod.ts";
import { HARMONY } from "./harmony.ts";
import { LLAMA } from "./llama.ts";
import { QWEN_XML } from "./qwen_xml.ts";
import { ScannedCalls } from "./scanned_calls.ts";
import type { ToolFormat } from "./tool_format.ts";
import { toolConstraint } from "./tool_grammar.ts";
import { ToolOutput } from "./tool_output.ts";
import { M40Error } from "../../errors.ts";
import { CompiledConstraint } from "../../grammar/constraint.ts";
import { loadTokenizer } from "../../mod.ts";
import { SAMPLES, TOOLS } from "../../../tests/fixtures/tool_samples.ts";
import { BASIC, bool, vocabularyMetadata } from "../../../tests/fixtures/tokenizer_metadata.ts";

const CONTROL = [
  ...["<|im_start|>", "<|im_end|>", "<|start|>", "<|end|>", "<|message|>", "<|channel|>"],
  ...["<|constrain|>", "<|return|>", "<|call|>", "[TOOL_CALLS]", "[ARGS]", "<|tool_call>"],
  ...["<tool_call|>", '<|"|>', "<|tool_call|>", "<|tool_call_start|>", "<|tool_call_end|>"],
  ...["<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁begin｜>"],
  ...["<｜tool▁call▁end｜>", "<｜tool▁sep｜>", "<|eot_id|>", "<|python_tag|>"],
];
const METADATA = vocabularyMetadata(
  [...BASIC, "▁", ...CONTROL.map((text) => ({ text, type: 3 }))],
  { "tokenizer.ggml.add_space_prefix": bool(false) },
);
const TOKENIZER = loadTokenizer(METADATA);

/** The format of each template that knows tools. */
const FORMATS: Readonly<Record<string, string>> = {
  "deepseek": "deepseek-v3",
  "deepseek-r1": "deepseek-v3",
  "deepseek-v3.1": "deepseek-v3.1",
  "gemma4": "gemma4",
  "glm4.5": "glm-4.5",
  "gpt-oss": "harmony",
  "granite": "granite",
  "lfm2": "lfm2",
  "llama3": "llama",
  "llama4": "llama",
  "mistral-tekken": "mistral",
  "mistral-v11": "mistral-args",
  "mistral-v13": "mistral-args",
  "mistral-v3": "mistral",
  "mistral-v7": "mistral",
  "qwen3": "hermes",
  "qwen3-coder": "qwen-xml",
  "seed-oss": "seed-xml",
};

Deno.test("the format of calls follows from the template; of one that knows no tools it is the generic one", async () => {
  for (const name of BUILT_IN_TEMPLATES.keys()) {
    const chat = loadChat(METADATA, TOKENIZER, name)!;
    const { tools } = await chat.prompt({
      messages: [{ role: "user", content: "Rain?" }],
      tools: TOOLS,
    });
    assertEquals(tools?.format.name, FORMATS[name] ?? "generic", name);
    await chat.close();
  }
});

/** Calls whose arguments have all that the notations treat in their own ways. */
const ARGUMENTS = [
  { city: "Z\"ü\\n\\rich\n</parameter> {[('", days: 3, hourly: true },
  { city: "<|im_end|><tool_call><|call|></s>[TOOL_CALLS]", unit: "metric system" },
  { city: "" },
];

for (const name of BUILT_IN_TEMPLATES.keys()) {
  if (FORMATS[name] === undefined) continue;
  Deno.test(`${name}: a call that its template writes is one that its format reads`, async () => {
    await using chat = loadChat(METADATA, TOKENIZER, name)!;
    for (const value of ARGUMENTS) {
      // The end of a value, as the format has it, would end this one.
      const given = /-xml/.test(FORMATS[name])
        ? { ...value, city: value.city.replaceAll("</parameter>", "") }
        : value;
      const text = JSON.stringify(given);
      const { text: prompt, tools } = await chat.prompt({
        messages: [
          { role: "user", content: "Rain?" },
          {
            role: "assistant",
            content: null,
            toolCalls: [{ id: "abcdefgh1", name: "get_weather", arguments: text }],
          },
          { role: "tool", toolCallId: "abcdefgh1", content: "No." },
        ],
        tools: TOOLS,
      });
      const { format } = tools!;
      assertEquals(format.name, FORMATS[name]);
      const called = prompt.slice(prompt.lastIndexOf("Rain?"));
      const starts = format.openers(TOOLS).map((opener) => called.indexOf(opener));
      const at = Math.min(...starts.filter((at) => at >= 0));
      assert(Number.isFinite(at), prompt);
      const reader = new ScannedCalls(format.read, TOOLS);
      const pieces = [reader.push(called.slice(at)), reader.flush()]
        .flatMap(({ toolCalls }) => toolCalls);
      assertEquals(pieces[0].name, "get_weather");
      assertEquals(JSON.parse(pieces.map((piece) => piece.arguments).join("")), given, prompt);
      assert(prompt.includes("No."), prompt);
    }
  });
}

/** What is read of an output that is written like this, and whether the grammar allows it. */
function outcome(
  format: ToolFormat,
  output: OutputFormat,
  text: string,
  choice: Exclude<ToolChoice, "none"> = "auto",
) {
  const tokens = TOKENIZER.encode(text, { addSpecial: false, parseSpecial: true });
  const use = { format, tools: TOOLS, choice, parallel: true };
  const reader = new ToolOutput(output, use, TOKENIZER).reader();
  const decoder = TOKENIZER.decoder({ continuing: true });
  const pieces = [
    ...tokens.map((token) => reader.push(token, decoder.push(token))),
    reader.flush(decoder.flush()),
  ];
  const calls = pieces.flatMap(({ toolCalls = [] }) => toolCalls);
  return {
    reasoning: pieces.map(({ reasoning }) => reasoning).join(""),
    text: pieces.map(({ text }) => text).join(""),
    names: calls.flatMap(({ name }) => name ?? []),
    arguments: calls.map((call) => call.arguments).join(""),
  };
}

const CONTENT = new TaggedReasoning(TOKENIZER, "content");
const harmony = (prompt: string) =>
  HarmonyReasoning.of(
    TOKENIZER,
    TOKENIZER.encode(prompt, { addSpecial: false, parseSpecial: true }),
  )!;

Deno.test("Llama: an object with the name of no tool is content, as is one that speaks of a tool later on", () => {
  for (
    const said of ['{"name": "Ada", "age": 3}', '{"tool": {"name": "now2"}}', '{ "name": "now"}']
  ) {
    const { text, names } = outcome(LLAMA, CONTENT, said);
    assertEquals({ text, names }, { text: said, names: [] });
  }
  const called = outcome(LLAMA, CONTENT, 'I look. {"name":"now", "parameters": {}}');
  assertEquals([called.text, called.names, called.arguments], ["I look.", ["now"], "{}"]);
});

Deno.test("Qwen3-Coder: a call without the tag around it is one where the function is known", () => {
  const call = "<function=now>\n</function>\n</tool_call>";
  assertEquals(outcome(QWEN_XML, CONTENT, call).names, ["now"]);
  const other = "Write <function=other> for it.";
  assertEquals(outcome(QWEN_XML, CONTENT, other).text, other);
});

Deno.test("gpt-oss: a call is read behind analysis, by its channel or its role, and speaking of one is none", () => {
  const json = '<|constrain|>json<|message|>{"city": "Bern"}';
  const analysis = "<|channel|>analysis<|message|>I write to=functions.now or so.<|end|>";
  const thought = "I write to=functions.now or so.";
  const calls = [
    `${analysis}<|start|>assistant<|channel|>commentary to=functions.get_weather ${json}`,
    `${analysis}<|start|>assistant to=functions.get_weather<|channel|>commentary ${json}`,
  ];
  for (const text of calls) {
    const read = outcome(HARMONY, harmony("<|start|>assistant"), text);
    assertEquals(read, {
      reasoning: thought,
      text: "",
      names: ["get_weather"],
      arguments: '{"city": "Bern"}',
    });
  }
  const first = outcome(
    HARMONY,
    harmony("<|start|>assistant"),
    ` to=functions.now<|channel|>commentary <|constrain|>json<|message|>{}`,
  );
  assertEquals([first.names, first.arguments, first.text], [["now"], "{}", ""]);
  const answer = outcome(
    HARMONY,
    harmony("<|start|>assistant"),
    `${analysis}<|start|>assistant<|channel|>final<|message|>Use to=functions.now.`,
  );
  assertEquals([answer.text, answer.names], ["Use to=functions.now.", []]);
});

Deno.test("gpt-oss: a budget of reasoning leaves the arguments of a call alone", () => {
  const prompt = "<|start|>assistant";
  for (
    const header of [
      "<|channel|>commentary to=functions.now <|constrain|>json<|message|>",
      " to=functions.now<|channel|>commentary <|constrain|>json<|message|>",
    ]
  ) {
    const encode = (text: string) =>
      TOKENIZER.encode(text, { addSpecial: false, parseSpecial: true });
    const steering = harmony(prompt).limit(2);
    const tokens = encode(`${header}{"city": "Bern"}`);
    for (let i = 0; i <= tokens.length; i++) {
      assertEquals(steering.next!(tokens.slice(0, i)), undefined);
    }
  }
});

Deno.test("parameters that a format cannot write one by one are refused with the keyword and the tool", () => {
  const refused = (parameters: unknown, word: string) => {
    const tools: Tool[] = [{ name: "odd", parameters, strict: true }];
    for (
      const { format } of SAMPLES.filter(({ format }) => /xml|glm|lfm2|gemma4/.test(format.name))
    ) {
      const use = { format, tools, choice: "auto", parallel: true } as const;
      const error = assertThrows(
        () => new CompiledConstraint(toolConstraint(TOKENIZER, use)),
        M40Error,
      );
      assertEquals(error.code, "invalid_request");
      assert(error.message.includes(word) && error.message.includes("odd"), error.message);
    }
  };
  refused({ type: "object", oneOf: [{ required: ["a"] }, { required: ["b"] }] }, "oneOf");
  refused({ type: "object", properties: { a: {} }, minProperties: 1 }, "minProperties");
  refused({ type: "array" }, "object");
  refused({ $ref: "#/nowhere" }, "$ref");
});

Deno.test("LFM2: calls are in the text of a template that cannot show them, and nothing of them steers the model", async () => {
  const template = "{{- 'List of tools: <|tool_list_start|>' + tools | tojson if tools else '' }}" +
    "{%- for message in messages %}{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' }}{%- endfor %}";
  await using chat = loadChat(METADATA, TOKENIZER, template)!;
  const value = { city: "<|tool_call_end|>", days: null, hourly: [true, { a: 1.5 }] };
  const call = { id: "1", name: "get_weather", arguments: JSON.stringify(value) };
  const { text, tokens, tools } = await chat.prompt({
    messages: [
      { role: "user", content: "Rain?" },
      {
        role: "assistant",
        content: "I look.",
        toolCalls: [call, { ...call, name: "now", arguments: "{}" }],
      },
      { role: "tool", toolCallId: "1", content: "No." },
    ],
    tools: TOOLS,
  });
  assertEquals(tools?.format.name, "lfm2");
  const called = '<|tool_call_start|>[get_weather(city="<|tool_call_end|>", days=None, ' +
    'hourly=[True, {"a": 1.5}]), now()]<|tool_call_end|>';
  assert(text.includes(`I look.\n${called}<|im_end|>`), text);
  const ends = tokens.filter((token) => token === TOKENIZER.tokenId("<|tool_call_end|>"));
  assertEquals(ends.length, 1);
  const reader = new ScannedCalls(tools!.format.read, TOOLS);
  const pieces = [...reader.push(called).toolCalls, ...reader.flush().toolCalls];
  assertEquals(pieces.map(({ name }) => name), ["get_weather", "now"]);
  assertEquals(JSON.parse(pieces[0].arguments), value);
});

Deno.test("a parameter whose name ends too soon between tags is left out, or refused where it is required", () => {
  const odd = "a>\n</arg_key>\n<arg_value></arg_key><arg_value>";
  const properties = { [odd]: { type: "string" }, b: { type: "string" } };
  for (const { format } of SAMPLES.filter(({ format }) => /xml|glm/.test(format.name))) {
    const constraint = (required: readonly string[]) =>
      toolConstraint(TOKENIZER, {
        format,
        tools: [{ name: "f", parameters: { type: "object", properties, required } }],
        choice: "auto",
        parallel: true,
      });
    new CompiledConstraint(constraint(["b"]));
    assertThrows(() => new CompiledConstraint(constraint([odd])), M40Error, "name it otherwise");
  }
});
