import { MergeTable } from "./merge_table.ts";
import { MOST_MERGES } from "./rank_merger.ts";
import { invalidModel, type TokenizerMetadata, type Vocabulary } from "./vocabulary.ts";

const KEY = "tokenizer.ggml.merges";

/** The symbols that byte pair encoding merges: tokens, and texts that it passes through on the way. */
export class BpeSymbols {
  readonly #ids = new Map<string, number>();
  readonly #size: number;
  /** Texts that are no tokens; the first of them has the number after the last token. */
  readonly #others: string[] = [];

  /** @param isSymbol Whether text may become the token. Of equal texts the one with the lowest id counts. */
  constructor(vocabulary: Vocabulary, isSymbol: (token: number) => boolean) {
    const { texts, size } = vocabulary;
    this.#size = size;
    for (let id = size - 1; id >= 0; id--) {
      if (texts[id] !== "" && isSymbol(id)) this.#ids.set(texts[id], id);
    }
  }

  /** The symbol with a text, if there is one. */
  find(text: string): number | undefined {
    return this.#ids.get(text);
  }

  /** The token with a text, if there is one. */
  findToken(text: string): number | undefined {
    const symbol = this.#ids.get(text);
    return symbol !== undefined && symbol < this.#size ? symbol : undefined;
  }

  /** The symbol with a text, which is made where there is none. */
  symbolOf(text: string): number {
    return this.#ids.getOrInsertComputed(text, () => this.#size + this.#others.push(text) - 1);
  }

  /** Whether something holds for the text of one of the symbols. */
  some(holds: (text: string) => boolean): boolean {
    return this.#ids.keys().some(holds);
  }

  /** The text of a symbol that is no token; undefined for a token. */
  otherText(symbol: number): string | undefined {
    return symbol < this.#size ? undefined : this.#others[symbol - this.#size];
  }
}

/**
 * Reads `tokenizer.ggml.merges`: two texts each, with a space between them, in the order of their rank.
 * As in llama.cpp, a merge with parts or a result that are no tokens is one like any other; the rest of such a text is
 * spelled in bytes. Of two merges of the same texts the first counts.
 *
 * @throws {M40Error} `invalid_model` where there are none, too many, or one that is not two texts.
 */
export function readMerges(metadata: TokenizerMetadata, symbols: BpeSymbols): MergeTable {
  if (!metadata.has(KEY)) {
    throw invalidModel(
      `${KEY} is missing; a vocabulary of byte pair encoding needs it. Convert the model again together with its tokenizer.`,
    );
  }
  const merges = metadata.strings(KEY);
  if (merges.length > MOST_MERGES) {
    throw invalidModel(`${KEY} has ${merges.length} elements; wanted ${MOST_MERGES} at most.`);
  }
  const table = new MergeTable(merges.length);
  for (const [rank, merge] of merges.entries()) {
    const space = merge.indexOf(" ", 1);
    if (space < 0 || space === merge.length - 1) {
      const shown = merge.length > 80 ? `${merge.slice(0, 80)}…` : merge;
      throw invalidModel(
        `Merge ${rank} (${KEY}) is ${
          JSON.stringify(shown)
        }; wanted two texts with a space between them.`,
      );
    }
    const left = merge.substring(0, space);
    const right = merge.substring(space + 1);
    table.add(
      symbols.symbolOf(left),
      symbols.symbolOf(right),
      rank,
      symbols.symbolOf(left + right),
    );
  }
  return table;
}
