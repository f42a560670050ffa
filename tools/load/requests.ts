import { Random } from "./random.ts";

/** What a prompt is like: a question, one behind a long text that others have too, or a long text. */
export const PROMPT_KINDS = ["short", "shared", "long"] as const;
export type PromptKind = typeof PROMPT_KINDS[number];

/** How often each kind of prompt is chosen, relative to the others. */
export type Mix = Readonly<Record<PromptKind, number>>;

/** How a client ends its request: reads all, leaves in the middle, or hangs up unread. */
export type Ending = "read" | "cancel" | "disconnect";

/** A request to be sent. */
export interface LoadRequest {
  readonly kind: PromptKind;
  readonly stream: boolean;
  readonly ending: Ending;
  /** The body of `POST /v1/completions`. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** What requests are chosen from. */
export interface RequestOptions {
  readonly mix: Mix;
  /** Share of requests that are streamed, 0 to 1. */
  readonly streamed: number;
  /** Share of requests whose client does not read to the end, 0 to 1. */
  readonly leaving: number;
  /** Tokens that prompt and output may have together. */
  readonly contextTokens: number;
  /** Tokens that a word takes, about. */
  readonly tokensPerWord: number;
}

const WORDS =
  ("the a one two small old red quick quiet river house garden stone bird fox child queen farmer " +
    "walked saw found made carried asked told over under near behind before after and but because while")
    .split(" ");
/** How many texts the prompts of kind "shared" begin with. */
const SYSTEM_PROMPTS = 3;

/** Makes random requests; the same ones for the same seed. */
export class RequestSource {
  private readonly random: Random;
  private readonly systems: string[];

  constructor(seed: number, private readonly options: RequestOptions) {
    this.random = new Random(seed);
    // All clients begin with the same texts, whatever their own seed is.
    const common = new Random(1);
    this.systems = Array.from(
      { length: SYSTEM_PROMPTS },
      () => text(common, this.words(0.3)),
    );
  }

  next(): LoadRequest {
    const { random, options } = this;
    const kind = this.kind();
    const stream = random.next() < options.streamed;
    const leaves = random.next() < options.leaving;
    const ending: Ending = !leaves
      ? "read"
      : stream && random.next() < 0.5
      ? "cancel"
      : "disconnect";
    const room = options.contextTokens;
    return {
      kind,
      stream,
      ending,
      body: {
        prompt: this.prompt(kind),
        max_tokens: random.integer(1, Math.max(1, Math.min(96, Math.floor(room * 0.2)))),
        // Half greedy, half sampled.
        ...(random.next() < 0.5
          ? { temperature: 0 }
          : { temperature: 0.8, top_p: 0.95, seed: random.integer(0, 1e6) }),
        stream,
        ...(stream && { stream_options: { include_usage: true } }),
      },
    };
  }

  private kind(): PromptKind {
    const { mix } = this.options;
    const total = PROMPT_KINDS.reduce((sum, kind) => sum + mix[kind], 0);
    let at = this.random.next() * total;
    return PROMPT_KINDS.find((kind) => (at -= mix[kind]) < 0) ?? "short";
  }

  private prompt(kind: PromptKind): string {
    const { random } = this;
    switch (kind) {
      case "short":
        return text(random, random.integer(1, Math.min(24, this.words(0.2))));
      case "shared":
        return random.pick(this.systems) + text(random, random.integer(1, this.words(0.1)));
      case "long":
        return text(random, random.integer(this.words(0.3), this.words(0.6)));
    }
  }

  /** Words that take such a share of the context, at least one. */
  private words(share: number): number {
    return Math.max(1, Math.floor(this.options.contextTokens * share / this.options.tokensPerWord));
  }
}

function text(random: Random, words: number): string {
  return Array.from({ length: words }, () => random.pick(WORDS)).join(" ") + ". ";
}
