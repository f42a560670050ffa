import { type Command, command, flag, MODELS, type OptionValues } from "../arguments/mod.ts";
import { CHAT_OPTIONS, TOKENIZER_OPTIONS } from "../models/mod.ts";
import { formatTable, printable, readStdin, warn, write } from "../terminal/mod.ts";
import { type Metadata, readGguf } from "../../engine/gguf/mod.ts";
import { resolveModel } from "../../engine/store/mod.ts";
import { readTokenizer, type Tokenizer } from "../../engine/tokenizer/mod.ts";
import { UsageError } from "../errors.ts";

const OPTIONS = {
  ids: flag("Write the ids alone, on one line, separated by commas"),
  json: flag('Write JSON: {"tokens": [{"id", "text" or "bytes" in hex, "control"}]}'),
  chat: flag("The text is a user's message: show the prompt that the chat template makes of it"),
  messages: flag(
    'The same for a conversation in JSON: {"messages": [...]} as /v1/chat/completions takes it, or the array',
  ),
  "no-special": flag("Leave out the tokens that the model wants around every text, such as BOS"),
  "parse-special": flag(
    "Read the names of control tokens in the text, such as <s>, as those tokens",
  ),
  ...TOKENIZER_OPTIONS,
  ...CHAT_OPTIONS,
};

type TokenizeOptions = OptionValues<typeof OPTIONS>;

/** A text's tokens. */
interface Tokenized {
  readonly tokens: readonly number[];
  /** What the chat template made, where there was one. */
  readonly prompt?: string;
}

/** `m40 tokenize MODEL [TEXT]`. */
export const tokenize: Command = command({
  name: "tokenize",
  summary: "Show the tokens of a text or a conversation",
  description:
    "Writes a line for each token: its id, and in quotes what it stands for; control tokens without quotes.",
  arguments: [
    {
      name: "MODEL",
      help: "A model's name or the path of a GGUF file; a vocabulary is enough",
      required: true,
      completes: MODELS,
    },
    { name: "TEXT", help: "The text; without it, standard input is taken byte for byte" },
  ],
  options: OPTIONS,
  examples: {
    'm40 tokenize demo "Once upon a time"': "The tokens of a text",
    "m40 tokenize demo --ids < story.txt": "The ids of a file's tokens",
    'm40 tokenize llama-3.gguf --chat "Who are you?"': "A message as the model reads it",
    'm40 eval demo --tokens "$(m40 tokenize demo --ids "Once upon")"':
      "What the model makes of them",
  },
  async run([model, text], options) {
    checkTogether(options);
    const { path } = await resolveModel(model);
    const gguf = await readGguf(path, { anyType: true, overrides: options.override });
    const tokenizer = readTokenizer(gguf, {
      preTokenizer: options["pre-tokenizer"],
      onWarning: warn,
    });
    const result = options.chat || options.messages
      ? await tokenizeChat(gguf.metadata, tokenizer, await textOf(text), options)
      : await tokenizeText(tokenizer, text, options);
    await show(tokenizer, result, options);
  },
});

/** @throws {UsageError} For options that contradict each other. */
function checkTogether(options: TokenizeOptions): void {
  const refuse = (one: keyof TokenizeOptions, other: keyof TokenizeOptions) => {
    if (!options[one] || !options[other]) return;
    throw new UsageError(`--${one} and --${other} do not go together`, "tokenize");
  };
  refuse("ids", "json");
  refuse("chat", "messages");
  for (const special of ["no-special", "parse-special"] as const) {
    // The template decides on them.
    refuse(special, "chat");
    refuse(special, "messages");
  }
  if (options["chat-template"] === undefined || options.chat || options.messages) return;
  throw new UsageError("--chat-template needs --chat or --messages", "tokenize");
}

async function tokenizeText(
  tokenizer: Tokenizer,
  text: string | undefined,
  options: TokenizeOptions,
): Promise<Tokenized> {
  const how = { addSpecial: !options["no-special"], parseSpecial: options["parse-special"] };
  return {
    tokens: text === undefined
      ? tokenizer.encodeBytes(await readStdin(), how)
      : tokenizer.encode(text, how),
  };
}

async function tokenizeChat(
  metadata: Metadata,
  tokenizer: Tokenizer,
  text: string,
  options: TokenizeOptions,
): Promise<Tokenized> {
  // Here, not above: a text's tokens need neither templates nor schemas.
  const { openChat, readConversation } = await import("../conversation/from_json.ts");
  const request = options.messages
    ? readConversation(text)
    : { messages: [{ role: "user" as const, content: text }] };
  await using chat = await openChat(metadata, tokenizer, options["chat-template"]);
  const { text: prompt, tokens } = await chat.format.prompt(request);
  return { tokens, prompt };
}

/** The text of the arguments or of standard input. */
async function textOf(text: string | undefined): Promise<string> {
  return text ?? new TextDecoder().decode(await readStdin());
}

async function show(
  tokenizer: Tokenizer,
  { tokens, prompt }: Tokenized,
  options: TokenizeOptions,
): Promise<void> {
  if (options.ids) return await write(tokens.join(",") + "\n");
  if (options.json) {
    const list = tokens.map((id) => tokenAsJson(tokenizer, id));
    return await write(JSON.stringify({ prompt, tokens: list }) + "\n");
  }
  if (tokens.length === 0) return;
  // Those of a long text come again and again.
  const described = new Map<number, string>();
  const describe = (id: number) => {
    const text = described.get(id) ?? describeToken(tokenizer, id);
    described.set(id, text);
    return text;
  };
  await write(formatTable(tokens.map((id) => [String(id), describe(id)]), [0]));
}

const strictDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** What a token stands for, as text; undefined for bytes that are none. */
function textOfToken(tokenizer: Tokenizer, id: number): string | undefined {
  try {
    return strictDecoder.decode(tokenizer.tokenBytes(id));
  } catch {
    return undefined;
  }
}

function tokenAsJson(tokenizer: Tokenizer, id: number) {
  if (tokenizer.isControl(id)) return { id, text: tokenizer.tokenText(id), control: true };
  const text = textOfToken(tokenizer, id);
  return text === undefined ? { id, bytes: tokenizer.tokenBytes(id).toHex() } : { id, text };
}

/** What a token stands for, in quotes; a control token's name; bytes that are no text as `\xe4`. */
export function describeToken(tokenizer: Tokenizer, id: number): string {
  if (tokenizer.isControl(id)) return printable(tokenizer.tokenText(id));
  const text = textOfToken(tokenizer, id);
  if (text !== undefined) return printable(JSON.stringify(text));
  const parts = Array.from(
    tokenizer.tokenBytes(id),
    (byte) =>
      byte > 0x1f && byte < 0x7f
        ? String.fromCharCode(byte)
        : `\\x${byte.toString(16).padStart(2, "0")}`,
  );
  return `"${parts.join("")}"`;
}
