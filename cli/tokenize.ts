import { readGguf } from "../engine/gguf/reader.ts";
import { resolveModel } from "../engine/store/mod.ts";
import { loadTokenizer } from "../engine/tokenizer/load.ts";
import type { Tokenizer } from "../engine/tokenizer/tokenizer.ts";
import { type Command, command, flag } from "./command.ts";
import { formatTable } from "./format.ts";
import { readStdin } from "./input.ts";
import { sayWarning, TOKENIZER_OPTIONS } from "./model_options.ts";
import { printable, write } from "./terminal.ts";

/** `m40 tokenize MODEL [TEXT]`. */
export const tokenize: Command = command({
  name: "tokenize",
  summary: "Show the tokens of a text",
  description:
    "Writes a line for each token: its id, and in quotes what it stands for; control tokens without quotes.",
  arguments: [
    {
      name: "MODEL",
      help: "A model's name or the path of a GGUF file; a vocabulary is enough",
      required: true,
    },
    { name: "TEXT", help: "The text; without it, standard input is taken byte for byte" },
  ],
  options: {
    ids: flag("Write the ids alone, on one line, separated by commas"),
    "no-special": flag("Leave out the tokens that the model wants around every text, such as BOS"),
    "parse-special": flag(
      "Read the names of control tokens in the text, such as <s>, as those tokens",
    ),
    ...TOKENIZER_OPTIONS,
  },
  examples: [
    { line: 'm40 tokenize demo "Once upon a time"', about: "The tokens of a text" },
    { line: "m40 tokenize demo --ids < story.txt", about: "The ids of a file's tokens" },
    {
      line: 'm40 eval demo --tokens "$(m40 tokenize demo --ids "Once upon")"',
      about: "What the model makes of them",
    },
  ],
  async run([model, text], options) {
    const { path } = await resolveModel(model);
    const { metadata } = await readGguf(path, { anyType: true });
    const tokenizer = loadTokenizer(metadata, {
      preTokenizer: options["pre-tokenizer"],
      onWarning: sayWarning,
    });
    const how = { addSpecial: !options["no-special"], parseSpecial: options["parse-special"] };
    const tokens = text === undefined
      ? tokenizer.encodeBytes(await readStdin(), how)
      : tokenizer.encode(text, how);
    if (options.ids) await write(tokens.join(",") + "\n");
    else if (tokens.length > 0) {
      const described = new Map<number, string>();
      const describe = (id: number) => {
        const text = described.get(id) ?? describeToken(tokenizer, id);
        described.set(id, text);
        return text;
      };
      await write(formatTable(tokens.map((id) => [String(id), describe(id)]), [0]));
    }
  },
});

const strictDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** What a token stands for, in quotes; a control token's name; bytes that are no text as `\xe4`. */
export function describeToken(tokenizer: Tokenizer, id: number): string {
  if (tokenizer.isControl(id)) return printable(tokenizer.tokenText(id));
  const bytes = tokenizer.tokenBytes(id);
  try {
    return printable(JSON.stringify(strictDecoder.decode(bytes)));
  } catch {
    const parts = Array.from(
      bytes,
      (byte) =>
        byte > 0x1f && byte < 0x7f
          ? String.fromCharCode(byte)
          : `\\x${byte.toString(16).padStart(2, "0")}`,
    );
    return `"${parts.join("")}"`;
  }
}
