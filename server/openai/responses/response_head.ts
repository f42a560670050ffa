import type { Engine } from "../../../engine/mod.ts";
import { SAMPLING_DEFAULTS } from "../../../engine/mod.ts";
import type { ServedModel } from "../../models/mod.ts";
import type { ResponsesRequest, TextFormat } from "./request_schemas.ts";
import type { ResponseObject } from "./response_schemas.ts";

type Fields = Readonly<Record<string, unknown>>;

/** A response as it begins: what is asked for, as it was checked, and nothing of the answer. */
export function responseHead(
  { name, engine }: ServedModel,
  body: ResponsesRequest,
): ResponseObject {
  const { text, user } = body;
  return {
    id: `resp_${crypto.randomUUID().replaceAll("-", "")}`,
    object: "response",
    created_at: Math.floor(Date.now() / 1000),
    completed_at: null,
    status: "in_progress",
    error: null,
    incomplete_details: null,
    model: name,
    output: [],
    usage: null,
    instructions: body.instructions ?? null,
    previous_response_id: body.previous_response_id ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: null,
    metadata: body.metadata ?? {},
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    reasoning: { effort: body.reasoning?.effort ?? null, summary: null },
    store: body.store ?? true,
    ...temperatureAndTopP(engine, body),
    text: { format: shownFormat(text?.format), verbosity: text?.verbosity ?? "medium" },
    tool_choice: shownChoice(body.tool_choice),
    tools: (body.tools ?? []).filter(({ type }) => SHOWN.has(type)).map(shownTool),
    top_logprobs: body.top_logprobs ?? 0,
    truncation: body.truncation ?? "disabled",
    background: false,
    prompt_cache_key: body.prompt_cache_key ?? null,
    safety_identifier: body.safety_identifier ?? null,
    service_tier: "default",
    ...(user == null ? {} : { user }),
  };
}

function temperatureAndTopP({ samplingDefaults }: Engine, body: ResponsesRequest) {
  const { temperature, topP } = { ...SAMPLING_DEFAULTS, ...samplingDefaults };
  return { temperature: body.temperature ?? temperature, top_p: body.top_p ?? topP };
}

function shownFormat(format: TextFormat | null | undefined): ResponseObject["text"]["format"] {
  if (format == null || format.type === "text") return { type: "text" };
  if (format.type === "json_object") return { type: "json_object" };
  const { name, description, schema } = format;
  const described = description == null ? {} : { description };
  return { type: "json_schema", name: name ?? "answer", ...described, schema, strict: true };
}

/** Types of tools that the prompt shows to the model. */
const SHOWN: ReadonlySet<string> = new Set(["function", "custom", "namespace"]);

/** A tool as OpenAI shows it: with what was left out, and without what says nothing here. */
function shownTool(tool: Fields): ResponseObject["tools"][number] {
  const { name, description = null } = tool;
  if (tool.type === "namespace") {
    return { type: tool.type, name, description, tools: (tool.tools as Fields[]).map(shownTool) };
  }
  if (tool.type === "custom") {
    return { type: tool.type, name, description, format: tool.format ?? { type: "text" } };
  }
  const { parameters = null, strict } = tool;
  return { type: "function", name, description, parameters, strict: strict === true };
}

function shownChoice(choice: unknown): ResponseObject["tool_choice"] {
  if (choice == null) return "auto";
  if (typeof choice === "string") return choice;
  const { type, name, mode, tools } = choice as Fields;
  if (type !== "allowed_tools") return { type: type as string, name };
  const shown = (tools as Fields[]).map(({ type = "function", name }) => ({ type, name }));
  return { type, mode, tools: shown };
}
