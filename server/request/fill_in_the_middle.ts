import type { Engine, FimTokens, Tokenizer } from "../../engine/mod.ts";
import { Turns } from "../../engine/turns.ts";
import { unsupported } from "../errors.ts";
import type { Prompt } from "./fields.ts";

/** The texts around a gap that the model is to fill. */
export interface Gap {
  /** What comes before it. */
  readonly before: Prompt;
  /** What comes after it. */
  readonly after: string;
  /** What the gap's text begins with; default "". */
  readonly started?: string;
  /** Whether special tokens in the texts are tokens. */
  readonly parseSpecial: boolean;
}

/** A file that the model gets in addition to the one with the gap. */
export interface ExtraFile {
  readonly name: string;
  readonly text: string;
}

/** Tokens of a text: of a long one as its encoder gives them. */
type Tokens = readonly number[] | Int32Array;

/** A prompt whose middle is to be filled in, in the parts that it can be shortened by. */
export interface GapPrompt {
  readonly begin: readonly number[];
  /** Of other files, each whole. */
  readonly files: readonly Tokens[];
  readonly before: Tokens;
  readonly after: Tokens;
  readonly started: Tokens;
  readonly fim: FimTokens;
}

/**
 * A vocabulary's tokens for filling in the middle.
 *
 * @param param The parameter that asks for them.
 * @throws {HttpError} 400 `unsupported` where it has none.
 */
export function requireFim(tokenizer: Tokenizer, param: string): FimTokens {
  if (tokenizer.fim !== undefined) return tokenizer.fim;
  throw unsupported(
    param,
    `${param}: this model cannot fill in the middle of a text: its vocabulary has no tokens for that ` +
      "(tokenizer.ggml.fim_pre_token_id and its like). Put all of the text into the prompt.",
  );
}

/**
 * The parts of a prompt for a gap, encoded: long texts off the event loop, many short ones in turn with others.
 *
 * @throws {M40Error} "cancelled" where the signal is aborted; what {@link Engine.encode} throws.
 */
export async function encodeGap(
  engine: Pick<Engine, "tokenizer" | "encode">,
  fim: FimTokens,
  gap: Gap,
  files: readonly ExtraFile[] = [],
  signal?: AbortSignal,
): Promise<GapPrompt> {
  const { tokenizer } = engine;
  const turns = new Turns();
  const encode = async (text: string, parseSpecial = gap.parseSpecial) => {
    await turns.next();
    return await engine.encode(text, { addSpecial: false, parseSpecial }, signal);
  };
  const encoded: Tokens[] = [];
  for (const { name, text } of files) {
    // A file as models with a token between files have read it; others get its text alone.
    if (fim.separator === undefined) encoded.push(await encode(`${text}\n`, false));
    else encoded.push(behind(fim.separator, await encode(`${name}\n${text}`, false)));
  }
  return {
    begin: tokenizer.addBos ? [tokenizer.bos!] : [],
    files: encoded,
    before: typeof gap.before === "string" ? await encode(gap.before) : gap.before,
    after: await encode(gap.after),
    started: await encode(gap.started ?? ""),
    fim,
  };
}

/**
 * A prompt's tokens: other files, the text before the gap, the text after it, the start of the middle (the order PSM of
 * Bavarian et al., 2022).
 */
export function gapTokens({ begin, files, before, after, started, fim }: GapPrompt): number[] {
  return [
    ...begin,
    ...files.flatMap((file) => Array.from(file)),
    fim.prefix,
    ...before,
    fim.suffix,
    ...after,
    fim.middle,
    ...started,
  ];
}

/**
 * A prompt that has at most that many tokens, if possible: what lies farthest from the gap is left
 * out. Other files get the remaining room, the last of them first. The text before the gap keeps at least three
 * quarters of the room, the text after it a quarter.
 */
export function shorten(prompt: GapPrompt, most: number): GapPrompt {
  const room = Math.max(0, most - prompt.begin.length - prompt.started.length - 3);
  const quarter = Math.floor(room / 4);
  const afterLength = Math.min(
    prompt.after.length,
    Math.max(quarter, room - prompt.before.length),
  );
  const beforeLength = Math.min(prompt.before.length, room - afterLength);
  let left = room - afterLength - beforeLength;
  const files: Tokens[] = [];
  for (const file of prompt.files.toReversed()) {
    if (file.length > left) break;
    left -= file.length;
    files.unshift(file);
  }
  return {
    ...prompt,
    files,
    before: prompt.before.slice(prompt.before.length - beforeLength),
    after: prompt.after.slice(0, afterLength),
  };
}

function behind(first: number, tokens: Tokens): Int32Array {
  const all = new Int32Array(1 + tokens.length);
  all[0] = first;
  all.set(tokens, 1);
  return all;
}
