import type { Engine, GenerateRequest } from "../engine/mod.ts";
import { SAMPLING_RANGES } from "../engine/sampling/parameters.ts";
import { type Command, command, flag, option, type OptionValues, repeatable } from "./command.ts";
import { EXIT, reportError, UsageError } from "./errors.ts";
import { History } from "./history.ts";
import { readStdin } from "./input.ts";
import { ALONE, loadModel, MODEL_ARGUMENT, MODEL_OPTIONS, sayFallback } from "./model_options.ts";
import { askLine } from "./prompt.ts";
import { EndSignals } from "./signals.ts";
import { printable, style, write, writeError } from "./terminal.ts";
import { integer, number, seed, text } from "./values.ts";

const OPTIONS = {
  ...MODEL_OPTIONS,
  "max-tokens": option(
    integer(1),
    "Tokens of the answer at most; default: what the context has room for",
  ),
  temperature: option(number(SAMPLING_RANGES.temperature), "0 always takes the likeliest token", {
    default: 1,
  }),
  "top-k": option(
    number(SAMPLING_RANGES.top_k),
    "Draw from that many likeliest tokens; 0 or -1: from all",
    {
      default: 0,
    },
  ),
  "top-p": option(
    number(SAMPLING_RANGES.top_p),
    "Draw from the likeliest tokens that reach this probability together; 0: the likeliest",
    {
      default: 1,
    },
  ),
  "min-p": option(
    number(SAMPLING_RANGES.min_p),
    "Draw from tokens that are this times as likely as the likeliest",
    {
      default: 0,
    },
  ),
  "repetition-penalty": option(
    number(SAMPLING_RANGES.repetition_penalty),
    "Above 1: makes tokens that were there less likely",
    {
      default: 1,
    },
  ),
  "frequency-penalty": option(
    number(SAMPLING_RANGES.frequency_penalty),
    "Taken from a token's logit for each time it was drawn",
    {
      default: 0,
    },
  ),
  "presence-penalty": option(
    number(SAMPLING_RANGES.presence_penalty),
    "Taken from the logits of tokens that were drawn",
    {
      default: 0,
    },
  ),
  seed: option(
    seed(),
    "The same seed draws the same answer; default: another one each time",
  ),
  stop: repeatable(text(), "A text that ends the answer and is left out of it"),
  stats: flag(
    "Say on stderr how many tokens there were, how fast, and where a GPU is not used, why",
  ),
};

/** `m40 run MODEL [PROMPT]`. */
export const run: Command = command({
  name: "run",
  summary: "Let a model continue a text",
  description:
    "The prompt comes from the arguments, from a pipe, or is typed: without a prompt, on a terminal, m40 " +
    "asks for one after the other and keeps a history. Ctrl-C stops the answer; at the prompt, Ctrl-C or " +
    "Ctrl-D leaves.",
  arguments: [
    MODEL_ARGUMENT,
    {
      name: "PROMPT",
      help: "The text to continue; several words are joined by spaces",
      rest: true,
    },
  ],
  options: OPTIONS,
  examples: [
    { line: 'm40 run demo "Once upon a time"', about: "A story" },
    { line: "m40 run demo", about: "Type one prompt after the other" },
    {
      line: 'm40 run demo --temperature 0.8 --seed 7 --max-tokens 50 "Lily and her cat"',
      about: "The same short story each time",
    },
    { line: "m40 run demo < beginning.txt > story.txt", about: "From file to file" },
  ],
  async run([model, ...words], options) {
    const typed = words.length === 0 && Deno.stdin.isTerminal();
    const prompt = typed ? undefined : words.length > 0 ? words.join(" ") : await pipedPrompt();
    if (prompt === "") throw new UsageError("the prompt is empty; wanted some text", "run");

    const { engine } = await loadModel(model, options, {
      ...ALONE,
      // Where there is no GPU, that is no news on every run.
      onFallback: options.stats ? sayFallback : undefined,
    });
    try {
      const request = requestOf(options);
      if (prompt === undefined) return await converse(engine, request, options.stats);
      return await answer(engine, { ...request, prompt }, options.stats);
    } finally {
      await engine.close();
    }
  },
});

function requestOf(options: OptionValues<typeof OPTIONS>): Omit<GenerateRequest, "prompt"> {
  return {
    maxTokens: options["max-tokens"],
    stop: options.stop,
    sampling: {
      temperature: options.temperature,
      topK: options["top-k"],
      topP: options["top-p"],
      minP: options["min-p"],
      repetitionPenalty: options["repetition-penalty"],
      frequencyPenalty: options["frequency-penalty"],
      presencePenalty: options["presence-penalty"],
      seed: options.seed,
    },
  };
}

/** Standard input without the line feed that ends its last line: `echo` and editors put it there. */
async function pipedPrompt(): Promise<string> {
  return new TextDecoder().decode(await readStdin()).replace(/\r?\n$/, "");
}

/** Prompts and answers until Ctrl-C or Ctrl-D at the prompt. */
async function converse(
  engine: Engine,
  request: Omit<GenerateRequest, "prompt">,
  stats: boolean,
): Promise<number> {
  const history = await History.open();
  await writeError(
    style(Deno.stderr, "dim", `${engine.model.name} continues what you type. Ctrl-C stops it.`) +
      "\n",
  );
  for (;;) {
    const prompt = await askLine("> ", history.lines);
    if (prompt === undefined) return EXIT.success;
    if (prompt.trim() === "") continue;
    await history.add(prompt);
    try {
      await answer(engine, { ...request, prompt }, stats);
    } catch (error) {
      // A prompt that is too long must not end the session; a device that is lost does.
      if (engine.status().failed !== undefined) throw error;
      await reportError(error);
    }
  }
}

/** Writes one answer as it comes; Ctrl-C stops it. */
async function answer(engine: Engine, request: GenerateRequest, stats: boolean): Promise<number> {
  using interrupt = new EndSignals("SIGINT");
  const isTerminal = Deno.stdout.isTerminal();
  const start = performance.now();
  let first: number | undefined;
  let tokens = 0;
  let last = "";
  const generation = engine.generate({ ...request, signal: interrupt.signal });
  for await (const chunk of generation) {
    first ??= performance.now();
    tokens += chunk.tokens.length;
    if (chunk.text === "") continue;
    await write(isTerminal ? printable(chunk.text) : chunk.text);
    last = chunk.text;
  }
  // A shell's prompt, or the next one here, begins on a new line.
  if (isTerminal && !last.endsWith("\n")) await write("\n");
  if (stats) await tellSpeed(generation.promptTokens, tokens, start, first ?? performance.now());
  return interrupt.signal.aborted ? EXIT.interrupted : EXIT.success;
}

async function tellSpeed(
  promptTokens: number,
  tokens: number,
  start: number,
  first: number,
): Promise<void> {
  const seconds = (performance.now() - first) / 1000;
  const rate = tokens > 1 ? `, ${((tokens - 1) / seconds).toFixed(1)} tokens/s` : "";
  await writeError(
    `${promptTokens} tokens of prompt, first token after ${(first - start).toFixed(0)} ms; ` +
      `${tokens} tokens of answer${rate}\n`,
  );
}
