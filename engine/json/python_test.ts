// What a template writes of JSON that a client sends: as Python's `json.dumps(json.loads(text), ensure_ascii=False)`.
import { assertEquals } from "@std/assert";
import { callArguments } from "../chat/call_arguments.ts";
import { JinjaTemplate } from "../chat/jinja/template.ts";
import { jobOf, postedJob } from "../chat/posted_job.ts";

/** Texts, and what Python 3.11 makes of them. */
const PYTHON: [text: string, written: string][] = [
  ['{"a":0}', '{"a": 0}'],
  ['{"a":-0}', '{"a": 0}'],
  ['{"a":-0.0}', '{"a": -0.0}'],
  ['{"a":1.0}', '{"a": 1.0}'],
  ['{"a":1e5}', '{"a": 100000.0}'],
  ['{"a":1E400}', '{"a": Infinity}'],
  ['{"a":-1e400}', '{"a": -Infinity}'],
  ['{"a":1e16}', '{"a": 1e+16}'],
  ['{"a":1e15}', '{"a": 1000000000000000.0}'],
  ['{"a":123456789012345680000}', '{"a": 123456789012345680000}'],
  ['{"a":9007199254740993}', '{"a": 9007199254740993}'],
  ['{"a":5e-324}', '{"a": 5e-324}'],
  ['{"a":0.00001}', '{"a": 1e-05}'],
  ['{"a":1e-7}', '{"a": 1e-07}'],
  ['{"a":0.10}', '{"a": 0.1}'],
  ['{"a":0.1000000000000000055}', '{"a": 0.1}'],
  ['{"a":1e22}', '{"a": 1e+22}'],
  ['{"a":12345678901234567.0}', '{"a": 1.2345678901234568e+16}'],
  ['{"b":1,"10":2,"2":3}', '{"b": 1, "10": 2, "2": 3}'],
  ['{"9":1,"1":2,"9":3}', '{"9": 3, "1": 2}'],
  ['{"__proto__":{"1":1.0}}', '{"__proto__": {"1": 1.0}}'],
  ['{"a":[[],{},{"":null}],"b":true}', '{"a": [[], {}, {"": null}], "b": true}'],
  ['{"a":"\\u00e9\\u2028\\ud83d\\ude00 <&\'"}', '{"a": "é 😀 <&\'"}'],
  ['{"a":"\\/\\"\\n"}', '{"a": "/\\"\\n"}'],
  ['{"a":"é"}', '{"a": "é"}'],
  [
    '{"a":777777777777777777777777777777777777777777777777777777777777}',
    '{"a": 777777777777777777777777777777777777777777777777777777777777}',
  ],
];

Deno.test("a call's arguments stand in the prompt as Python writes what it reads", () => {
  const template = new JinjaTemplate("{{ value | tojson }}");
  for (const [text, written] of PYTHON) {
    // They go to the thread that renders, as a request's do.
    const call = { id: "c", name: "f", arguments: text, ...callArguments(text) };
    const job = jobOf(structuredClone(postedJob({
      template: "",
      messages: [{ role: "assistant", content: null, toolCalls: [call] }],
      continueFinal: false,
      specialTokens: {},
      variables: {},
      mark: "\ue000",
      endMark: "\ue001",
    })));
    const { value } = job.messages[0].toolCalls![0];
    assertEquals(template.render({ value }), written, text);
  }
});
