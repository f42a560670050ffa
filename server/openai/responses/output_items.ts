import type { GenerationChunk, Tokenizer } from "../../../engine/mod.ts";
import { chatLogprobs, InputReader } from "../mod.ts";
import { encodedReasoning } from "./encrypted_reasoning.ts";
import {
  type FunctionCall,
  itemId,
  type OutputItem,
  type OutputMessage,
  type OutputPart,
  type OutputTextLogprob,
  type ReasoningItem,
  type TextLogprob,
} from "./item_schemas.ts";
import type { UncountedEvent } from "./response_schemas.ts";
import type { ToolUse } from "./tools.ts";

/** What items are made with. */
export interface OutputOptions {
  /** The functions that may be called. */
  readonly given: ToolUse["given"];
  /** Gives names to tokens, where log-probabilities are wanted; else absent. */
  readonly tokenizer?: Tokenizer;
  /** Whether reasoning has `encrypted_content`. */
  readonly encrypted: boolean;
}

/** Where an event is about. */
interface Place {
  readonly item_id: string;
  readonly output_index: number;
}

/** The items of an answer in progress, and the events that report them. */
export class OutputItems {
  /** The items so far; the last may be unfinished. */
  readonly items: OutputItem[] = [];
  /** The last item, as long as it goes on. */
  private open?: OutputItem;
  /** Which call of the answer is open. */
  private call = -1;
  /** Reads the input of the custom tool's call that is open. */
  private input = new InputReader();
  /** Log-probabilities of tokens whose text is held back. */
  private held: OutputTextLogprob[] = [];

  constructor(private readonly options: OutputOptions) {}

  /** What a chunk adds. */
  *push({ reasoning, text, tokens, toolCalls = [] }: GenerationChunk): Generator<UncountedEvent> {
    if (reasoning !== "") yield* this.think(reasoning);
    const { tokenizer } = this.options;
    if (tokenizer !== undefined) {
      for (const { bytes, top_logprobs, ...rest } of chatLogprobs(tokenizer, tokens)) {
        const top = top_logprobs.map((one) => ({ ...one, bytes: one.bytes ?? [] }));
        this.held.push({ ...rest, bytes: bytes ?? [], top_logprobs: top });
      }
    }
    if (text !== "") yield* this.say(text);
    for (const { index, id, name, arguments: more } of toolCalls) {
      if (index !== this.call) yield* this.beginCall(index, id ?? "", name ?? "");
      if (more !== "") yield* this.goOn(more);
    }
  }

  /**
   * Ends the last item. An answer of nothing is a message of nothing: clients look for one.
   *
   * @param status Whether the answer was cut off in it.
   */
  *end(status: "completed" | "incomplete"): Generator<UncountedEvent> {
    if (this.items.length === 0) yield* this.beginMessage();
    yield* this.close(status);
  }

  /** The items of an answer that fails: what it was cut off in does not go on. */
  failed(): OutputItem[] {
    if (this.open !== undefined) this.open.status = "incomplete";
    return this.items;
  }

  private *think(delta: string): Generator<UncountedEvent> {
    if (this.open?.type !== "reasoning") {
      yield* this.close("completed");
      const item: ReasoningItem = {
        type: "reasoning",
        id: itemId("rs"),
        status: "in_progress",
        summary: [],
        content: [],
      };
      yield* this.begin(item, { type: "reasoning_text", text: "" });
    }
    (this.open as ReasoningItem).content[0].text += delta;
    yield { type: "response.reasoning_text.delta", ...this.place(), content_index: 0, delta };
  }

  private *say(delta: string): Generator<UncountedEvent> {
    if (this.open?.type !== "message") yield* this.beginMessage();
    const part = (this.open as OutputMessage).content[0];
    part.text += delta;
    part.logprobs.push(...this.held);
    const logprobs = this.held.map(shortLogprob);
    this.held = [];
    const place = { ...this.place(), content_index: 0 } as const;
    yield { type: "response.output_text.delta", ...place, delta, logprobs };
  }

  private *beginMessage(): Generator<UncountedEvent> {
    yield* this.close("completed");
    yield* this.begin(
      { type: "message", id: itemId("msg"), status: "in_progress", role: "assistant", content: [] },
      { type: "output_text", text: "", annotations: [], logprobs: [] },
    );
  }

  private *beginCall(index: number, call_id: string, name: string): Generator<UncountedEvent> {
    yield* this.close("completed");
    this.call = index;
    const { custom, ...given } = this.options.given.get(name) ?? { name };
    if (custom) {
      this.input = new InputReader();
      const id = itemId("ctc");
      yield* this.begin(
        { type: "custom_tool_call", id, status: "in_progress", call_id, ...given, input: "" },
      );
      return;
    }
    yield* this.begin({
      type: "function_call",
      id: itemId("fc"),
      status: "in_progress",
      call_id,
      ...given,
      arguments: "",
    });
  }

  private *goOn(delta: string): Generator<UncountedEvent> {
    if (this.open?.type === "custom_tool_call") {
      const more = this.input.push(delta);
      if (more === "") return;
      this.open.input += more;
      yield { type: "response.custom_tool_call_input.delta", ...this.place(), delta: more };
      return;
    }
    (this.open as FunctionCall).arguments += delta;
    yield { type: "response.function_call_arguments.delta", ...this.place(), delta };
  }

  private *begin(item: OutputItem, part?: OutputPart): Generator<UncountedEvent> {
    this.items.push(item);
    this.open = item;
    // A later reader of an event sees the state at the time of the event.
    const shown = structuredClone(item);
    yield {
      type: "response.output_item.added",
      output_index: this.items.length - 1,
      item: shown,
    };
    if (part === undefined || !("content" in item)) return;
    (item.content as OutputPart[]).push(part);
    yield {
      type: "response.content_part.added",
      ...this.place(),
      content_index: 0,
      part: structuredClone(part),
    };
  }

  private *close(status: "completed" | "incomplete"): Generator<UncountedEvent> {
    const { open: item } = this;
    if (item === undefined) return;
    item.status = status;
    const place = this.place();
    if (item.type === "function_call") {
      const type = "response.function_call_arguments.done";
      yield { type, ...place, arguments: item.arguments };
    } else if (item.type === "custom_tool_call") {
      yield { type: "response.custom_tool_call_input.done", ...place, input: item.input };
    } else {
      yield* closePart(item, place);
    }
    if (item.type === "reasoning" && this.options.encrypted) {
      item.encrypted_content = encodedReasoning(item.content[0].text);
    }
    yield { type: "response.output_item.done", output_index: place.output_index, item };
    this.open = undefined;
  }

  private place(): Place {
    return { item_id: this.open!.id, output_index: this.items.length - 1 };
  }
}

function* closePart(item: OutputMessage | ReasoningItem, at: Place): Generator<UncountedEvent> {
  const place = { ...at, content_index: 0 } as const;
  const [part] = item.content;
  const { text } = part;
  if (part.type === "reasoning_text") {
    yield { type: "response.reasoning_text.done", ...place, text };
  } else {
    const logprobs = part.logprobs.map(shortLogprob);
    yield { type: "response.output_text.done", ...place, text, logprobs };
  }
  yield { type: "response.content_part.done", ...place, part };
}

/** Events have no bytes. */
function shortLogprob({ token, logprob, top_logprobs }: OutputTextLogprob): TextLogprob {
  const top = top_logprobs.map(({ token, logprob }) => ({ token, logprob }));
  return { token, logprob, top_logprobs: top };
}
