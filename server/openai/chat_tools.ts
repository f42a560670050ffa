import {
  argumentsText,
  objectAt,
  optionalStringAt,
  stringAt,
  typeName,
  wrongField,
} from "../request/mod.ts";
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
  const { type, function: named, custom } = objectAt(tool, at);
  stringAt(type, `${at}.type`, '"function" or "custom"');
  if (type === "custom") return readCustomTool(custom, `${at}.custom`);
  if (type !== "function") {
    throw unsupported(
      `${at}.type`,
      `${at}.type: tools of the type ${
        typeName(type)
      } are not supported. Send functions and custom ` +
        "tools.",
    );
  }
  const place = `${at}.function`;
  const { name, description, parameters, strict } = objectAt(named, place);
  const read = {
    name: stringAt(name, `${place}.name`),
    description: optionalStringAt(description, `${place}.description`),
  };
  if (strict != null && typeof strict !== "boolean") {
    throw wrongField(`${place}.strict`, "true or false", strict);
  }
  return {
    ...read,
    parameters: parameters == null ? undefined : objectAt(parameters, `${place}.parameters`),
    strict: strict ?? undefined,
  };
}

/** A custom tool: a function with one text to the model. */
function readCustomTool(custom: unknown, at: string): Tool {
  const { name, description, format } = objectAt(custom, at);
  const read = {
    name: stringAt(name, `${at}.name`),
    description: optionalStringAt(description, `${at}.description`),
  };
  const { type, grammar } = objectAt(format ?? { type: "text" }, `${at}.format`);
  const isGrammar = type === "grammar";
  return {
    name: read.name,
    description: customDescription(
      read.description,
      isGrammar ? { ...objectAt(grammar, `${at}.format.grammar`), type } : { type },
      isGrammar ? `${at}.format.grammar` : `${at}.format`,
    ),
    parameters: INPUT_SCHEMA,
  };
}

/** The names of a body's custom tools. */
export function customNames(tools: readonly unknown[] | null | undefined): ReadonlySet<string> {
  return new Set(
    (tools ?? []).flatMap((tool) => {
      const { type, custom } = objectAt(tool, "tools");
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
  const { type, ...named } = objectAt(choice, at);
  if (type !== "function" && type !== "custom") {
    throw unsupported(
      at,
      `${at}: the type ${typeName(type)} is not supported. Send ` +
        '{"type": "function", "function": {"name": "…"}}, "auto", "required" or "none".',
    );
  }
  const { name } = objectAt(named[type], `${at}.${type}`);
  return { name: stringAt(name, `${at}.${type}.name`) };
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
  const { id: givenId, type, function: named, custom } = objectAt(call, at);
  const id = stringAt(givenId, `${at}.id`);
  if (type === "custom") {
    const { name, input } = objectAt(custom, `${at}.custom`);
    return {
      id,
      name: stringAt(name, `${at}.custom.name`),
      arguments: inputArguments(argumentsText(input, `${at}.custom.input`)),
    };
  }
  if (type != null && type !== "function") {
    throw unsupported(
      `${at}.type`,
      `${at}.type: calls of the type ${
        typeName(type)
      } are not supported. Send those of functions and ` +
        "custom tools.",
    );
  }
  const { name, arguments: given } = objectAt(named, `${at}.function`);
  return {
    id,
    name: optionalStringAt(name, `${at}.function.name`) ?? "",
    arguments: argumentsText(given, `${at}.function.arguments`),
  };
}
