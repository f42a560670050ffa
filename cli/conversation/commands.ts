import { isSystemError, systemReason } from "../../engine/system_error.ts";
import { askLine, formatTable, printable, writeError } from "../terminal/mod.ts";
import { nearest } from "../../engine/nearest.ts";
import { UsageError } from "../errors.ts";
import type { Conversation } from "./conversation.ts";
import { FENCE } from "./read_message.ts";
import { expandHome, formatConversation } from "./save.ts";
import type { Settings } from "./settings.ts";
import { toolTable } from "./tool_table.ts";
import type { ConversationTools } from "./tools.ts";

/** What commands act on. */
export interface CommandContext {
  /** The model's name. */
  readonly model: string;
  /** Absent where text is continued. */
  readonly conversation?: Conversation;
  readonly settings: Settings<object>;
  /** Absent where the model has no tools. */
  readonly tools?: ConversationTools;
}

/** What is typed behind a slash. */
interface SlashCommand {
  readonly name: string;
  readonly argument?: string;
  readonly help: string;
  /** @returns "leave" where the session is over. */
  run(context: CommandContext, rest: string): Promise<"leave" | void>;
}

const COMMANDS: readonly SlashCommand[] = [
  {
    name: "system",
    argument: "TEXT",
    help: "Set the system prompt, from here on; alone: show it; none: nothing any more",
    async run(context, rest) {
      const conversation = conversationOf(context, "system");
      if (rest !== "") conversation.system = rest === "none" ? undefined : rest;
      await writeError(printable(conversation.system ?? "There is no system message.") + "\n");
    },
  },
  {
    name: "clear",
    help: "Forget what was said; the system message and the settings stay",
    async run(context) {
      conversationOf(context, "clear").clear();
      context.tools?.consent.clear();
      await writeError("A new conversation begins.\n");
    },
  },
  {
    name: "set",
    argument: "NAME VALUE",
    help: "Change a setting, such as temperature 0.2; default takes it back; alone: show all",
    async run({ settings }, rest) {
      const name = /^\S*/.exec(rest)![0];
      const value = rest.slice(name.length).trimStart();
      if (name === "") await writeError(settings.table());
      else settings.set(name, value);
    },
  },
  {
    name: "save",
    argument: "FILE",
    help:
      "Write the conversation into a file, as JSON where its name ends in .json, else as Markdown",
    run: save,
  },
  {
    name: "tools",
    help: "Show the tools that the model may call, and how their servers are (--mcp)",
    async run({ tools }) {
      if (tools === undefined) {
        throw new UsageError("there are no tools; m40 run --mcp FILE names servers that have some");
      }
      await tools.mcp.refresh();
      await writeError(toolTable(tools));
    },
  },
  {
    name: "help",
    help: "Show this; /? does too",
    async run() {
      await writeError(helpText());
    },
  },
  {
    name: "bye",
    help: "Leave, as Ctrl-D does",
    run: () => Promise.resolve("leave"),
  },
];

/**
 * Runs what was typed behind a slash.
 *
 * @returns "leave" where the session is over.
 * @throws {UsageError} Naming what was got and what was wanted.
 */
export async function runCommand(
  context: CommandContext,
  name: string,
  rest: string,
): Promise<"leave" | void> {
  const found = COMMANDS.find((command) => command.name === (name === "?" ? "help" : name));
  if (found !== undefined) {
    if (found.argument !== undefined || rest === "") return await found.run(context, rest);
    throw new UsageError(`/${name} takes nothing, got ${JSON.stringify(rest)}`);
  }
  const near = nearest(name, COMMANDS.map(({ name }) => name));
  throw new UsageError(
    `there is no command ${JSON.stringify("/" + name)}; ` +
      (near === undefined ? "/? shows those that there are." : `did you mean /${near}?`) +
      " A message that begins with a slash has a space before it.",
  );
}

function helpText(): string {
  const rows = COMMANDS.map(({ name, argument, help }) => [
    argument === undefined ? `/${name}` : `/${name} ${argument}`,
    help,
  ]);
  return formatTable([
    ...rows,
    [FENCE, `Begins and ends a message of several lines`],
    ["Ctrl-C", "Stops an answer; what was said of it stays. At the prompt it leaves"],
  ]);
}

function conversationOf({ conversation }: CommandContext, name: string): Conversation {
  if (conversation !== undefined) return conversation;
  throw new UsageError(
    `/${name} is for conversations; here text is continued, each by itself. ` +
      "A chat template makes it one: m40 run --chat-template NAME|FILE",
  );
}

async function save(context: CommandContext, rest: string): Promise<void> {
  const conversation = conversationOf(context, "save");
  if (rest === "") throw new UsageError("/save needs the name of a file");
  const messages = conversation.messages();
  if (messages.length === 0) throw new UsageError("there is nothing to save yet");
  const path = expandHome(rest);
  const text = formatConversation(path, context.model, messages);
  try {
    if (!await writeNew(path, text)) {
      const answer = await askLine(`${printable(path)} exists; overwrite it? [y/N] `, []);
      if (!/^y(es)?$/i.test(answer?.trim() ?? "")) {
        await writeError("Nothing is saved.\n");
        return;
      }
      await Deno.writeTextFile(path, text);
    }
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw new UsageError(`${path} cannot be written: ${systemReason(error)}`);
  }
  await writeError(`${messages.length} messages are saved in ${printable(path)}.\n`);
}

/** Writes a file; false where there is one of that name. What is no file is written to, or refuses. */
async function writeNew(path: string, text: string): Promise<boolean> {
  try {
    await Deno.writeTextFile(path, text, { createNew: true });
    return true;
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    if ((await Deno.stat(path)).isFile) return false;
    await Deno.writeTextFile(path, text);
    return true;
  }
}
