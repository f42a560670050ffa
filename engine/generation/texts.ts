import { M40Error } from "../errors.ts";
import { Turns } from "../turns.ts";
import type { EmbeddingOptions } from "./embedding.ts";
import { LONG_TEXT, type RequestChecker } from "./request_checker.ts";

/** Checks what is evaluated or embedded: tokens that the model knows, no more of them than its context has. */
export class TextChecker {
  constructor(private readonly requests: RequestChecker) {}

  /** Checks the tokens of a text that is evaluated as it is: ids from outside, no more than a context has. */
  checkText(tokens: readonly number[]): readonly number[] {
    const { contextTokens } = this.requests;
    const checked = this.requests.checkTokens(tokens);
    if (checked.length <= contextTokens) return checked;
    throw new M40Error(
      "context_length_exceeded",
      `got ${checked.length} tokens; the context has ${contextTokens}`,
      "tokens",
    );
  }

  /**
   * The tokens of texts that are embedded, those that begin and end each included.
   *
   * @param texts Each a text, or its tokens as they are.
   * @param encode Encodes a long text off the event loop.
   * @throws {M40Error} "invalid_request" for an empty one, "context_length_exceeded"; what `encode` throws.
   */
  async embeddingTokens(
    texts: readonly (string | readonly number[])[],
    { truncate = false, param = "input" }: Pick<EmbeddingOptions, "truncate" | "param">,
    encode: (text: string) => Promise<ArrayLike<number>>,
  ): Promise<(readonly number[])[]> {
    const turns = new Turns();
    const all: (readonly number[])[] = [];
    for (const text of texts) {
      await turns.next();
      // What is too long is refused, or cut before it is encoded.
      if (typeof text !== "string" || text.length < LONG_TEXT || truncate) {
        all.push(this.ofEmbedded(text, param, truncate));
        continue;
      }
      // Millions of tokens are counted before anything is made of them.
      const encoded = await encode(text);
      this.checkEmbeddingLength(encoded.length, param);
      all.push(this.requests.checkTokens(Array.from(encoded), param));
    }
    return all;
  }

  /** @param truncate Whether the text is cut where it has more than the context; what ends it stays. */
  private ofEmbedded(
    text: string | readonly number[],
    param: string,
    truncate: boolean,
  ): readonly number[] {
    const { contextTokens: most, tokenizer } = this.requests;
    const tokens = typeof text === "string"
      ? tokenizer.encode(truncate ? tokenizer.within(text, most) : text)
      : this.requests.checkTokens(text, param);
    if (text === "") {
      throw new M40Error(
        "invalid_request",
        "a text is empty; wanted one with something in it",
        param,
      );
    }
    if (!truncate) this.checkEmbeddingLength(tokens.length, param);
    if (tokens.length <= most) return tokens;
    const end = tokens.slice(-1).filter((token) => tokenizer.addEos && token === tokenizer.eos);
    return [...tokens.slice(0, most - end.length), ...end];
  }

  private checkEmbeddingLength(tokens: number, param: string): void {
    const { contextTokens } = this.requests;
    if (tokens <= contextTokens) return;
    throw new M40Error(
      "context_length_exceeded",
      `a text has ${tokens} tokens; the context has ${contextTokens}. Shorten it${this.requests.contextAdvice()}.`,
      param,
    );
  }
}
