import { NEEDLE, type Trial } from "../template_trial.ts";

/** What a template can show of tools. */
export interface ToolAbilities {
  /** The list of tools. */
  readonly tools: boolean;
  /** Whether it fails on a tool without a description. */
  readonly needsDescription: boolean;
  /** Calls in an assistant's message, their arguments in this form; undefined: no calls. */
  readonly calls?: "object" | "text";
  /** Whether it shows arguments as they are that are a text and no JSON. */
  readonly rawArguments: boolean;
  /** Several calls in one message. */
  readonly severalCalls: boolean;
  /** Results, in messages of the role `tool`. */
  readonly results: boolean;
  /** Whether it refuses ids of calls that are not 9 letters and digits. */
  readonly shortIds: boolean;
  /** An id that it takes. */
  readonly id: string;
  /** What it renders of a call of {@link SAMPLE_CALL}, from the user's message on; undefined: no calls. */
  readonly sample?: string;
  /** Whether all of some texts are shown of a result with such a content. */
  showsResult(content: unknown, texts: readonly string[]): boolean;
  /**
   * A call and its result as messages, for trials of what stands around them; undefined where it shows no calls.
   *
   * @param fields What else the message with the calls has.
   * @param thought Whether it has reasoning.
   */
  exchange(
    fields: Readonly<Record<string, unknown>>,
    thought: boolean,
  ):
    | { readonly messages: readonly object[]; readonly tools: unknown; readonly name: string }
    | undefined;
}

/** The call that samples are made of. */
export const SAMPLE_CALL = { name: "needle_tool", arguments: { key: NEEDLE } } as const;

/** The text that stands before a sample. */
const SAMPLE_ASKED = "sample-asked-5d0e";

/**
 * What a template can show of tools, found out by trying, as `template_abilities.ts` does.
 *
 * @param say What a message's content has to be like for a text.
 */
export function findToolAbilities(trial: Trial, say: (text: string) => unknown): ToolAbilities {
  const user = { role: "user", content: say("x") };
  const shown = (messages: readonly object[], tools?: unknown) => trial.render(messages, tools);
  const shows = (messages: readonly object[], tools?: unknown) =>
    trial.shows([NEEDLE], messages, tools);
  const named = (name: string, described = true) => [{
    type: "function",
    function: {
      name,
      ...described ? { description: "d" } : {},
      parameters: { type: "object", properties: { key: { type: "string", description: "k" } } },
    },
  }];
  const call = (id: string, value: unknown, name = "f") => ({
    id,
    type: "function",
    function: { name, arguments: value },
  });
  const calling = (...calls: object[]) => ({
    role: "assistant",
    content: say(""),
    tool_calls: calls,
  });
  const answering = (id: string, content: unknown, name = "f") => ({
    role: "tool",
    tool_call_id: id,
    name,
    content,
  });
  const asObject = { key: NEEDLE };
  const asText = JSON.stringify(asObject);
  const known = (id: string): "object" | "text" | undefined => {
    const result = answering(id, say("r"));
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
  const given = (value: object) => calls === "text" ? JSON.stringify(value) : value;
  const one = call(id, given({}));
  const other = call(id.replace(/.$/, "1"), given(asObject));
  const before = calls === undefined
    ? [user, { role: "assistant", content: say("y") }]
    : [user, calling(one)];
  const showsResult = (content: unknown, texts: readonly string[]) =>
    trial.shows(texts, [...before, answering(id, content)], named("f"));
  const sampleOf = (): string | undefined => {
    const { name, arguments: value } = SAMPLE_CALL;
    const asked = { role: "user", content: say(SAMPLE_ASKED) };
    const messages = [asked, calling(call(id, given(value), name)), answering(id, say("r"), name)];
    const text = shown(messages, named(name));
    return text?.slice(text.lastIndexOf(SAMPLE_ASKED) + SAMPLE_ASKED.length);
  };
  const cut = `{"key": "${NEEDLE}`;
  const tools = shows([user], named(NEEDLE));
  return {
    tools,
    needsDescription: tools && !shows([user], named(NEEDLE, false)),
    calls,
    rawArguments: calls !== undefined &&
      trial.shows([cut], [user, calling(call(id, cut)), answering(id, say("r"))], named("f")),
    severalCalls: calls !== undefined && shows([user, calling(one, other)], named("f")),
    results: showsResult(say(NEEDLE), [NEEDLE]),
    shortIds,
    id,
    sample: calls && sampleOf(),
    showsResult,
    exchange(fields, thought) {
      if (calls === undefined) return undefined;
      const thoughts = thought ? { reasoning_content: "t", thinking: "t", reasoning: "t" } : {};
      const { name } = SAMPLE_CALL;
      const made = { ...calling(call(id, given({}), name)), ...thoughts, ...fields };
      return { messages: [made, answering(id, say("r"), name)], tools: named("f"), name };
    },
  };
}

const LONG_ID = "call_0123456789abcdef";
const SHORT_ID = "abcdef010";
