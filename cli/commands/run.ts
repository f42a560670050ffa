import type { Engine } from "../../engine/mod.ts";
import {
  type Command,
  command,
  flag,
  integer,
  MCP_OPTIONS,
  OpeningMcp,
  option,
  type OptionValues,
  readMcpOptions,
  text,
} from "../arguments/mod.ts";
import {
  answerWithTools,
  CHAT_SETTINGS,
  Conversation,
  ConversationTools,
  giveAnswer,
  Session,
  textRequest,
} from "../conversation/mod.ts";
import {
  ALONE,
  CHAT_OPTIONS,
  loadModel,
  MODEL_ARGUMENT,
  MODEL_OPTIONS,
  PULL_OPTION,
  sayFallback,
} from "../models/mod.ts";
import { note, readStdin } from "../terminal/mod.ts";
import type { McpTools } from "../../mcp/mod.ts";
import { EXIT, UsageError } from "../errors.ts";

const OPTIONS = {
  ...MODEL_OPTIONS,
  ...CHAT_OPTIONS,
  ...PULL_OPTION,
  system: option(text(), "The system message"),
  raw: flag("Continue text as it is, without a chat template"),
  ...MCP_OPTIONS,
  "mcp-rounds": option(
    integer(1, 10_000),
    "Answers in a row that may call tools; the next must do without; default: 20",
  ),
  ...CHAT_SETTINGS,
};

/** Answers in a row that may call tools where nothing is said of it. */
const ROUNDS = 20;

type RunOptions = OptionValues<typeof OPTIONS>;

/** `m40 run MODEL [PROMPT]`. */
export const run: Command = command({
  name: "run",
  summary: "Talk with a model, or have it continue a text",
  description:
    "A model with a chat template answers; without one, or with --raw, it continues the text. " +
    "A prompt in the arguments or from a pipe gets one answer. Without a prompt, m40 starts a conversation on the " +
    'terminal. There /? lists the commands: /system, /clear, /set, /save, /bye, and """ for several lines. ' +
    "Ctrl-C stops an answer; at the prompt, Ctrl-C or Ctrl-D leaves.\n" +
    "With --mcp the model may call tools of MCP servers. m40 shows each call and asks first, unless the tool is allowed; " +
    "without a terminal, calls that are not allowed are refused.\n" +
    "The sampling defaults of the model's file (general.sampling) take precedence over the defaults below.",
  arguments: [
    MODEL_ARGUMENT,
    {
      name: "PROMPT",
      help: "The message, or the text to continue; several words are joined by spaces",
      rest: true,
    },
  ],
  options: OPTIONS,
  refused: {
    replicas: "it has one answer computed at a time, by one device; m40 serve has it",
  },
  examples: {
    'm40 run demo "Once upon a time"': "A story",
    "m40 run llama-3.gguf": "A conversation",
    'm40 run llama-3.gguf --system "You answer in one word." "What is the capital of Chad?"':
      "One answer",
    'm40 run demo --temperature 0.8 --seed 7 --max-tokens 50 "Lily and her cat"':
      "The same short story each time",
    'm40 run qwen --mcp mcp.json --mcp-allow "files__read_file" "What does README.md say?"':
      "With tools",
    "m40 run demo < start.txt > story.txt": "From file to file",
  },
  async run([model, ...words], options) {
    const typed = words.length === 0 && Deno.stdin.isTerminal();
    const prompt = typed ? undefined : words.length > 0 ? words.join(" ") : await pipedPrompt();
    if (prompt === "") throw new UsageError("the prompt is empty; wanted some text", "run");
    if (options.raw) refuseChatOptions(options, "--raw");

    const openMcp = await readMcpOptions(options, "run");
    if (openMcp === undefined && options["mcp-rounds"] !== undefined) {
      throw new UsageError("--mcp-rounds means nothing without --mcp FILE", "run");
    }

    // Servers start while the model is loaded.
    await using mcp = new OpeningMcp(openMcp);
    const { engine } = await loadModel(model, options, {
      ...ALONE,
      // Where there is no GPU, that is no news on every run.
      onFallback: options.verbose ? sayFallback : undefined,
    });
    await using _closing = engine;
    const chats = engine.chat !== undefined && !options.raw;
    if (!chats) refuseChatOptions(options, "a model without a chat template");
    const conversation = chats ? new Conversation(options.system) : undefined;
    if (!chats && !options.raw && Deno.stderr.isTerminal()) {
      await note(
        `${engine.model.name} has no chat template, so it continues text, as with --raw; ` +
          "--chat-template gives it one.",
      );
    }
    if (Deno.stderr.isTerminal()) {
      for (const sentence of engine.model.notes) await note(sentence);
    }
    const tools = await toolsOf(await mcp.opened, engine, options["mcp-rounds"]);
    if (prompt !== undefined) {
      return await answerOnce(engine, conversation, prompt, options, tools);
    }
    await note(
      `${conversation ? "It answers" : "It continues"} what you type. ` +
        "/? shows what else there is; Ctrl-C stops an answer, Ctrl-D leaves.",
    );
    return await new Session(engine, conversation, options, tools).run();
  },
});

/** The tools of a conversation, where there are any; what is wrong with their servers is said. */
async function toolsOf(
  mcp: McpTools | undefined,
  engine: Engine,
  rounds = ROUNDS,
): Promise<ConversationTools | undefined> {
  if (mcp === undefined) return undefined;
  for (const sentence of mcp.notes) await note(sentence);
  if (Deno.stderr.isTerminal()) {
    const ready = mcp.servers.filter(({ state }) => state === "ready").length;
    await note(
      `${count(mcp.tools.length, "tool")} of ${count(ready, "MCP server")}; /tools shows them.`,
    );
  }
  return new ConversationTools(mcp, rounds, engine.contextTokens);
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

/** Options that mean something in a conversation only. */
const CHAT_ONLY = [
  "mcp",
  "system",
  "chat-template",
  "reasoning-budget",
  "reasoning-effort",
  "chat-template-kwargs",
] as const;

/** @throws {UsageError} Where one of them is given. */
function refuseChatOptions(options: RunOptions, why: string): void {
  const given = CHAT_ONLY.find((name) => options[name] !== undefined);
  if (given === undefined) return;
  throw new UsageError(
    `--${given} means nothing with ${why}` +
      (options.raw ? "" : "; --chat-template NAME|FILE gives it one"),
    "run",
  );
}

/** Standard input without the line feed that ends its last line: `echo` and editors put it there. */
async function pipedPrompt(): Promise<string> {
  return new TextDecoder().decode(await readStdin()).replace(/\r?\n$/, "");
}

/** Writes one answer; returns the exit code. */
async function answerOnce(
  engine: Engine,
  conversation: Conversation | undefined,
  prompt: string,
  options: RunOptions,
  tools?: ConversationTools,
): Promise<number> {
  const display = { showReasoning: options.reasoning !== "hidden", verbose: options.verbose };
  const { answer: { error, interrupted } } = conversation === undefined
    ? {
      answer: await giveAnswer(
        engine,
        () => Promise.resolve(textRequest(prompt, options)),
        display,
      ),
    }
    : await answerWithTools(engine, conversation, prompt, options, display, tools);
  if (error !== undefined) throw error;
  return interrupted ? EXIT.interrupted : EXIT.success;
}
