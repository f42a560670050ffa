import { isJsonObject } from "../../engine/json/mod.ts";
import { argumentsText, typeName, wrongField } from "../request/mod.ts";
import type { Tool, ToolCall, ToolChoice } from "../../engine/mod.ts";
import { unsupported } from "../errors.ts";
import { customDescription, INPUT_SCHEMA, inputArguments } from "./custom_input.ts";

/**
 * The tools of a body.
 *
 * @throws {HttpError} 400 naming the tool and what of it cannot be read; `unsupported` for tools of other types
 * than "function".
 */
export function readTools(tools: readonly unknown[]): Tool[] {
  return tools.map((tool, index) => readTool(tool, `tools.${index}`));
}

function readTool(tool: unknown, at: string): Tool {
  const { type, function: named, custom } = asObject(tool, at);
  if (typeof type !== "string") throw wrongField(`${at}.type`, '"function" or "custom"', type);
  if (type === "custom") return readCustomTool(custom, `${at}.custom`);
  if (type !== "function") {
    throw unsupported(
      `${at}.type`,
      `${at}.type: tools of the type ${
        typeName(type)
      } are not supported. Send functions and custom tools.`,
    );
  }
  const place = `${at}.function`;
  const { name, description, parameters, strict } = asObject(named, place);
  if (typeof name !== "string") throw wrongField(`${place}.name`, "a string", name);
  if (description != null && typeof description !== "string") {
    throw wrongField(`${place}.description`, "a string", description);
  }
  if (strict != null && typeof strict !== "boolean") {
    throw wrongField(`${place}.strict`, "true or false", strict);
  }
  if (parameters != null) asObject(parameters, `${place}.parameters`);
  return {
    name,
    description: description ?? undefined,
    parameters: parameters ?? undefined,
    strict: strict ?? undefined,
  };
}

/** A custom tool: a function with one text to the model. */
function readCustomTool(custom: unknown, at: string): Tool {
  const { name, description, format } = asObject(custom, at);
  if (typeof name !== "string") throw wrongField(`${at}.name`, "a string", name);
  if (description != null && typeof description !== "string") {
    throw wrongField(`${at}.description`, "a string", description);
  }
  const { type, grammar } = format == null
    ? { type: "text" }
    : asObject(format, `${at}.format`) as { type?: unknown; grammar?: unknown };
  const isGrammar = type === "grammar";
  return {
    name,
    description: customDescription(
      description ?? undefined,
      isGrammar ? { ...asObject(grammar, `${at}.format.grammar`), type } : { type },
      isGrammar ? `${at}.format.grammar` : `${at}.format`,
    ),
    parameters: INPUT_SCHEMA,
  };
}

/** The names of a body's custom tools. */
export function customNames(tools: readonly unknown[] | null | undefined): ReadonlySet<string> {
  return new Set(
    (tools ?? []).flatMap((tool) => {
      const { type, custom } = asObject(tool, "tools");
      return type === "custom" ? [String((custom as { name?: unknown } | null)?.name)] : [];
    }),
  );
}

/**
 * Which tools are to be called.
 *
 * @throws {HttpError} 400 naming what of the choice cannot be read.
 */
export function readToolChoice(choice: unknown): ToolChoice {
  const at = "tool_choice";
  if (choice === "none" || choice === "auto" || choice === "required") return choice;
  if (typeof choice !== "object") {
    throw wrongField(at, '"none", "auto", "required" or a function by its name', choice);
  }
  const { type, ...named } = asObject(choice, at);
  if (type !== "function" && type !== "custom") {
    throw unsupported(
      at,
      `${at}: the type ${typeName(type)} is not supported. Send ` +
        '{"type": "function", "function": {"name": "…"}}, "auto", "required" or "none".',
    );
  }
  const { name } = asObject(named[type], `${at}.${type}`);
  if (typeof name !== "string") throw wrongField(`${at}.${type}.name`, "a string", name);
  return { name };
}

/**
 * The calls of an assistant's message. A model has written names and arguments: whatever they are, they are shown.
 *
 * @throws {HttpError} 400 naming the call and what of it cannot be read.
 */
export function readCalls(calls: unknown, at: string): ToolCall[] | undefined {
  if (!Array.isArray(calls)) throw wrongField(at, "an array of calls", calls);
  if (calls.length === 0) return undefined;
  return calls.map((call, index) => readCall(call, `${at}.${index}`));
}

function readCall(call: unknown, at: string): ToolCall {
  const { id, type, function: named, custom } = asObject(call, at);
  if (typeof id !== "string") throw wrongField(`${at}.id`, "a string", id);
  if (type === "custom") {
    const { name, input } = asObject(custom, `${at}.custom`);
    if (typeof name !== "string") throw wrongField(`${at}.custom.name`, "a string", name);
    return { id, name, arguments: inputArguments(argumentsText(input, `${at}.custom.input`)) };
  }
  if (type != null && type !== "function") {
    throw unsupported(
      `${at}.type`,
      `${at}.type: calls of the type ${
        typeName(type)
      } are not supported. Send those of functions and custom tools.`,
    );
  }
  const { name, arguments: given } = asObject(named, `${at}.function`);
  if (name != null && typeof name !== "string") {
    throw wrongField(`${at}.function.name`, "a string", name);
  }
  return { id, name: name ?? "", arguments: argumentsText(given, `${at}.function.arguments`) };
}

function asObject(value: unknown, at: string): Record<string, unknown> {
  if (isJsonObject(value)) return value;
  throw wrongField(at, "an object", value);
}
