import type { ContentTrack } from "../grammar/mod.ts";
import type { Steering } from "../sampling/mod.ts";
import type { Tokenizer } from "../tokenizer/mod.ts";
import { encodeWithin } from "./encode_within.ts";
import {
  InlineReader,
  NO_OUTPUT,
  type OutputFormat,
  type OutputPiece,
  type OutputReader,
} from "./reasoning.ts";
import { ReasoningBudget, type ReasoningTrack } from "./reasoning_budget.ts";

/** The tokens of the harmony format that separate the parts of an output. */
const TOKENS = ["<|start|>", "<|channel|>", "<|message|>", "<|end|>"] as const;
/** Others that may stand in a header. */
const MORE_TOKENS = ["<|constrain|>", "<|return|>", "<|call|>"] as const;

/** The start of an answer after reasoning. */
const FINAL = "<|end|><|start|>assistant<|channel|>final<|message|>";

/** The parts of messages: a message to a function is neither reasoning nor content. */
type HarmonyBody = "reasoning" | "content" | "call";

/**
 * Where an output is: before a message, in its header (with the tokens of its role, and those of its channel, from
 * `<|channel|>` on), or in its body.
 */
export type HarmonyPhase = Readonly<
  { in: "header"; role?: readonly number[]; channel?: readonly number[] } | { in: HarmonyBody }
>;

/** Tokens of a role or of a channel that are looked at. */
const MOST_NAMED = 32;

/**
 * gpt-oss's channels: a message of the channel `final` is content, all others, `analysis` and
 * `commentary`, are reasoning; one to a function, which only a request with tools expects, is shown as such. The
 * format's control tokens say where they begin and end.
 */
export class HarmonyReasoning implements OutputFormat {
  private readonly track: HarmonyTrack;

  private constructor(
    tokenizer: Tokenizer,
    private readonly ids: ReadonlyMap<number, string>,
    prompt: readonly number[],
  ) {
    this.track = new HarmonyTrack(tokenizer, ids, prompt);
  }

  /**
   * The format, if a vocabulary has its tokens.
   *
   * @param prompt The tokens of the prompt, which may end within a message.
   */
  static of(tokenizer: Tokenizer, prompt: readonly number[]): HarmonyReasoning | undefined {
    if (TOKENS.some((name) => tokenizer.tokenId(name) === undefined)) return undefined;
    const ids = new Map<number, string>();
    for (const name of [...TOKENS, ...MORE_TOKENS]) {
      const id = tokenizer.tokenId(name);
      if (id !== undefined) ids.set(id, name);
    }
    return new HarmonyReasoning(tokenizer, ids, prompt);
  }

  reader(inline = false): OutputReader {
    const reader = new HarmonyReader(this.track, this.ids);
    return inline ? new InlineReader(reader, this.ids) : reader;
  }

  limit(tokens: number, end = FINAL): Steering {
    return new ReasoningBudget(this.track.endingWith(end), tokens);
  }

  content(): ContentTrack {
    return this.track;
  }
}

class HarmonyTrack implements ReasoningTrack<HarmonyPhase>, ContentTrack<HarmonyPhase> {
  readonly start: HarmonyPhase;
  readonly content: HarmonyPhase = { in: "content" };

  constructor(
    private readonly tokenizer: Tokenizer,
    private readonly ids: ReadonlyMap<number, string>,
    private readonly prompt: readonly number[],
    private readonly ending: string = FINAL,
  ) {
    this.start = this.phaseAfter(prompt);
  }

  /** The same, with other messages behind reasoning that is ended. */
  endingWith(end: string): HarmonyTrack {
    return new HarmonyTrack(this.tokenizer, this.ids, this.prompt, end);
  }

  after(phase: HarmonyPhase, tokens: readonly number[], place: number): HarmonyPhase {
    return this.step(phase, tokens[place]);
  }

  /** Where an output is after one more token. */
  step(phase: HarmonyPhase, token: number): HarmonyPhase {
    switch (this.ids.get(token)) {
      case "<|start|>":
      case "<|end|>":
        return { in: "header" };
      case "<|channel|>":
        return { in: "header", role: phase.in === "header" ? phase.role : undefined, channel: [] };
      case "<|message|>":
        return phase.in === "header" ? { in: this.partOf(phase) } : phase;
    }
    if (phase.in !== "header") return phase;
    const { role = [], channel } = phase;
    // Names are words; a header that never ends must not grow.
    if ((channel ?? role).length > MOST_NAMED) return phase;
    return channel === undefined
      ? { in: "header", role: [...role, token] }
      : { in: "header", role, channel: [...channel, token] };
  }

  isReasoning(phase: HarmonyPhase): boolean {
    return phase.in === "reasoning";
  }

  isContent(phase: HarmonyPhase): boolean {
    return phase.in === "content";
  }

  openers(): readonly number[] {
    return [];
  }

  rest(): Uint8Array {
    return new Uint8Array(0);
  }

  end(): readonly number[] {
    return encodeWithin(this.tokenizer, this.ending);
  }

  private partOf({ role = [], channel }: Extract<HarmonyPhase, { in: "header" }>): HarmonyBody {
    if (this.isTo(role) || channel !== undefined && this.isTo(channel)) return "call";
    // A message without a channel is an answer.
    if (channel === undefined) return "content";
    return this.text(channel).trimStart().startsWith("final") ? "content" : "reasoning";
  }

  private isTo(tokens: readonly number[]): boolean {
    return /\sto=/.test(this.text(tokens));
  }

  private text(tokens: readonly number[]): string {
    const known = tokens.filter((token) => token < this.tokenizer.vocabSize);
    return this.tokenizer.decode(known, { continuing: true });
  }

  /** A prompt ends in the header of a message, or in the body of one that goes on. */
  private phaseAfter(prompt: readonly number[]): HarmonyPhase {
    let phase: HarmonyPhase = { in: "header" };
    const begin = prompt.findLastIndex((token) => this.ids.get(token) === "<|start|>");
    for (const token of prompt.slice(Math.max(0, begin))) phase = this.step(phase, token);
    return phase;
  }
}

class HarmonyReader implements OutputReader {
  private phase: HarmonyPhase;
  /** Text of a header; it is content where no message ever begins. */
  private header = "";
  private started: boolean;
  /** Whether reasoning has come, so that what another message brings begins on a new line. */
  private reasoned = false;
  private breaks = false;

  constructor(
    private readonly track: HarmonyTrack,
    private readonly ids: ReadonlyMap<number, string>,
  ) {
    this.phase = track.start;
    this.started = this.phase.in !== "header";
  }

  get inReasoning(): boolean {
    return this.phase.in === "reasoning";
  }

  push(token: number, text: string): OutputPiece {
    const before = this.phase;
    this.phase = this.track.step(before, token);
    if (!this.ids.has(token)) return this.take(text);
    if (before.in === "header" && this.phase.in !== "header") {
      this.started = true;
      this.breaks = this.reasoned;
    }
    return NO_OUTPUT;
  }

  flush(text: string): OutputPiece {
    const last = this.take(text);
    // What is no message at all is an answer.
    return this.started ? last : { ...last, text: last.text + this.header };
  }

  private take(text: string): OutputPiece {
    if (text === "") return NO_OUTPUT;
    if (this.phase.in === "content") return { reasoning: "", text };
    if (this.phase.in === "header") {
      if (!this.started) this.header += text;
      return NO_OUTPUT;
    }
    const reasoning = this.breaks ? `\n${text}` : text;
    this.breaks = false;
    this.reasoned = true;
    return { reasoning, text: "" };
  }
}
