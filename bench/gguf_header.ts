/**
 * Times the reading of a GGUF header with its vocabulary, in a fresh process each time:
 * `deno run -A bench/gguf_header.ts [MODEL.gguf]`. Without a model it makes up a byte-level vocabulary
 * of Llama 3's size: 128,256 tokens and 280,147 merges.
 */
import { arrayEntry, entry } from "../engine/gguf/entries.ts";
import { readGguf } from "../engine/gguf/reader.ts";
import { writeGguf } from "../engine/gguf/writer.ts";

const RUNS = 7;

/** One reading, cold: prints its milliseconds and what was read. */
async function readOnce(path: string): Promise<void> {
  const start = performance.now();
  const { metadata, tensors } = await readGguf(path);
  const header = performance.now();
  const [tokens, merges] = ["tokenizer.ggml.tokens", "tokenizer.ggml.merges"]
    .map((key) => metadata.has(key) ? metadata.strings(key) : []);
  const end = performance.now();
  console.log(JSON.stringify({
    headerMs: header - start,
    stringsMs: end - header,
    tokens: tokens.length,
    merges: merges.length,
    tensors: tensors.size,
  }));
}

/** Strings of the lengths that a byte-level vocabulary has, some of them beyond ASCII. */
function* pieces(count: number, separator: string): Generator<string> {
  for (let i = 0; i < count; i++) {
    const word = i.toString(26).padStart(1 + i % 6, "e");
    yield (i % 3 === 0 ? "\u0120" : "") + word + separator + (i % 5 === 0 ? "\u00e9\u0136" : "");
  }
}

async function makeVocabulary(): Promise<string> {
  const path = await Deno.makeTempFile({ suffix: ".gguf" });
  const tokens = 128_256;
  await writeGguf(path, {
    metadata: [
      ["general.architecture", entry("string", "llama")],
      ["tokenizer.ggml.model", entry("string", "gpt2")],
      ["tokenizer.ggml.tokens", arrayEntry("string", pieces(tokens, ""))],
      ["tokenizer.ggml.token_type", arrayEntry("int32", new Int32Array(tokens).fill(1))],
      ["tokenizer.ggml.merges", arrayEntry("string", pieces(280_147, " "))],
    ],
    tensors: [],
  });
  return path;
}

if (Deno.args[0] === "--once") {
  await readOnce(Deno.args[1]);
} else {
  const made = Deno.args.length === 0;
  const path = made ? await makeVocabulary() : Deno.args[0];
  const script = import.meta.filename!;
  const totals: number[] = [];
  try {
    for (let run = 0; run < RUNS; run++) {
      const { stdout, success } = await new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", "--no-check", script, "--once", path],
        stderr: "inherit",
      }).output();
      if (!success) Deno.exit(1);
      const result = JSON.parse(new TextDecoder().decode(stdout));
      if (run === 0) {
        const { tokens, merges, tensors } = result;
        console.log(`${tokens} tokens, ${merges} merges, ${tensors} tensors`);
      }
      const total = result.headerMs + result.stringsMs;
      totals.push(total);
      console.log(
        `run ${run + 1}: ${total.toFixed(0)} ms (header ${result.headerMs.toFixed(0)}, ` +
          `strings ${result.stringsMs.toFixed(0)})`,
      );
    }
    totals.sort((a, b) => a - b);
    console.log(
      `median ${totals[RUNS >> 1].toFixed(0)} ms, from ${totals[0].toFixed(0)} ` +
        `to ${totals[RUNS - 1].toFixed(0)} ms`,
    );
  } finally {
    if (made) await Deno.remove(path);
  }
}
