import { z } from "zod";
import {
  type GeneratedToken,
  Generation,
  type GenerationChunk,
  type Tokenizer,
} from "../../engine/mod.ts";
import { type Answer, Timings, timingsOf, tokenName } from "../answer/mod.ts";

const count = (description: string) => z.int().min(0).describe(description);

const named = {
  id: count("The token's id."),
  token: z.string(),
  bytes: z.array(z.int().min(0).max(255)),
  logprob: z.number(),
};

/** The log-probability of a token, and of the likeliest ones at its position. */
const Probability = z.strictObject({ ...named, top_logprobs: z.array(z.strictObject(named)) })
  .meta({ id: "LlamaTokenProbability" });
type Probability = z.output<typeof Probability>;

const pieceFields = {
  index: z.literal(0),
  content: z.string().describe("The text; empty in a stream's last event."),
  tokens: z.array(z.int().min(0)).describe(
    "Its tokens where return_tokens asks for them, else empty.",
  ),
  completion_probabilities: z.array(Probability).optional().describe(
    "Where n_probs asks for them.",
  ),
  tokens_evaluated: count("Tokens of the prompt."),
  id_slot: z.literal(-1).describe("Sequences have no slots of their own here."),
};

/** A text of `POST /completion` or `POST /infill`, and the last event of its stream. */
export const LlamaText = z.strictObject({
  ...pieceFields,
  stop: z.literal(true),
  stop_type: z.enum(["eos", "word", "limit"]).describe(
    "What ended it: the model, a stop string, or the number of tokens.",
  ),
  stopping_word: z.string().describe("The stop string that was met."),
  model: z.string(),
  tokens_predicted: count("Tokens sampled, the one that ends it included."),
  tokens_cached: count("Tokens of the prompt that were found in the prefix cache."),
  truncated: z.boolean().describe("Whether texts were shortened to fit the context."),
  timings: Timings,
}).meta({ id: "LlamaText" });
export type LlamaText = z.output<typeof LlamaText>;

/** An event of its stream but the last. */
export const LlamaPiece = z.strictObject({
  ...pieceFields,
  stop: z.literal(false),
  tokens_predicted: count("Tokens sampled so far."),
}).meta({ id: "LlamaTextPiece" });
type LlamaPiece = z.output<typeof LlamaPiece>;

/** What is reported with a text. */
export interface TextOptions {
  /** The name of the model. */
  readonly model: string;
  /** Whether what it goes on from was shortened. */
  readonly truncated?: boolean;
  readonly returnTokens?: boolean;
  /** Gives names to tokens, where log-probabilities are wanted; else absent. */
  readonly tokenizer?: Tokenizer;
}

/** A text on its way, as one answer or as events. */
export class LlamaTextAnswer implements Answer {
  readonly work: readonly Generation[];
  private predicted = 0;
  /** Tokens whose text is held back. */
  private held: GeneratedToken[] = [];

  constructor(private readonly generation: Generation, private readonly options: TextOptions) {
    this.work = [generation];
  }

  /** The whole answer, when it is done. */
  async whole(): Promise<LlamaText> {
    let content = "";
    const tokens: number[] = [];
    const probabilities: Probability[] = [];
    let last: LlamaText | undefined;
    for await (const { chunks } of Generation.together(this.work)) {
      for (const piece of chunks.flatMap((chunk) => this.pieces(chunk))) {
        content += piece.content;
        tokens.push(...piece.tokens);
        probabilities.push(...piece.completion_probabilities ?? []);
        if (piece.stop) last = piece;
      }
    }
    const reported = this.options.tokenizer === undefined
      ? {}
      : { completion_probabilities: probabilities };
    // A generation that ends without a last chunk throws.
    return { ...last!, content, tokens, ...reported };
  }

  /** The answer's events as JSON. */
  async *events(): AsyncGenerator<readonly string[]> {
    for await (const { chunks } of Generation.together(this.work)) {
      const events: string[] = [];
      for (const chunk of chunks) {
        for (const piece of this.pieces(chunk)) events.push(JSON.stringify(piece));
      }
      yield events;
    }
  }

  /** What a chunk adds. */
  private pieces({ text, tokens, finishReason, usage, stopString }: GenerationChunk) {
    const { model, truncated = false, returnTokens, tokenizer } = this.options;
    const pieces: (LlamaPiece | LlamaText)[] = [];
    const { promptTokens } = this.generation;
    const head = { index: 0, tokens_evaluated: promptTokens, id_slot: -1 } as const;
    this.predicted += tokens.length;
    this.held.push(...tokens);
    const { held } = this;
    const untold = (returnTokens || tokenizer !== undefined) && held.length > 0;
    if (text !== "" || (finishReason !== undefined && untold)) {
      pieces.push({
        ...head,
        content: text,
        tokens: returnTokens ? held.map(({ token }) => token) : [],
        ...(tokenizer === undefined
          ? {}
          : { completion_probabilities: held.map((one) => probabilityOf(tokenizer, one)) }),
        stop: false,
        tokens_predicted: this.predicted,
      });
      this.held = [];
    }
    if (finishReason === undefined || usage === undefined) return pieces;
    // An end token is sampled and not reported.
    const byModel = this.predicted < usage.completionTokens;
    pieces.push({
      ...head,
      content: "",
      tokens: [],
      stop: true,
      stop_type: finishReason === "length"
        ? "limit"
        : stopString === undefined && byModel
        ? "eos"
        : "word",
      stopping_word: stopString ?? "",
      model,
      tokens_predicted: usage.completionTokens,
      tokens_cached: usage.cachedTokens,
      truncated,
      timings: timingsOf(this.generation, usage),
    });
    return pieces;
  }
}

function probabilityOf(
  tokenizer: Tokenizer,
  { token, logprob = 0, top = [] }: GeneratedToken,
): Probability {
  const reported = (id: number, logprob: number) => {
    const { name, bytes } = tokenName(tokenizer, id);
    return { id, token: name, bytes: Array.from(bytes ?? []), logprob };
  };
  return {
    ...reported(token, logprob),
    top_logprobs: top.map((one) => reported(one.token, one.logprob)),
  };
}
