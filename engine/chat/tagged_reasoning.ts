import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import type { OutputFormat, OutputPiece, OutputReader } from "./reasoning.ts";

/** What reasoning stands between. */
export interface ReasoningTags {
  readonly open: string;
  readonly close: string;
}

/** The tags of today's models; the first of those that a text begins with counts. */
export const REASONING_TAGS: readonly ReasoningTags[] = [
  { open: "<think>", close: "</think>" },
  { open: "<seed:think>", close: "</seed:think>" },
  { open: "<thought>", close: "</thought>" },
  { open: "[THINK]", close: "[/THINK]" },
  { open: "<|START_THINKING|>", close: "<|END_THINKING|>" },
  { open: "<|inner_prefix|>", close: "<|inner_suffix|>" },
];

const NOTHING: OutputPiece = { reasoning: "", text: "" };

/**
 * Reasoning between tags at the start of the output, or from its first token on where the prompt has
 * opened it. Later tags are content: a text may speak of them.
 */
export class TaggedReasoning implements OutputFormat {
  readonly endOfReasoning: readonly number[];
  /** Control tokens that are tags: the decoder gives no text for them. */
  private readonly hidden = new Map<number, string>();

  /** @param opened The tags whose first one the prompt ends with, if it does. */
  constructor(tokenizer: Tokenizer, private readonly opened?: ReasoningTags) {
    const { close } = opened ?? REASONING_TAGS[0];
    this.endOfReasoning = tokenizer.encode(`${close}\n\n`, {
      addSpecial: false,
      parseSpecial: true,
    });
    for (const tag of REASONING_TAGS.flatMap(({ open, close }) => [open, close])) {
      const tokens = tokenizer.encode(tag, { addSpecial: false, parseSpecial: true });
      const [token] = tokens;
      if (tokens.length === 1 && tokenizer.isControl(token)) this.hidden.set(token, tag);
    }
  }

  reader(): OutputReader {
    return new TaggedReader(this.hidden, this.opened);
  }
}

class TaggedReader implements OutputReader {
  private state: "start" | "reasoning" | "content";
  private tags?: ReasoningTags;
  private held = "";
  /** Whether white space is dropped until something else comes. */
  private trims = true;

  constructor(private readonly hidden: ReadonlyMap<number, string>, opened?: ReasoningTags) {
    this.tags = opened;
    this.state = opened === undefined ? "start" : "reasoning";
  }

  get inReasoning(): boolean {
    return this.state === "reasoning";
  }

  push(token: number, text: string): OutputPiece {
    return this.take(this.hidden.get(token) ?? text);
  }

  flush(text: string): OutputPiece {
    const { reasoning, text: content } = this.take(text);
    const rest = this.held;
    this.held = "";
    if (this.state !== "reasoning") return { reasoning, text: content + rest };
    return { reasoning: reasoning + rest.trimEnd(), text: content };
  }

  private take(text: string): OutputPiece {
    if (text === "") return NOTHING;
    this.held += text;
    if (this.state === "start") this.begin();
    if (this.state === "start") return NOTHING;
    return this.state === "reasoning" ? this.takeReasoning() : this.takeContent();
  }

  /** Looks for the first tag at the start of the output. */
  private begin(): void {
    const start = this.held.trimStart();
    this.tags = REASONING_TAGS.find(({ open }) => start.startsWith(open));
    if (this.tags !== undefined) {
      this.held = start.slice(this.tags.open.length);
      this.state = "reasoning";
    } else if (!REASONING_TAGS.some(({ open }) => open.startsWith(start))) {
      this.state = "content";
      this.trims = false;
    }
  }

  private takeReasoning(): OutputPiece {
    const { open, close } = this.tags!;
    if (this.trims) {
      this.held = this.held.trimStart();
      // A model may write the tag that the prompt has opened once more.
      if (this.held.startsWith(open)) this.held = this.held.slice(open.length).trimStart();
      if (this.held === "" || open.startsWith(this.held)) return NOTHING;
    }
    const at = this.held.indexOf(close);
    if (at >= 0) {
      const reasoning = this.held.slice(0, at).trimEnd();
      this.held = this.held.slice(at + close.length);
      this.state = "content";
      this.trims = true;
      return { reasoning, text: this.takeContent().text };
    }
    this.trims = false;
    // White space before the last tag is dropped, so it waits with what may be the tag.
    const keep = this.held.slice(0, this.held.length - overlap(this.held, close)).trimEnd().length;
    const reasoning = this.held.slice(0, keep);
    this.held = this.held.slice(keep);
    return { reasoning, text: "" };
  }

  private takeContent(): OutputPiece {
    let text = this.held;
    this.held = "";
    if (this.trims) text = text.trimStart();
    if (text !== "") this.trims = false;
    return { reasoning: "", text };
  }
}

/** How many characters at the end of `text` are the start of `tag`. */
function overlap(text: string, tag: string): number {
  for (let length = Math.min(text.length, tag.length - 1); length > 0; length--) {
    if (text.endsWith(tag.slice(0, length))) return length;
  }
  return 0;
}
