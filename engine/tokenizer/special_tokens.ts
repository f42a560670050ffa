import { TOKEN_TYPE, type Vocabulary } from "./vocabulary.ts";

interface SpecialToken {
  id: number;
  text: string;
  /** Whether it is looked for even where special tokens are not parsed. */
  always: boolean;
  /** Whether white space after it belongs to it. */
  stripsAfter: boolean;
}

const encoder = new TextEncoder();

/**
 * Finds the tokens in a text that are never spelled by merging: user-defined tokens always, control
 * tokens and the unknown token on demand.
 *
 * As in llama.cpp, the longest token (in UTF-8 bytes) is looked for first, through the whole text, then
 * the next in what is left: a longer token wins over a shorter one that begins earlier.
 */
export class SpecialTokens {
  /** The longest first. */
  readonly #tokens: SpecialToken[] = [];
  readonly #byText = new Map<string, SpecialToken>();
  /** By first code unit, the lengths (in code units) of the tokens that begin with it. */
  readonly #lengths = new Map<number, Set<number>>();

  /** @param modelName `general.name`: decides, as in llama.cpp, whether white space after a token is dropped. */
  constructor(vocabulary: Vocabulary, modelName: string) {
    const { texts, types, size } = vocabulary;
    // The files of Phi-3 do not say that its tokens take the white space behind them along.
    const isPhi3 = /phi-?3/i.test(modelName);
    const keepsSpace = new Set(["<unk>", "<s>", "<|endoftext|>"]);
    const byteLengths = new Map<SpecialToken, number>();
    for (let id = 0; id < size; id++) {
      const type = types[id];
      const text = texts[id];
      if (
        type !== TOKEN_TYPE.control && type !== TOKEN_TYPE.userDefined &&
        type !== TOKEN_TYPE.unknown
      ) continue;
      if (text === "") continue;
      const token = {
        id,
        text,
        always: type === TOKEN_TYPE.userDefined,
        stripsAfter: isPhi3 && !keepsSpace.has(text),
      };
      byteLengths.set(token, encoder.encode(text).length);
      this.#tokens.push(token);
      if (!this.#byText.has(text)) this.#byText.set(text, token);
      const unit = text.charCodeAt(0);
      const lengths = this.#lengths.get(unit);
      if (lengths === undefined) this.#lengths.set(unit, new Set([text.length]));
      else lengths.add(text.length);
    }
    this.#tokens.sort((a, b) => byteLengths.get(b)! - byteLengths.get(a)! || a.id - b.id);
  }

  /** The text in parts: strings that hold no special token, and the ids of those between them. */
  split(text: string, parseSpecial: boolean): (string | number)[] {
    if (text === "") return [];
    let parts: (string | number)[] = [text];
    const present = this.#present(text);
    if (present.size === 0) return parts;
    for (const token of this.#tokens) {
      if (!present.has(token.text) || !(token.always || parseSpecial)) continue;
      const next: (string | number)[] = [];
      for (const part of parts) {
        if (typeof part === "number") next.push(part);
        else splitAt(part, token, next);
      }
      parts = next;
    }
    return parts;
  }

  /**
   * The texts of the special tokens that occur in a text, overlapping or not, in one pass: vocabularies
   * with thousands of special tokens exist, and few of them are in any one text.
   */
  #present(text: string): Set<string> {
    const present = new Set<string>();
    for (let at = 0; at < text.length; at++) {
      const lengths = this.#lengths.get(text.charCodeAt(at));
      if (lengths === undefined) continue;
      for (const length of lengths) {
        const candidate = text.substring(at, at + length);
        if (this.#byText.has(candidate)) present.add(candidate);
      }
    }
    return present;
  }
}

function splitAt(text: string, token: SpecialToken, parts: (string | number)[]): void {
  let from = 0;
  for (;;) {
    const at = text.indexOf(token.text, from);
    if (at < 0) break;
    if (at > from) parts.push(text.substring(from, at));
    parts.push(token.id);
    from = at + token.text.length;
    if (token.stripsAfter) { while (isSpace(text.charCodeAt(from))) from++; }
  }
  if (from < text.length) parts.push(text.substring(from));
}

/** White space as C has it: space, \t, \n, \v, \f, \r. */
function isSpace(unit: number): boolean {
  return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d);
}
