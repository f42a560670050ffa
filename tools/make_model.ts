/**
 * Writes a GGUF model of a well-known shape with random weights, for benchmarks and tests:
 * `deno task make-model SHAPE TYPE OUT [--vocabulary NAME] [--seed N]`.
 */
import { parseArgs } from "@std/cli/parse-args";
import { writeGguf } from "../engine/gguf/writer.ts";
import {
  MODEL_TYPES,
  randomModel,
  VOCABULARY_NAMES,
  type VocabularyName,
} from "./make_model/model.ts";
import { SHAPES } from "./make_model/shapes.ts";

const USAGE = `Usage: deno task make-model SHAPE TYPE OUT [--vocabulary NAME] [--seed N]

Writes a GGUF model with random weights.

  SHAPE   ${Object.keys(SHAPES).join(", ")}
  TYPE    ${MODEL_TYPES.join(", ").replaceAll(/(.{60,80}), /g, "$1,\n          ")}
  OUT     the file to write, such as models/1b-q8_0.gguf; one that is there is replaced
  --vocabulary  ${VOCABULARY_NAMES.join(" or ")} (default sentencepiece); byte-level
          comes with a chat template, and with tokens for chats and fill-in-the-middle
  --seed  a whole number that decides the weights (default 1)

Example: deno task make-model llama-3.2-1b Q8_0 models/1b-q8_0.gguf`;

function usageError(message: string): never {
  console.error(`${message}\n\n${USAGE}`);
  Deno.exit(2);
}

const args = parseArgs(Deno.args, {
  boolean: ["help"],
  string: ["seed", "vocabulary", "_"],
  default: { vocabulary: "sentencepiece" },
  alias: { h: "help" },
  unknown: (arg, key) => {
    if (key !== undefined) usageError(`unknown option ${arg}`);
  },
});
if (args.help) {
  console.log(USAGE);
  Deno.exit(0);
}
const [shapeName, typeName, out, ...rest] = args._.map(String);
if (out === undefined || rest.length > 0) {
  usageError(`got ${args._.length} arguments, wanted 3: SHAPE TYPE OUT`);
}
const shape = Object.hasOwn(SHAPES, shapeName) ? SHAPES[shapeName] : undefined;
if (!shape) {
  usageError(`unknown shape "${shapeName}"; known are ${Object.keys(SHAPES).join(", ")}`);
}
const type = typeName.toUpperCase();
if (!MODEL_TYPES.includes(type)) {
  usageError(`unknown type "${typeName}"; known are ${MODEL_TYPES.join(", ")}`);
}
const seed = args.seed === undefined ? 1 : Number(args.seed);
if (!Number.isInteger(seed) || seed < 0 || seed > 0xffffffff) {
  usageError(`--seed ${args.seed}: wanted a whole number from 0 to ${0xffffffff}`);
}
const vocabulary = args.vocabulary as VocabularyName;
if (!VOCABULARY_NAMES.includes(vocabulary)) {
  usageError(`unknown vocabulary "${vocabulary}"; known are ${VOCABULARY_NAMES.join(", ")}`);
}

const start = performance.now();
const model = randomModel(shape, type, seed, vocabulary);
try {
  const bytes = await writeGguf(out, model);
  const seconds = (performance.now() - start) / 1000;
  console.log(
    `${out}: ${shape.name} in ${type}, ${model.tensors.length} tensors, ` +
      `${(bytes / 1e9).toFixed(2)} GB in ${seconds.toFixed(1)} s`,
  );
} catch (error) {
  console.error(`${out} could not be written: ${(error as Error).message}`);
  Deno.exit(1);
}
