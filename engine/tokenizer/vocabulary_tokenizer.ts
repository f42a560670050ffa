import { M40Error } from "../errors.ts";
import type { FimTokens } from "./fim_tokens.ts";
import { spaceRule } from "./space_rule.ts";
import { SpecialTokens } from "./special_tokens.ts";
import { type ShownToken, StreamingDecoder } from "./streaming_decoder.ts";
import type { DecodeOptions, EncodeOptions, Tokenizer } from "./tokenizer.ts";
import { bytesToText } from "./utf8.ts";
import { TOKEN_TYPE, type TokenizerMetadata, type Vocabulary } from "./vocabulary.ts";

/** What differs from one kind of vocabulary to the next: how plain text is spelled in tokens. */
export interface TokenModel {
  /** The name of the pre-tokenizer, where the kind has such. */
  readonly preTokenizer?: string;
  /** Whether encoding puts a space in front of text at the start and after a special token. */
  readonly addSpacePrefix: boolean;
  /**
   * Whether there is a space between words whatever stands between them: then the one after a control
   * token is none that encoding has put there.
   */
  readonly separatesWords?: boolean;
  /** Whether BOS and EOS are added where the file does not say. */
  readonly addBosDefault: boolean;
  readonly addEosDefault: boolean;
  /** Whether BOS is added even where the file says that it is not. */
  readonly alwaysAddsBos?: boolean;
  /** The text as it is before special tokens are looked for; absent: as it was given. */
  normalize?(text: string): string;
  /**
   * Appends the tokens of text that has no special token in it. A lone surrogate U+DC00 + b stands for
   * a byte b that is no valid UTF-8.
   *
   * @param first Whether the text is at the start or follows a special token.
   */
  encode(text: string, first: boolean, tokens: number[]): void;
  /**
   * Whether {@link encode} can give a user-defined or the unknown token. It can give a user-defined one that writes the
   * space with another character than text does, and the unknown one where bytes are missing.
   */
  isSpelled(token: number): boolean;
  /** The UTF-8 bytes of the token of a normal, user-defined, unused or byte type. */
  tokenBytes(token: number): Uint8Array;
}

/** Tokens with a role that {@link loadTokenizer} has found out. */
export interface TokenRoles {
  readonly endTokens: ReadonlySet<number>;
  readonly suppressed: ReadonlySet<number>;
  readonly fim?: FimTokens;
  /** Called, in a sentence, with what of the file has no effect. */
  readonly onWarning?: (warning: string) => void;
}

const NO_BYTES = new Uint8Array(0);
/** Texts of no more characters a token are taken to fit: the longest token is not looked for. */
const LONG_TOKEN = 16;
/** Bytes that a token may have whose text is kept. */
const MOST_ASCII = 1024;

/** A tokenizer over any {@link TokenModel}: special tokens, BOS and EOS, decoding. */
export class VocabularyTokenizer implements Tokenizer {
  readonly kind: string;
  readonly preTokenizer?: string;
  readonly vocabSize: number;
  readonly bos?: number;
  readonly eos?: number;
  readonly endTokens: ReadonlySet<number>;
  readonly suppressed: ReadonlySet<number>;
  readonly fim?: FimTokens;
  readonly addBos: boolean;
  readonly addEos: boolean;
  readonly #vocabulary: Vocabulary;
  readonly #model: TokenModel;
  readonly #specialTokens: SpecialTokens;
  readonly #bytes: Uint8Array[];
  /** By token, those that were decoded. */
  readonly #shownTokens: ShownToken[];
  /** Made on first use. */
  #ids?: Map<string, number>;
  /** Bytes of the longest token, found out where it matters; a control token's text counts as well. */
  #longest?: number;

  constructor(
    vocabulary: Vocabulary,
    model: TokenModel,
    metadata: TokenizerMetadata,
    roles: TokenRoles,
  ) {
    this.kind = metadata.string("tokenizer.ggml.model");
    this.preTokenizer = model.preTokenizer;
    this.#vocabulary = vocabulary;
    this.#model = model;
    this.vocabSize = vocabulary.size;
    this.#bytes = new Array(vocabulary.size);
    this.#shownTokens = new Array(vocabulary.size);
    this.bos = vocabulary.bos;
    this.eos = vocabulary.eos;
    this.endTokens = roles.endTokens;
    this.suppressed = roles.suppressed;
    this.fim = roles.fim;
    const { onWarning } = roles;
    this.addBos = adds(metadata, "bos", this.bos, model.addBosDefault, onWarning) ||
      (model.alwaysAddsBos === true && this.bos !== undefined);
    this.addEos = adds(metadata, "eos", this.eos, model.addEosDefault, onWarning);
    this.#specialTokens = new SpecialTokens(vocabulary, spaceRule(metadata));
  }

  encode(text: string, options: EncodeOptions = {}): number[] {
    return this.#encode(text.toWellFormed(), options);
  }

  encodeBytes(bytes: Uint8Array, options: EncodeOptions = {}): number[] {
    return this.#encode(bytesToText(bytes), options);
  }

  #encode(text: string, options: EncodeOptions): number[] {
    const { addSpecial = true, parseSpecial = false, mark } = options;
    const tokens: number[] = [];
    if (addSpecial && this.addBos) tokens.push(this.bos!);
    let first = true;
    const normalized = this.#model.normalize?.(text) ?? text;
    const parts = this.#specialTokens.split(normalized, parseSpecial, mark);
    for (const part of parts) {
      if (typeof part === "number") tokens.push(part);
      else this.#model.encode(mark ? part.replaceAll(mark, "") : part, first, tokens);
      first = typeof part === "number";
    }
    if (addSpecial && this.addEos) tokens.push(this.eos!);
    return tokens;
  }

  decode(tokens: Iterable<number>, options: DecodeOptions = {}): string {
    const decoder = this.decoder(options);
    let text = "";
    for (const token of tokens) text += decoder.push(token);
    return text + decoder.flush();
  }

  decoder({ skipSpecial = true, continuing = false }: DecodeOptions = {}): StreamingDecoder {
    const shown = skipSpecial ? this.#shown : this.#shownWithSpecial;
    // Where encoding adds a space, decoding takes it away: the two rules are one another's inverse.
    return new StreamingDecoder(shown, this.#model.addSpacePrefix && !continuing);
  }

  readonly #shown = (token: number): ShownToken =>
    this.#shownTokens[token] ??= this.#asShown(token, this.tokenBytes(token));

  readonly #shownWithSpecial = (token: number): ShownToken =>
    this.#isHidden(token)
      ? this.#asShown(token, new TextEncoder().encode(this.tokenText(token)))
      : this.#shown(token);

  #asShown(token: number, bytes: Uint8Array): ShownToken {
    const isAscii = bytes.length <= MOST_ASCII && bytes.every((byte) => byte < 0x80);
    return {
      bytes,
      ascii: isAscii ? String.fromCharCode(...bytes) : undefined,
      startsText: this.#startsText(token),
    };
  }

  tokenBytes(token: number): Uint8Array {
    this.#check(token);
    if (this.#isHidden(token)) return NO_BYTES;
    return this.#bytes[token] ??= this.#model.tokenBytes(token);
  }

  tokenText(token: number): string {
    this.#check(token);
    return this.#vocabulary.texts[token];
  }

  tokenId(text: string): number | undefined {
    this.#ids ??= idsByText(this.#vocabulary);
    return this.#ids.get(text);
  }

  protect(text: string, mark: string): string {
    if (mark === "" || mark.length !== (mark.codePointAt(0)! > 0xffff ? 2 : 1)) {
      throw new M40Error(
        "invalid_request",
        `The mark ${JSON.stringify(mark)} is not one code point.`,
      );
    }
    if (text.includes(mark)) {
      throw new M40Error(
        "invalid_request",
        `The mark ${JSON.stringify(mark)} is in the text that is to be protected; take another.`,
      );
    }
    return this.#specialTokens.protect(text, mark);
  }

  leastBeyond(text: string, most: number): number | undefined {
    if (text.length <= LONG_TOKEN * most) return undefined;
    const least = Math.ceil(text.length / this.#longestToken());
    return least > most ? least : undefined;
  }

  within(text: string, most: number): string {
    return text.length <= LONG_TOKEN * most ? text : text.slice(0, most * this.#longestToken());
  }

  #longestToken(): number {
    if (this.#longest !== undefined) return this.#longest;
    let longest = 1;
    for (let token = 0; token < this.vocabSize; token++) {
      longest = Math.max(longest, this.tokenBytes(token).length, this.tokenText(token).length);
    }
    return this.#longest = longest;
  }

  isControl(token: number): boolean {
    this.#check(token);
    return this.#vocabulary.types[token] === TOKEN_TYPE.control;
  }

  #isHidden(token: number): boolean {
    const type = this.#vocabulary.types[token];
    return type === TOKEN_TYPE.control || type === TOKEN_TYPE.unknown;
  }

  #startsText(token: number): boolean {
    const type = this.#vocabulary.types[token];
    if (type === TOKEN_TYPE.control) return !this.#model.separatesWords;
    return (type === TOKEN_TYPE.userDefined || type === TOKEN_TYPE.unknown) &&
      !this.#model.isSpelled(token);
  }

  #check(token: number): void {
    if (Number.isInteger(token) && token >= 0 && token < this.vocabSize) return;
    throw new M40Error(
      "invalid_request",
      `Token ${token} is not in the vocabulary; wanted 0 to ${this.vocabSize - 1}.`,
    );
  }
}

/** Special tokens before others, then the lowest id. */
function idsByText({ texts, types, size }: Vocabulary): Map<string, number> {
  const ids = new Map<string, number>();
  const special: number[] = [];
  for (let id = size - 1; id >= 0; id--) {
    ids.set(texts[id], id);
    const type = types[id];
    if (type === TOKEN_TYPE.control || type === TOKEN_TYPE.userDefined) special.push(id);
  }
  for (const id of special) ids.set(texts[id], id);
  return ids;
}

function adds(
  metadata: TokenizerMetadata,
  name: "bos" | "eos",
  token: number | undefined,
  fallback: boolean,
  onWarning?: (warning: string) => void,
): boolean {
  const key = `tokenizer.ggml.add_${name}_token`;
  if (!metadata.has(key)) return fallback && token !== undefined;
  const add = metadata.boolean(key);
  if (!add || token !== undefined) return add;
  onWarning?.(
    `${key} is true, but there is no such token (tokenizer.ggml.${name}_token_id): none is added.`,
  );
  return false;
}
