import { NEEDLE, type Trial } from "../template_trial.ts";

/** What a template can show of tools. */
export interface ToolAbilities {
  /** The list of tools. */
  readonly tools: boolean;
  /** Calls in an assistant's message, their arguments in this form; undefined: no calls. */
  readonly calls?: "object" | "text";
  /** Several calls in one message. */
  readonly severalCalls: boolean;
  /** Results, in messages of the role `tool`. */
  readonly results: boolean;
  /** Whether it refuses ids of calls that are not 9 letters and digits. */
  readonly shortIds: boolean;
}

/**
 * What a template can show of tools, found out by trying, as `template_abilities.ts` does.
 *
 * @param say What a message's content has to be like for a text.
 */
export function findToolAbilities(trial: Trial, say: (text: string) => unknown): ToolAbilities {
  const user = { role: "user", content: say("x") };
  const shown = (messages: readonly object[], tools?: unknown) => trial.render(messages, tools);
  const shows = (messages: readonly object[], tools?: unknown) =>
    shown(messages, tools)?.includes(NEEDLE) ?? false;
  const named = (name: string) => [{
    type: "function",
    function: { name, description: "d", parameters: { type: "object", properties: {} } },
  }];
  const call = (id: string, value: unknown) => ({
    id,
    type: "function",
    function: { name: "f", arguments: value },
  });
  const calling = (...calls: object[]) => ({
    role: "assistant",
    content: say(""),
    tool_calls: calls,
  });
  const asObject = { key: NEEDLE };
  const asText = JSON.stringify(asObject);
  const known = (id: string): "object" | "text" | undefined => {
    const result = { role: "tool", tool_call_id: id, name: "f", content: say("r") };
    const object = shown([user, calling(call(id, asObject)), result], named("f"));
    // A dict in Python's writing is no JSON.
    if (object?.includes(NEEDLE) && !object.includes("{'key'")) return "object";
    const text = shown([user, calling(call(id, asText)), result], named("f"));
    // Nor is JSON written as a text of JSON.
    if (text?.includes(NEEDLE) && !text.includes('\\"key\\"')) return "text";
  };
  const long = known(LONG_ID);
  const calls = long ?? known(SHORT_ID);
  const shortIds = long === undefined && calls !== undefined;
  const id = shortIds ? SHORT_ID : LONG_ID;
  const one = call(id, calls === "text" ? "{}" : {});
  const other = call(
    id.replace(/.$/, "1"),
    calls === "text" ? asText : asObject,
  );
  const before = calls === undefined
    ? [user, { role: "assistant", content: say("y") }]
    : [user, calling(one)];
  const answers = { role: "tool", tool_call_id: id, name: "f", content: say(NEEDLE) };
  return {
    tools: shows([user], named(NEEDLE)),
    calls,
    severalCalls: calls !== undefined && shows([user, calling(one, other)], named("f")),
    results: shows([...before, answers], named("f")),
    shortIds,
  };
}

const LONG_ID = "call_0123456789abcdef";
const SHORT_ID = "abcdef010";
