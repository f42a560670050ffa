/**
 * A job as it is handed to the thread that renders. What is copied from thread to thread loses numbers' digits and
 * the order of keys, so values of JSON go as their text.
 *
 * @module
 */
import { parseJson } from "../json/mod.ts";
import type { RenderCall, RenderJob, RenderMessage } from "./render_job.ts";
import type { ShownTool } from "./tools/shown_tool.ts";

/** A job with its values as one text. */
export interface PostedJob extends Omit<RenderJob, "tools" | "variables"> {
  /** JSON of {@link Values}. */
  readonly values: string;
}

interface Values {
  readonly tools?: readonly ShownTool[];
  readonly variables: RenderJob["variables"];
  /** What the calls' arguments are, one message after the other. */
  readonly calls: readonly unknown[];
}

export function postedJob({ tools, variables, messages, ...rest }: RenderJob): PostedJob {
  const calls: unknown[] = [];
  const posted = messages.map((message) =>
    withCalls(message, (call) => {
      calls.push(call.value);
      return { ...call, value: undefined };
    })
  );
  const values = JSON.stringify({ tools, variables, calls } satisfies Values);
  return { ...rest, messages: posted, values };
}

export function jobOf({ values, messages, ...rest }: PostedJob): RenderJob {
  const { tools, variables, calls } = parseJson(values) as Values;
  let next = 0;
  const read = messages.map((message) =>
    withCalls(message, (call) => ({ ...call, value: calls[next++] }))
  );
  return { ...rest, messages: read, tools, variables };
}

function withCalls(
  message: RenderMessage,
  change: (call: RenderCall) => RenderCall,
): RenderMessage {
  const { toolCalls } = message;
  return toolCalls === undefined ? message : { ...message, toolCalls: toolCalls.map(change) };
}
