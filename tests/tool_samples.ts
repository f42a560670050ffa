/**
 * Calls of tools as models write them, a sample or more a format.
 *
 * @module
 */
import type { Tool } from "../engine/chat/conversation.ts";
import { DEEPSEEK_V3, DEEPSEEK_V31 } from "../engine/chat/tools/deepseek.ts";
import { GEMMA4 } from "../engine/chat/tools/gemma4.ts";
import { GLM_45, GLM_47 } from "../engine/chat/tools/glm.ts";
import { HARMONY } from "../engine/chat/tools/harmony.ts";
import { LFM2 } from "../engine/chat/tools/lfm2.ts";
import { COMMAND, GRANITE, NEMOTRON } from "../engine/chat/tools/listed_calls.ts";
import { LLAMA } from "../engine/chat/tools/llama.ts";
import { MISTRAL, MISTRAL_ARGS } from "../engine/chat/tools/mistral.ts";
import { QWEN_XML, SEED_XML } from "../engine/chat/tools/qwen_xml.ts";
import type { ToolFormat } from "../engine/chat/tools/tool_format.ts";

/** What an answer says, and what it calls. */
export interface Sample {
  readonly format: ToolFormat;
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly arguments: unknown }[];
}

/** Tools with parameters of every kind. */
export const TOOLS: readonly Tool[] = [
  {
    name: "get_weather",
    description: "The weather of a place.",
    parameters: {
      type: "object",
      properties: {
        city: { type: "string", description: "Where." },
        days: { type: "integer", minimum: 1, maximum: 14 },
        unit: { type: "string", enum: ["C", "F", "metric system"] },
        hourly: { type: "boolean" },
      },
      required: ["city"],
    },
  },
  {
    name: "write-file",
    parameters: {
      type: "object",
      properties: {
        path: { type: "string", minLength: 1, maxLength: 30 },
        text: { type: "string" },
        mode: { anyOf: [{ type: "integer" }, { type: "null" }] },
        tags: { type: "array", items: { type: "string" } },
        owner: { $ref: "#/$defs/person" },
      },
      required: ["path", "text"],
      $defs: {
        person: {
          type: "object",
          properties: { name: { type: "string" }, friend: { $ref: "#/$defs/person" } },
          required: ["name"],
          additionalProperties: false,
        },
      },
    },
  },
  { name: "now" },
];

const PARIS = { name: "get_weather", arguments: { city: "Paris" } };
const WEATHER = {
  name: "get_weather",
  arguments: { city: 'Sankt "Gallen"\n\\ 7', days: 3, hourly: true },
};
const FILE = {
  name: "write-file",
  arguments: {
    path: "a/b.txt",
    text: "if (a < b) {\n  x = '</x>';\n}\n",
    mode: null,
    tags: ["é", "]}"],
    owner: { name: "Ada", friend: { name: "Bob" } },
  },
};
const NOW = { name: "now", arguments: {} };

/** The samples; their layout is that of the models' own templates. */
export const SAMPLES: readonly Sample[] = [
  {
    format: QWEN_XML,
    text:
      '<tool_call>\n<function=get_weather>\n<parameter=city>\nSankt "Gallen"\n\\ 7\n</parameter>\n' +
      "<parameter=days>\n3\n</parameter>\n<parameter=hourly>\ntrue\n</parameter>\n</function>\n</tool_call>\n" +
      "<tool_call>\n<function=now>\n</function>\n</tool_call>",
    calls: [WEATHER, NOW],
  },
  {
    format: QWEN_XML,
    text:
      "<tool_call>\n<function=write-file>\n<parameter=path>\na/b.txt\n</parameter>\n<parameter=text>\n" +
      "if (a < b) {\n  x = '</x>';\n}\n\n</parameter>\n<parameter=mode>\nnull\n</parameter>\n<parameter=tags>\n" +
      '["é", "]}"]\n</parameter>\n<parameter=owner>\n{"name": "Ada", "friend": {"name": "Bob"}}\n</parameter>\n' +
      "</function>\n</tool_call>",
    calls: [FILE],
  },
  {
    format: SEED_XML,
    text:
      "<seed:tool_call>\n<function=get_weather>\n<parameter=city>Paris</parameter>\n</function>\n</seed:tool_call>",
    calls: [PARIS],
  },
  {
    format: GLM_45,
    text:
      '<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Sankt "Gallen"\n\\ 7</arg_value>\n' +
      "<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n<arg_key>hourly</arg_key>\n<arg_value>true</arg_value>\n" +
      "</tool_call>\n<tool_call>now\n</tool_call>",
    calls: [WEATHER, NOW],
  },
  {
    format: GLM_47,
    text: "<tool_call>get_weather<arg_key>city</arg_key><arg_value>Paris</arg_value></tool_call>" +
      "<tool_call>now</tool_call>",
    calls: [PARIS, NOW],
  },
  {
    format: GLM_47,
    text:
      "<tool_call>write-file<arg_key>path</arg_key><arg_value>a/b.txt</arg_value><arg_key>text</arg_key>" +
      "<arg_value>if (a < b) {\n  x = '</x>';\n}\n</arg_value><arg_key>mode</arg_key><arg_value>null</arg_value>" +
      '<arg_key>tags</arg_key><arg_value>["é", "]}"]</arg_value><arg_key>owner</arg_key>' +
      '<arg_value>{"name": "Ada", "friend": {"name": "Bob"}}</arg_value></tool_call>',
    calls: [FILE],
  },
  {
    format: LLAMA,
    text:
      '{"name": "get_weather", "parameters": {"city": "Sankt \\"Gallen\\"\\n\\\\ 7", "days": 3, "hourly": true}}',
    calls: [WEATHER],
  },
  { format: LLAMA, text: '<|python_tag|>{"name": "now", "parameters": {}}', calls: [NOW] },
  {
    format: MISTRAL,
    text:
      '[TOOL_CALLS] [{"name": "get_weather", "arguments": {"city": "Paris"}, "id": "a1B2c3D4e"}, ' +
      '{"name": "now", "arguments": {}}]',
    calls: [PARIS, NOW],
  },
  {
    format: MISTRAL_ARGS,
    text: '[TOOL_CALLS]get_weather[ARGS]{"city": "Paris"}[TOOL_CALLS]now[CALL_ID]a1B2c3D4e[ARGS]{}',
    calls: [PARIS, NOW],
  },
  {
    format: HARMONY,
    text:
      '<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Paris"}',
    calls: [PARIS],
  },
  {
    format: HARMONY,
    text: "<|start|>assistant to=functions.now<|channel|>commentary <|constrain|>json<|message|>{}",
    calls: [NOW],
  },
  {
    format: GEMMA4,
    text:
      '<|tool_call>call:get_weather{city:<|"|>Sankt "Gallen"\n\\ 7<|"|>,days:3,hourly:true}<tool_call|>' +
      "<|tool_call>call:now{}<tool_call|>",
    calls: [WEATHER, NOW],
  },
  {
    format: GEMMA4,
    text:
      '<|tool_call>call:write-file{path:"a/b.txt",text:<|"|>if (a < b) {\n  x = \'</x>\';\n}\n<|"|>,mode:null,' +
      'tags:[<|"|>é<|"|>,<|"|>]}<|"|>],owner:{name:<|"|>Ada<|"|>,friend:{name:<|"|>Bob<|"|>}}}<tool_call|>',
    calls: [FILE],
  },
  {
    format: DEEPSEEK_V3,
    text:
      '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{"city": "Paris"}' +
      "\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{}\n```<｜tool▁call▁end｜>" +
      "<｜tool▁calls▁end｜>",
    calls: [PARIS, NOW],
  },
  {
    format: DEEPSEEK_V31,
    text:
      '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Paris"}<｜tool▁call▁end｜>' +
      "<｜tool▁call▁begin｜>now<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    calls: [PARIS, NOW],
  },
  {
    format: GRANITE,
    text:
      '<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Paris"}}, {"name": "now", "arguments": {}}]',
    calls: [PARIS, NOW],
  },
  {
    format: NEMOTRON,
    text: '<TOOLCALL>[{"name": "get_weather", "arguments": {"city": "Paris"}}]</TOOLCALL>',
    calls: [PARIS],
  },
  {
    format: COMMAND,
    text:
      '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Paris"}},' +
      '\n    {"tool_call_id": "1", "tool_name": "now", "parameters": {}}\n]<|END_ACTION|>',
    calls: [PARIS, NOW],
  },
  {
    format: LFM2,
    text:
      '<|tool_call_start|>[get_weather(city="Sankt \\"Gallen\\"\\n\\\\ 7", days=3, hourly=True), now()]' +
      "<|tool_call_end|>",
    calls: [WEATHER, NOW],
  },
  {
    format: LFM2,
    text:
      "<|tool_call_start|>[write-file(path='a/b.txt', text='if (a < b) {\\n  x = \\'</x>\\';\\n}\\n', mode=None, " +
      "tags=['\\u00e9', ']}'], owner={'name': 'Ada', 'friend': {'name': 'Bob'}})]<|tool_call_end|>",
    calls: [FILE],
  },
];

/** What a sample is called in the name of a test. */
export const sampleName = ({ format, calls }: Sample) =>
  `${format.name} (${calls.map(({ name }) => name).join(", ")})`;
