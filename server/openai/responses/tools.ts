/**
 * The functions that a request brings, and which of them an answer calls.
 *
 * @module
 */
import { customDescription, INPUT_SCHEMA } from "../mod.ts";
import {
  describe,
  objectAt,
  optionalStringAt,
  stringAt,
  typeName,
  wrongField,
} from "../../request/mod.ts";
import type { Tool, ToolChoice } from "../../../engine/mod.ts";
import { unsupported } from "../../errors.ts";
import type { ConversationFields, Tool as GivenTool } from "./request_schemas.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The tools of a request. */
export interface ToolUse {
  readonly tools: readonly Tool[];
  readonly toolChoice: ToolChoice;
  /** What a client knows each function by. */
  readonly given: ReadonlyMap<string, GivenName>;
  /** The types of OpenAI's own tools, which are not shown to a model here. */
  readonly leftOut: ReadonlySet<string>;
}

/** What a client knows a function by. */
export interface GivenName {
  readonly name: string;
  readonly namespace?: string;
  /** Whether it is a custom tool: what it is called with is a text. */
  readonly custom?: true;
}

/** OpenAI's own tools. Agents send some with every request to any server. */
const HOSTED =
  /^(web_search|file_search|code_interpreter|image_generation|computer|mcp|local_shell|shell|apply_patch|tool_search)(_\w{1,40})?$/;

/** What the model knows a function by. */
export function toolName(name: string, namespace?: string): string {
  return namespace === undefined ? name : `${namespace}.${name}`;
}

/**
 * The tools of a body.
 *
 * @throws {HttpError} 400 naming the tool: for other types than functions, and for choices of what is not there.
 */
export function readTools({ tools = [], tool_choice }: ConversationFields): ToolUse {
  const all: Tool[] = [];
  const given = new Map<string, GivenName>();
  const leftOut = new Set<string>();
  const add = (tool: GivenTool, at: string, namespace?: string) => {
    const { parameters, strict } = tool;
    const name = stringAt(tool.name, `${at}.name`);
    const full = toolName(name, namespace);
    const custom = tool.type === "custom";
    given.set(full, {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(custom ? { custom } : {}),
    });
    if (custom) {
      const { description, format } = tool;
      const described = customDescription(description ?? undefined, format, `${at}.format`);
      all.push({ name: full, description: described, parameters: INPUT_SCHEMA });
      return;
    }
    all.push({
      name: full,
      description: tool.description ?? undefined,
      parameters: parameters ?? undefined,
      strict: strict === true,
    });
  };
  for (const [index, tool] of tools.entries()) {
    const at = `tools.${index}`;
    if (tool.type === "function" || tool.type === "custom") add(tool, at);
    else if (tool.type === "namespace") addNamespace(tool, at, add);
    else if (HOSTED.test(tool.type)) leftOut.add(tool.type);
    else refuseType(tool.type, at);
  }
  return { ...chosen(all, given, tool_choice), given, leftOut };
}

/** Functions that belong together: the model knows each by both names. */
function addNamespace(
  { name, tools }: GivenTool,
  at: string,
  add: (tool: GivenTool, at: string, namespace: string) => void,
): void {
  const namespace = stringAt(name, `${at}.name`);
  if (!Array.isArray(tools)) throw wrongField(`${at}.tools`, "an array of functions", tools);
  for (const [index, tool] of tools.entries()) {
    const place = `${at}.tools.${index}`;
    const { type, description, parameters, ...rest } = objectAt(tool, place);
    if (type !== "function" && type !== "custom") refuseType(type, place);
    optionalStringAt(description, `${place}.description`);
    if (parameters != null) objectAt(parameters, `${place}.parameters`);
    add({ ...rest, type, description, parameters } as GivenTool, place, namespace);
  }
}

function refuseType(type: unknown, at: string): never {
  const name = typeName(stringAt(type, `${at}.type`));
  throw unsupported(
    `${at}.type`,
    `${at}.type: tools of the type ${name} are not supported: the client has to do what a model ` +
      'asks for. Send tools of the type "function" or "custom".',
  );
}

/** The tools that may be called, and which of them are. */
function chosen(
  tools: readonly Tool[],
  given: ToolUse["given"],
  choice: unknown,
): Pick<ToolUse, "tools" | "toolChoice"> {
  if (choice == null) return { tools, toolChoice: "auto" };
  if (typeof choice === "string") {
    if (choice === "none" || choice === "auto" || choice === "required") {
      return { tools, toolChoice: choice };
    }
    throw wrongField("tool_choice", '"none", "auto", "required" or an object', choice);
  }
  const { type, name, mode, tools: allowed } = objectAt(choice, "tool_choice");
  if (type === "function" || type === "custom") {
    return { tools, toolChoice: { name: known(given, name, "tool_choice.name") } };
  }
  if (type === "allowed_tools") {
    if (mode !== "auto" && mode !== "required") {
      throw wrongField("tool_choice.mode", '"auto" or "required"', mode);
    }
    if (!Array.isArray(allowed) || allowed.length === 0) {
      throw wrongField("tool_choice.tools", "an array of at least one tool", allowed);
    }
    const names = new Set(allowed.map((one, index) => {
      const at = `tool_choice.tools.${index}`;
      return known(given, objectAt(one, at).name, `${at}.name`);
    }));
    return { tools: tools.filter((tool) => names.has(tool.name)), toolChoice: mode };
  }
  const shown = describe(stringAt(type, "tool_choice.type"));
  throw unsupported(
    "tool_choice.type",
    `tool_choice.type: ${shown} is not supported. Choose "function", "custom" or "allowed_tools".`,
  );
}

function known(given: ToolUse["given"], name: unknown, at: string): string {
  if (typeof name === "string" && given.has(name)) return name;
  throw wrongField(at, "the name of a function of tools", name);
}
