/**
 * The items of a request's `input`: read, checked, and given the ids and the statuses that clients leave out.
 *
 * @module
 */
import { HttpError, unsupported } from "../../errors.ts";
import {
  argumentsText,
  contentAsText,
  notShown,
  objectAt,
  stringAt,
  typeName,
  wrongField,
} from "../../request/mod.ts";
import { decodedReasoning } from "./encrypted_reasoning.ts";
import { type FunctionCallOutput, type InputMessage, type Item, itemId } from "./item_schemas.ts";
import { INPUT_WANTED } from "./request_schemas.ts";

type Fields = Readonly<Record<string, unknown>>;

const ROLES = ["user", "assistant", "system", "developer"] as const;
const STATUSES: readonly unknown[] = ["in_progress", "completed", "incomplete"];

/** Items that OpenAI's own tools leave in a conversation. */
const HOSTED = /_call$|_call_output$|^mcp_|^tool_search_|^compaction(_|$)/;
/** Those of them that the client makes. */
const CLIENTS_PART = /_output$|_response$/;

/**
 * Items of a body.
 *
 * @param input A text, or items.
 * @param itemOf The items that the server has kept, by their ids.
 * @throws {HttpError} 400 naming the item and what of it cannot be read; 404 for an item that is not kept.
 */
export function readInput(input: unknown, itemOf: (id: string) => Item | undefined): Item[] {
  if (typeof input === "string") return [message("user", input, {})];
  if (!Array.isArray(input) || input.length === 0) {
    throw wrongField("input", INPUT_WANTED, input);
  }
  return input.map((item, index) => readItem(item, `input.${index}`, itemOf));
}

function readItem(item: unknown, at: string, itemOf: (id: string) => Item | undefined): Item {
  const fields = objectAt(item, at, 'an item such as {"role": "user", "content": "…"}');
  const { type } = fields;
  switch (type ?? implied(fields)) {
    case "message":
      return readMessage(fields, at);
    case "reasoning":
      return readReasoning(fields, at);
    case "function_call":
      return readCall(fields, at);
    case "function_call_output":
      return { type: "function_call_output", ...readCallOutput(fields, at, "fco") };
    case "custom_tool_call":
      return readCustomCall(fields, at);
    case "custom_tool_call_output":
      return { type: "custom_tool_call_output", ...readCallOutput(fields, at, "ctco") };
    case "item_reference":
      return referredItem(fields, at, itemOf);
  }
  const name = stringAt(type, `${at}.type`);
  if (HOSTED.test(name)) {
    return message(
      CLIENTS_PART.test(name) ? "user" : "assistant",
      contentAsText(fields, at),
      fields,
    );
  }
  throw unsupported(
    `${at}.type`,
    `${at}.type: items of the type ${
      typeName(type)
    } are not supported here. Send message, reasoning, ` +
      "function_call, function_call_output, custom_tool_call, custom_tool_call_output or item_reference.",
  );
}

/** What an item is that does not say so. */
function implied({ role, id }: Fields): string | undefined {
  if (role !== undefined) return "message";
  return id === undefined ? undefined : "item_reference";
}

function readMessage(fields: Fields, at: string): Item {
  const role = ROLES.find((one) => one === fields.role);
  if (role === undefined) {
    throw wrongField(`${at}.role`, ROLES.map((one) => `"${one}"`).join(", "), fields.role);
  }
  return message(role, readTexts(fields.content, `${at}.content`), fields);
}

function message(role: typeof ROLES[number], texts: string | string[], fields: Fields): Item {
  const common = { type: "message", ...idAndStatus(fields, "msg") } as const;
  const all = typeof texts === "string" ? [texts] : texts;
  if (role !== "assistant") return { ...common, role, content: all.map(inputText) };
  return {
    ...common,
    role,
    content: all.map((text) => ({ type: "output_text", text, annotations: [], logprobs: [] })),
  };
}

const inputText = (text: string): InputMessage["content"][number] => ({ type: "input_text", text });

/** The texts of a content: what was refused is what was said. */
function readTexts(content: unknown, at: string, read = readText): string[] {
  if (typeof content === "string") return [content];
  if (!Array.isArray(content)) throw wrongField(at, "a string or an array of parts", content);
  return content.map((part, index) => read(part, `${at}.${index}`));
}

/** The types of parts that {@link readText} reads. */
const TEXT_PARTS = ["input_text", "output_text", "text", "refusal"];

/** The text of a part of a function's output: an image or a file is named. */
function readOutputText(part: unknown, at: string): string {
  const { type, image_url, file_data } = (part ?? {}) as Fields;
  if (type === "input_image") return notShown({ kind: "image", url: image_url });
  if (type === "input_file") return notShown({ kind: "file", url: file_data });
  if (typeof type === "string" && !TEXT_PARTS.includes(type)) {
    return contentAsText(part as Fields, at);
  }
  return readText(part, at);
}

function readText(part: unknown, at: string): string {
  const wanted = 'a part such as {"type": "input_text", "text": "…"}';
  const { type, text, refusal } = objectAt(part, at, wanted);
  switch (type) {
    case "input_text":
    case "output_text":
    case "text":
      return stringAt(text, `${at}.text`);
    case "refusal":
      return stringAt(refusal, `${at}.refusal`);
  }
  const name = typeName(stringAt(type, `${at}.type`));
  throw unsupported(
    `${at}.type`,
    `${at}.type: parts of the type ${name} are not supported: this server reads text alone. ` +
      'Send parts of the type "input_text".',
  );
}

/** Reasoning as it was answered, or what a client made of it. */
function readReasoning(fields: Fields, at: string): Item {
  const { content, summary, encrypted_content } = fields;
  const said = [
    ...reasoningTexts(content, `${at}.content`),
    // A client that summarizes reasoning may have nothing else of it.
    ...content == null || (content as unknown[]).length === 0
      ? reasoningTexts(summary, `${at}.summary`)
      : [],
  ];
  const decoded = said.length > 0 ? undefined : decodedReasoning(encrypted_content);
  const texts = decoded === undefined ? said : [decoded];
  return {
    type: "reasoning",
    ...idAndStatus(fields, "rs"),
    summary: [],
    content: texts.map((text) => ({ type: "reasoning_text", text })),
  };
}

function reasoningTexts(parts: unknown, at: string): string[] {
  if (parts == null) return [];
  if (!Array.isArray(parts)) throw wrongField(at, "an array of parts", parts);
  return parts.map((part, index) => stringAt((part as Fields | null)?.text, `${at}.${index}.text`));
}

/** What calls of functions and of custom tools have in common. */
function callFields(fields: Fields, at: string, prefix: "fc" | "ctc") {
  const { namespace } = fields;
  return {
    ...idAndStatus(fields, prefix),
    call_id: stringAt(fields.call_id, `${at}.call_id`),
    name: stringAt(fields.name, `${at}.name`),
    ...(namespace == null ? {} : { namespace: stringAt(namespace, `${at}.namespace`) }),
  };
}

function readCall(fields: Fields, at: string): Item {
  return {
    type: "function_call",
    ...callFields(fields, at, "fc"),
    // A model has written them: whatever they are, they are shown.
    arguments: argumentsText(fields.arguments, `${at}.arguments`),
  };
}

function readCustomCall(fields: Fields, at: string): Item {
  return {
    type: "custom_tool_call",
    ...callFields(fields, at, "ctc"),
    input: stringAt(fields.input, `${at}.input`),
  };
}

function readCallOutput(
  fields: Fields,
  at: string,
  prefix: "fco" | "ctco",
): Omit<FunctionCallOutput, "type"> {
  const { output } = fields;
  return {
    ...idAndStatus(fields, prefix),
    call_id: stringAt(fields.call_id, `${at}.call_id`),
    output: typeof output === "string"
      ? output
      : readTexts(output, `${at}.output`, readOutputText).map(inputText),
  };
}

function referredItem(
  fields: Fields,
  at: string,
  itemOf: (id: string) => Item | undefined,
): Item {
  const id = stringAt(fields.id, `${at}.id`);
  const found = itemOf(id);
  if (found !== undefined) return found;
  throw new HttpError(
    404,
    "item_not_found",
    `${at}: there is no item ${
      JSON.stringify(id.slice(0, 80))
    } here. The server keeps the items of its last responses, in ` +
      "memory, unless store is false. Send the item itself.",
    { param: `${at}.id` },
  );
}

function idAndStatus({ id, status }: Fields, prefix: Parameters<typeof itemId>[0]) {
  return {
    id: typeof id === "string" && id !== "" ? id : itemId(prefix),
    status: STATUSES.includes(status) ? status as Item["status"] : "completed",
  } as const;
}
