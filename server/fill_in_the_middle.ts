import type { FimTokens, Tokenizer } from "../engine/mod.ts";
import { unsupported } from "./errors.ts";
import type { Prompt } from "./fields.ts";

/** The texts around a gap that the model is to fill. */
export interface Gap {
  /** What comes before it. */
  readonly before: Prompt;
  /** What comes after it. */
  readonly after: string;
  /** What the gap's text begins with; default "". */
  readonly begun?: string;
  /** Whether special tokens in the texts are tokens. */
  readonly parseSpecial: boolean;
}

/** A file that the model is shown beside the one with the gap. */
export interface ExtraFile {
  readonly name: string;
  readonly text: string;
}

/** A prompt whose middle is to be filled in, in the parts that it can be shortened by. */
export interface GapPrompt {
  readonly begin: readonly number[];
  /** Of other files, each whole. */
  readonly files: readonly (readonly number[])[];
  readonly before: readonly number[];
  readonly after: readonly number[];
  readonly begun: readonly number[];
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

/** The parts of a prompt for a gap, encoded. */
export function encodeGap(
  tokenizer: Tokenizer,
  fim: FimTokens,
  gap: Gap,
  files: readonly ExtraFile[] = [],
): GapPrompt {
  const encode = (text: string) =>
    tokenizer.encode(text, { addSpecial: false, parseSpecial: gap.parseSpecial });
  return {
    begin: tokenizer.addBos ? [tokenizer.bos!] : [],
    files: files.map((file) => encodeFile(tokenizer, fim, file)),
    before: typeof gap.before === "string" ? encode(gap.before) : gap.before,
    after: encode(gap.after),
    begun: encode(gap.begun ?? ""),
    fim,
  };
}

/**
 * A prompt's tokens: other files, what comes before the gap, what comes after it, the middle's beginning
 * (the order PSM of Bavarian et al., 2022).
 */
export function gapTokens({ begin, files, before, after, begun, fim }: GapPrompt): number[] {
  return [
    ...begin,
    ...files.flat(),
    fim.prefix,
    ...before,
    fim.suffix,
    ...after,
    fim.middle,
    ...begun,
  ];
}

/**
 * A prompt that has no more than so many tokens, if that can be: what lies farthest from the gap is left
 * out. Other files have what room is left, the last of them first; of the text before the gap at least
 * three quarters of the room are kept, of the text after it a quarter.
 */
export function shorten(prompt: GapPrompt, most: number): GapPrompt {
  const room = Math.max(0, most - prompt.begin.length - prompt.begun.length - 3);
  const quarter = Math.floor(room / 4);
  const afterLength = Math.min(
    prompt.after.length,
    Math.max(quarter, room - prompt.before.length),
  );
  const beforeLength = Math.min(prompt.before.length, room - afterLength);
  let left = room - afterLength - beforeLength;
  const files: (readonly number[])[] = [];
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

/** A file as models with a token between files have read it; others get its text alone. */
function encodeFile(tokenizer: Tokenizer, fim: FimTokens, { name, text }: ExtraFile): number[] {
  const encode = (text: string) =>
    tokenizer.encode(text, { addSpecial: false, parseSpecial: false });
  if (fim.separator === undefined) return encode(`${text}\n`);
  return [fim.separator, ...encode(`${name}\n${text}`)];
}
