/**
 * A model that says what a script wants: real weights and a real vocabulary, computed like any other's, made such
 * that the last character of the prompt alone decides the answer.
 *
 * @module
 */
import { arrayEntry, entry } from "../engine/gguf/entries.ts";
import type { MetadataEntry } from "../engine/gguf/metadata.ts";
import { writeGguf } from "../engine/gguf/writer.ts";
import {
  byteLevelVocabulary,
  SMALLEST_BYTE_LEVEL,
} from "../tools/make_model/byte_level_vocabulary.ts";
import { llamaShape } from "../tools/make_model/families/llama.ts";
import { randomModel } from "../tools/make_model/model.ts";
import { TINY } from "../tools/make_model/shapes.ts";

const HIDDEN = 512;

/** Tells of tools and calls in Hermes' way; its prompts end with the last character of the last message. */
const TEMPLATE = "{% if tools %}{% for t in tools %}{{ t | tojson }}\n{% endfor %}{% endif %}" +
  "{% for m in messages %}{{ m.role }}: {{ m.content }}\n" +
  "{% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>\n{% endfor %}" +
  "{% endfor %}{{ messages[-1].content[-1] }}";

/**
 * Writes the model.
 *
 * @param script What is said to a message that ends with a character, by that character of ASCII. To any other
 * nothing is said.
 * @param contextLength Tokens that it counts as trained for.
 */
export async function scriptedModel(
  path: string,
  script: Readonly<Record<string, string>>,
  contextLength = 4096,
): Promise<void> {
  const vocabulary = new Map(byteLevelVocabulary(SMALLEST_BYTE_LEVEL));
  const base = [...vocabulary.get("tokenizer.ggml.tokens")!.value as Iterable<string>];
  const types = [...vocabulary.get("tokenizer.ggml.token_type")!.value as Iterable<number>];
  const lines = Object.entries(script);
  const tokens = [...base, ...lines.map(([, text]) => asBytes(text))];
  const end = base.indexOf("<|im_end|>");

  const embedding = new Float32Array(HIDDEN * tokens.length);
  tokens.forEach((_, id) => embedding[HIDDEN * id + id] = 1);
  const output = new Float32Array(HIDDEN * tokens.length);
  // What is not in the script ends the answer.
  output.fill(0.5, HIDDEN * end, HIDDEN * (end + 1));
  lines.forEach(([character], i) => {
    const row = base.length + i;
    output[HIDDEN * row + base.indexOf(asBytes(character))] = 1;
  });
  const weights: Record<string, Float32Array<ArrayBuffer>> = {
    "token_embd.weight": embedding,
    "output.weight": output,
    "output_norm.weight": new Float32Array(HIDDEN).fill(1),
  };

  const shape = llamaShape({
    ...TINY,
    hiddenSize: HIDDEN,
    layers: 1,
    vocabSize: tokens.length,
    contextLength,
  });
  const silent = /attn_output|ffn_down/;
  const { metadata, tensors } = randomModel(
    {
      ...shape,
      weights: shape.weights.map((weight) => {
        const values = silent.test(weight.name)
          ? (count: number) => new Float32Array(count)
          : weights[weight.name] && (() => weights[weight.name]);
        return values === undefined ? weight : { ...weight, values };
      }),
    },
    "F32",
    1,
    "byte-level",
  );
  const own: [string, MetadataEntry][] = [
    ...vocabulary,
    ["tokenizer.ggml.tokens", arrayEntry("string", tokens)],
    ["tokenizer.ggml.token_type", arrayEntry("int32", [...types, ...lines.map(() => 1)])],
    ["tokenizer.chat_template", entry("string", TEMPLATE)],
  ];
  const all = new Map([...metadata as Iterable<[string, MetadataEntry]>, ...own]);
  await writeGguf(path, { metadata: all, tensors });
}

/** A text of ASCII as GPT-2 writes its bytes. */
function asBytes(text: string): string {
  return text.replaceAll(" ", "\u0120").replaceAll("\n", "\u010a");
}

/** The text of a call, as the template's models write it. */
export function callText(name: string, args: unknown): string {
  return `<tool_call>\n{"name": "${name}", "arguments": ${JSON.stringify(args)}}\n</tool_call>`;
}
