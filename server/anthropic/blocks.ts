import type { TextPart, ToolCall } from "../../engine/mod.ts";
import { unsupported } from "../errors.ts";
import {
  argumentsText,
  contentAsText,
  nameAt,
  notShown,
  objectAt,
  stringAt,
  typeName,
  wrongField,
} from "../request/mod.ts";
import { CONTENT_WANTED, type Message } from "./request_schemas.ts";

/** What came of a call. */
export interface ToolResult {
  readonly callId: string;
  readonly parts: readonly TextPart[];
  /** Where it stands, for messages. */
  readonly at: string;
}

/** What is said in one turn. */
export interface Turn {
  readonly role: Message["role"];
  readonly parts: TextPart[];
  /** What an assistant thought before it. */
  readonly thoughts: string[];
  /** The tools that an assistant called. */
  readonly calls: ToolCall[];
  /** What came of the calls before, in a user's turn. */
  readonly results: ToolResult[];
  /** Where it stands, for messages. */
  readonly at: string;
}

/** What a system text begins with that counts requests, and so is another in each: no model needs it. */
const BILLING = "x-anthropic-billing-header:";
/** Marks a result as an error for the model; no template has room for the field itself. */
const ERROR_PREFIX = "Error: ";

type Block = Readonly<Record<string, unknown>>;
/** Reads the blocks of a type into a turn. */
type Reader = (turn: Turn, block: Block, at: string) => void;

type Readers = Readonly<Record<string, Reader>>;

const READERS: Readonly<Record<Message["role"], Readers>> = {
  system: { text: readText },
  user: { text: readText, tool_result: readResult, search_result: readSearchResult },
  assistant: {
    text: readText,
    thinking: (turn, { thinking }, at) => {
      const thought = stringAt(thinking, `${at}.thinking`);
      if (thought !== "") turn.thoughts.push(thought);
    },
    // What another server has made unreadable is of no use to the model.
    redacted_thinking: () => {},
    tool_use: readCall,
  },
};

/** Blocks that Anthropic's own tools leave in a conversation, for any server that gets it back. */
export const HOSTED_BLOCK = /_tool_use$|_tool_result$|^container_upload$|^compaction$/;

/** What may stand in a tool's result. */
const RESULT_READERS: Readers = {
  text: readText,
  image: (turn, block) => readUnseen(turn, "image", block),
  document: (turn, block) => readUnseen(turn, "document", block),
  search_result: readSearchResult,
  // All tools of a request are known to the model, also those that the client finds by searching.
  tool_reference: ({ parts }, { tool_name }, at) => {
    const name = stringAt(tool_name, `${at}.tool_name`);
    parts.push({ type: "text", text: `There is the tool ${name}.` });
  },
};

/**
 * Reads what is said in one message.
 *
 * @param at Where its content stands in the body, such as "messages.0.content".
 * @throws {HttpError} 400 for blocks that cannot be read.
 */
export function readTurn(role: Message["role"], content: unknown, at: string): Turn {
  const turn: Turn = { role, parts: [], thoughts: [], calls: [], results: [], at };
  readContent(turn, content, READERS[role]);
  return turn;
}

function readContent(turn: Turn, content: unknown, readers: Readers): void {
  const { at } = turn;
  if (typeof content === "string") {
    turn.parts.push({ type: "text", text: content });
    return;
  }
  if (!Array.isArray(content)) throw wrongField(at, CONTENT_WANTED, content);
  for (const [index, block] of content.entries()) {
    readBlock(turn, block, `${at}.${index}`, readers);
  }
}

function readBlock(
  turn: Turn,
  block: unknown,
  at: string,
  readers: Readers,
): void {
  const fields = objectAt(block, at, 'a block such as {"type": "text", "text": "…"}');
  const type = stringAt(fields.type, `${at}.type`);
  if (!Object.hasOwn(readers, type)) {
    if (areDescribed(type, readers)) {
      turn.parts.push({ type: "text", text: contentAsText(fields, at) });
      return;
    }
    const known = Object.keys(readers).map((one) => `"${one}"`).join(", ");
    throw unsupported(
      at,
      `${at}: blocks of the type ${
        typeName(type)
      } are not supported here: this server reads text alone. ` +
        `Send blocks of the type ${known}.`,
    );
  }
  readers[type](turn, fields, at);
}

/** Whether blocks of a type that has no reader are shown by the texts in them: models and tools made them. */
function areDescribed(type: string, readers: Readers): boolean {
  return readers === READERS.assistant || readers === RESULT_READERS ||
    (readers === READERS.user && HOSTED_BLOCK.test(type));
}

function readText({ role, parts }: Turn, block: Block, at: string): void {
  const text = stringAt(block.text, `${at}.text`);
  if (role === "system" && text.startsWith(BILLING)) return;
  parts.push({ type: "text", text });
}

/** What a model that reads text does not see. */
function readUnseen({ parts }: Turn, kind: "image" | "document", { source }: Block): void {
  const { type, media_type, data } = (source ?? {}) as Block;
  const isText = type === "text" && typeof data === "string";
  parts.push({ type: "text", text: isText ? data : notShown({ kind, mediaType: media_type }) });
}

/** What was found, with its title and where it is. */
function readSearchResult(turn: Turn, { title, source, content }: Block, at: string): void {
  const found: Turn = { ...turn, parts: [], at: `${at}.content` };
  readContent(found, content ?? "", { text: readText });
  const texts = [title, source, ...found.parts.map(({ text }) => text)]
    .filter((text) => typeof text === "string" && text !== "");
  turn.parts.push({ type: "text", text: texts.join("\n") });
}

function readCall({ calls }: Turn, { id, name, input }: Block, at: string): void {
  calls.push({
    id: nameAt(id, `${at}.id`),
    name: stringAt(name, `${at}.name`),
    arguments: argumentsText(input, `${at}.input`),
  });
}

function readResult(
  { role, results }: Turn,
  { tool_use_id, content, is_error }: Block,
  at: string,
): void {
  const callId = nameAt(tool_use_id, `${at}.tool_use_id`, "the id of a tool_use block");
  if (is_error != null && typeof is_error !== "boolean") {
    throw wrongField(`${at}.is_error`, "true or false", is_error);
  }
  const parts: TextPart[] = [];
  const said: Turn = { role, parts, thoughts: [], calls: [], results: [], at: `${at}.content` };
  readContent(said, content ?? "", RESULT_READERS);
  results.push({ callId, parts: is_error ? asError(parts) : parts, at });
}

function asError(parts: readonly TextPart[]): TextPart[] {
  const [first, ...others] = parts.filter(({ text }) => text !== "");
  if (first === undefined) return [{ type: "text", text: "Error" }];
  if (/^\W*error/i.test(first.text)) return [first, ...others];
  return [{ type: "text", text: ERROR_PREFIX + first.text }, ...others];
}
