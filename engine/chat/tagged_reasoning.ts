import type { ContentTrack } from "../grammar/mod.ts";
import type { Steering } from "../sampling/mod.ts";
import type { Tokenizer } from "../tokenizer/mod.ts";
import { type ChatMessage, textOf } from "./conversation.ts";
import { encodeWithin } from "./encode_within.ts";
import {
  InlineReader,
  NO_OUTPUT,
  type OutputFormat,
  type OutputPiece,
  type OutputReader,
  overlap,
} from "./reasoning.ts";
import { ReasoningBudget, type ReasoningTrack } from "./reasoning_budget.ts";

/** What reasoning stands between. */
export interface ReasoningTags {
  readonly open: string;
  readonly close: string;
}

/**
 * The tags of today's models: DeepSeek, Qwen and most others; Seed; MiniMax M3; EXAONE; Magistral;
 * Command A; Apertus; Gemma 4.
 */
export const REASONING_TAGS: readonly ReasoningTags[] = [
  { open: "<think>", close: "</think>" },
  { open: "<seed:think>", close: "</seed:think>" },
  { open: "<mm:think>", close: "</mm:think>" },
  { open: "<thought>", close: "</thought>" },
  { open: "[THINK]", close: "[/THINK]" },
  { open: "<|START_THINKING|>", close: "<|END_THINKING|>" },
  { open: "<|inner_prefix|>", close: "<|inner_suffix|>" },
  { open: "<|channel>thought", close: "<channel|>" },
];

const LONGEST_CLOSE = Math.max(...REASONING_TAGS.map(({ close }) => close.length));

/** How an output goes on from its prompt: not started, in the reasoning between these tags, or in its content. */
export type TaggedStart = "start" | "content" | ReasoningTags;

/**
 * How an output goes on from its prompt.
 *
 * @param unfinished The message that the prompt ends with, if that goes on.
 */
export function startAfter(prompt: string, unfinished?: ChatMessage): TaggedStart {
  const end = prompt.trimEnd();
  for (const tags of REASONING_TAGS) {
    if (end.endsWith(tags.open)) return tags;
    // A template that does without reasoning gives the model an empty one.
    if (end.endsWith(tags.close)) return "content";
  }
  const said = unfinished === undefined ? "" : textOf(unfinished.content).trimStart();
  if (said === "") return "start";
  const open = REASONING_TAGS.find((tags) => said.startsWith(tags.open));
  return open !== undefined && !said.includes(open.close) ? open : "content";
}

/**
 * Reasoning between tags at the start of the output, or from its first token on where the prompt has
 * opened it. Later tags are content: a text may speak of them.
 */
export class TaggedReasoning implements OutputFormat {
  private readonly hidden: ReadonlyMap<number, string>;

  constructor(private readonly tokenizer: Tokenizer, private readonly start: TaggedStart) {
    this.hidden = hiddenTags.getOrInsertComputed(tokenizer, hiddenTagsOf);
  }

  reader(inline = false): OutputReader {
    const reader = new TaggedReader(this.hidden, this.start);
    return inline ? new InlineReader(reader, this.hidden) : reader;
  }

  limit(tokens: number): Steering {
    return new ReasoningBudget(new TaggedTrack(this.tokenizer, this.hidden, this.start), tokens);
  }

  content(): ContentTrack {
    return new TaggedTrack(this.tokenizer, this.hidden, this.start);
  }
}

/** Control tokens that are tags, or begin one: the decoder gives no text for them. Found once a tokenizer. */
const hiddenTags = new WeakMap<Tokenizer, ReadonlyMap<number, string>>();

function hiddenTagsOf(tokenizer: Tokenizer): ReadonlyMap<number, string> {
  const hidden = new Map<number, string>();
  for (const tag of REASONING_TAGS.flatMap(({ open, close }) => [open, close])) {
    for (const text of [tag, tag.slice(0, tag.indexOf(">") + 1)]) {
      const token = tokenizer.tokenId(text);
      if (token !== undefined && tokenizer.isControl(token)) hidden.set(token, text);
    }
  }
  return hidden;
}

class TaggedReader implements OutputReader {
  private state: "start" | "reasoning" | "content";
  private tags?: ReasoningTags;
  private held = "";
  /** Whether white space is dropped until something else comes. */
  private trims: boolean;
  /** Whether the model may write the tag that the prompt has opened once more. */
  private mayRepeat: boolean;

  constructor(private readonly hidden: ReadonlyMap<number, string>, start: TaggedStart) {
    this.tags = typeof start === "string" ? undefined : start;
    this.state = typeof start === "string" ? start : "reasoning";
    this.trims = this.mayRepeat = this.state === "reasoning";
  }

  get inReasoning(): boolean {
    return this.state === "reasoning";
  }

  push(token: number, text: string): OutputPiece {
    return this.take(text + (this.hidden.get(token) ?? ""));
  }

  flush(text: string): OutputPiece {
    const { reasoning, text: content } = this.take(text);
    const rest = this.held;
    this.held = "";
    return this.state === "reasoning"
      ? { reasoning: reasoning + rest.trimEnd(), text: content }
      : { reasoning, text: content + rest };
  }

  private take(text: string): OutputPiece {
    if (text === "") return NO_OUTPUT;
    this.held += text;
    if (this.state === "start") {
      const found = firstTags(this.held);
      if (found === "start") return NO_OUTPUT;
      if (found === "content") this.state = found;
      else this.begin(found);
    }
    if (this.state === "reasoning") return this.takeReasoning();
    let content = this.held;
    this.held = "";
    if (this.trims) content = content.trimStart();
    if (content !== "") this.trims = false;
    return { reasoning: "", text: content };
  }

  /** The output begins with a tag. */
  private begin(tags: ReasoningTags): void {
    this.tags = tags;
    this.held = this.held.trimStart().slice(tags.open.length);
    this.state = "reasoning";
    this.trims = true;
  }

  private takeReasoning(): OutputPiece {
    const { open, close } = this.tags!;
    if (this.trims) {
      this.held = this.held.trimStart();
      if (this.mayRepeat && this.held.startsWith(open)) {
        this.held = this.held.slice(open.length).trimStart();
        this.mayRepeat = false;
      }
      if (this.held === "" || this.mayRepeat && open.startsWith(this.held)) return NO_OUTPUT;
    }
    const at = this.held.indexOf(close);
    if (at >= 0) {
      const reasoning = this.held.slice(0, at).trimEnd();
      const content = this.held.slice(at + close.length).trimStart();
      this.held = "";
      this.state = "content";
      this.trims = content === "";
      return { reasoning, text: content };
    }
    this.trims = false;
    // White space before the last tag is dropped, so it waits with what may be the tag.
    const keep = this.held.slice(0, this.held.length - overlap(this.held, close)).trimEnd().length;
    const reasoning = this.held.slice(0, keep);
    this.held = this.held.slice(keep);
    return { reasoning, text: "" };
  }
}

/** The tags that a text begins with; "start" while it may still do so, "content" where it does not. */
function firstTags(text: string): TaggedStart {
  const start = text.trimStart();
  let found: TaggedStart = "content";
  for (const tags of REASONING_TAGS) {
    if (start.startsWith(tags.open)) return tags;
    if (tags.open.startsWith(start)) found = "start";
  }
  return found;
}

/** The same out of tokens alone: it sees the bytes of the last ones, in which a tag may end. */
class TaggedTrack implements ReasoningTrack<TaggedStart>, ContentTrack<TaggedStart> {
  readonly content = "content";

  constructor(
    private readonly tokenizer: Tokenizer,
    private readonly hidden: ReadonlyMap<number, string>,
    readonly start: TaggedStart,
  ) {}

  after(phase: TaggedStart, tokens: readonly number[], place: number): TaggedStart {
    if (phase === "content") return phase;
    if (phase === "start") return firstTags(this.bytesBefore(tokens, place, Infinity));
    // Only a tag that ends in the last token ends the reasoning now.
    const last = this.bytesOf(tokens[place]);
    const before = this.bytesBefore(tokens, place - 1, phase.close.length - 1);
    return (before + last).includes(phase.close) ? "content" : phase;
  }

  isReasoning(phase: TaggedStart): boolean {
    return typeof phase !== "string";
  }

  isContent(phase: TaggedStart): boolean {
    return !this.isReasoning(phase);
  }

  openers(phase: TaggedStart): readonly number[] {
    if (phase !== "start") return [];
    return REASONING_TAGS.map(({ open }) => this.tokenizer.tokenId(open))
      .filter((token) => token !== undefined);
  }

  rest(tokens: readonly number[], index: number): Uint8Array {
    const last = this.bytesOf(tokens[index]);
    const text = this.bytesBefore(tokens, index - 1, LONGEST_CLOSE) + last;
    const end = Math.max(...REASONING_TAGS.map(({ close }) => {
      const at = text.lastIndexOf(close);
      return at < 0 ? -1 : at + close.length;
    }));
    const rest = text.slice(Math.max(end, text.length - last.length));
    return Uint8Array.from(rest, (byte) => byte.charCodeAt(0));
  }

  end(phase: TaggedStart, tokens: readonly number[]): readonly number[] {
    if (typeof phase === "string") return [];
    // The model may have opened the tag.
    const { close } = phase;
    const started = overlap(this.bytesBefore(tokens, tokens.length - 1, close.length), close);
    return encodeWithin(this.tokenizer, `${close.slice(started)}\n\n`);
  }

  /** The last bytes up to a token, at least that many where there are. */
  private bytesBefore(tokens: readonly number[], place: number, least: number): string {
    let bytes = "";
    for (let i = place; i >= 0 && bytes.length < least; i--) {
      bytes = this.bytesOf(tokens[i]) + bytes;
    }
    return bytes.slice(Math.max(0, bytes.length - least));
  }

  /** A token's bytes, each as one character: tags are ASCII. */
  private bytesOf(token: number): string {
    const tag = this.hidden.get(token);
    if (tag !== undefined || token >= this.tokenizer.vocabSize) return tag ?? "";
    return String.fromCharCode(...this.tokenizer.tokenBytes(token));
  }
}
