/**
 * Texts and tokens, in the shapes of llama.cpp's server.
 *
 * @module
 */
import type { Hono } from "hono";
import { z } from "zod";
import type { Tokenizer } from "../../engine/mod.ts";
import { readAnyType } from "../access/mod.ts";
import {
  listAsJson,
  longAnswer,
  modelFields,
  ModelRequest,
  objectAsJson,
  textAsJson,
  wholeText,
} from "../answer/mod.ts";
import { boolean, parseBody, string, tokenIds, wants, wrongField } from "../request/mod.ts";
import type { ServerContext, ServerEnv } from "../context.ts";
import { invalid } from "../errors.ts";
import { post } from "../route.ts";

/** The body of `POST /tokenize`. */
export const TokenizeRequest = z.object({
  ...modelFields,
  content: string("The text."),
  prompt: string("The text, as vLLM calls it: then the answer is vLLM's."),
  add_special: boolean(
    "Whether the tokens that begin and end a sequence are added; default false.",
  ),
  add_special_tokens: boolean("The same as vLLM calls it, with prompt; default true."),
  parse_special: boolean("Whether special tokens in the text are tokens; default true."),
  with_pieces: boolean("Whether each token comes with what it stands for."),
}, wants("a JSON object")).meta({ id: "TokenizeRequest" });

/** A token and what it stands for: a text, or bytes where those are part of a character. */
const Piece = z.strictObject({
  id: z.int().min(0),
  piece: z.union([z.string(), z.array(z.int().min(0).max(255))]),
}).meta({ id: "TokenPiece" });

/** The answer of `POST /tokenize`. */
export const Tokenized = z.strictObject({
  tokens: z.union([z.array(z.int().min(0)), z.array(Piece)]),
  count: z.int().min(0).optional().describe("How many; with prompt."),
  max_model_len: z.int().min(1).optional().describe("Tokens of the model's context; with prompt."),
}).meta({ id: "Tokenized" });
export type Tokenized = z.output<typeof Tokenized>;

/** The body of `POST /detokenize`. */
export const DetokenizeRequest = z.object({
  ...modelFields,
  tokens: tokenIds().describe("The ids of tokens."),
}, wants("a JSON object")).meta({ id: "DetokenizeRequest" });

/** The answer of `POST /detokenize`. */
export const Detokenized = z.strictObject({
  content: z.string().describe("Their text; special tokens as the vocabulary writes them."),
  prompt: z.string().describe("The same, as vLLM calls it."),
}).meta({ id: "Detokenized" });
export type Detokenized = z.output<typeof Detokenized>;

/** `POST /tokenize` and `POST /detokenize`. */
export function tokenRoutes(app: Hono<ServerEnv>, server: ServerContext): void {
  post(app, "/tokenize", async (c) => {
    const body = parseBody(TokenizeRequest, await readAnyType(c, server));
    const { content, prompt, with_pieces } = body;
    const text = content ?? prompt;
    if (text == null) throw wrongField("content", "a string", undefined);
    const asVllm = content == null;
    const request = new ModelRequest(c, server, body);
    using model = await request.lease();
    const { engine } = model;
    const { tokenizer, contextTokens } = engine;
    const tokens = await engine.encode(text, {
      addSpecial: (asVllm ? body.add_special_tokens : undefined) ?? body.add_special ?? asVllm,
      parseSpecial: body.parse_special ?? true,
    }, request.ends.signal);
    const pieces = new Pieces(tokenizer);
    return longAnswer(objectAsJson({
      tokens: listAsJson(tokens, (id) => with_pieces ? pieces.of(id) : id),
      ...(asVllm ? { count: tokens.length, max_model_len: contextTokens } : {}),
    }));
  });
  post(app, "/detokenize", async (c) => {
    const body = parseBody(DetokenizeRequest, await readAnyType(c, server));
    const request = new ModelRequest(c, server, body);
    using model = await request.lease();
    const { engine } = model;
    checkTokens(engine.tokenizer, body.tokens);
    const content = await engine.decode(body.tokens, request.ends.signal);
    return longAnswer(
      objectAsJson({ content: textAsJson(content), prompt: textAsJson(content) }),
    );
  });
}

/** Tokens with what they stand for; texts repeat theirs, so each is made once. */
class Pieces {
  private readonly known = new Map<number, z.output<typeof Piece>>();

  constructor(private readonly tokenizer: Tokenizer) {}

  of(id: number): z.output<typeof Piece> {
    return this.known.getOrInsertComputed(id, () => this.make(id));
  }

  private make(id: number): z.output<typeof Piece> {
    const { tokenizer } = this;
    if (tokenizer.isControl(id)) return { id, piece: tokenizer.tokenText(id) };
    const bytes = tokenizer.tokenBytes(id);
    return { id, piece: wholeText(bytes) ?? Array.from(bytes) };
  }
}

/** @throws {HttpError} 400 for an id that is not in the vocabulary. */
function checkTokens({ vocabSize }: Tokenizer, tokens: readonly number[]): void {
  const wrong = tokens.find((token) => token >= vocabSize);
  if (wrong === undefined) return;
  throw invalid("tokens", `tokens: wanted ids from 0 to ${vocabSize - 1}; got ${wrong}.`);
}
