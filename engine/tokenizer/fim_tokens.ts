import { TOKEN_TYPE, type TokenIds, type Vocabulary } from "./vocabulary.ts";

/** The tokens between the parts of a prompt whose middle is to be filled in. */
export interface FimTokens {
  /** Before the text that comes before the gap. */
  readonly prefix: number;
  /** Before the text that comes after the gap. */
  readonly suffix: number;
  /** Where the model begins to write. */
  readonly middle: number;
  readonly pad?: number;
  /** Before the name of a repository. */
  readonly repository?: number;
  /** Before the name of a file. */
  readonly separator?: number;
}

/** For each token: its keys in the metadata without `_token_id`, and the texts by which it is known. */
const KNOWN = {
  prefix: [
    "fim_pre prefix",
    "<|fim_prefix|> <fim-prefix> <fim_prefix> <｜fim▁begin｜> <PRE> ▁<PRE> <|code_prefix|> <|prefix|>",
  ],
  suffix: [
    "fim_suf suffix",
    "<|fim_suffix|> <fim-suffix> <fim_suffix> <｜fim▁hole｜> <SUF> ▁<SUF> <|code_suffix|> <|suffix|>",
  ],
  middle: [
    "fim_mid middle",
    "<|fim_middle|> <fim-middle> <fim_middle> <｜fim▁end｜> <MID> ▁<MID> <|code_middle|> <|middle|>",
  ],
  pad: ["fim_pad", "<|fim_pad|> <fim-pad> <fim_pad> <PAD> [PAD]"],
  repository: ["fim_rep", "<|fim_repo|> <|repo_name|> <fim-repo> <REPO> <reponame>"],
  separator: ["fim_sep", "<|file_sep|>"],
} as const;

/**
 * The tokens for filling in the middle: those that the metadata names, else those with a well-known text.
 * They become control tokens, whatever the file lists them as, so that a user cannot type them.
 *
 * @returns undefined where the prefix's, the suffix's or the middle's is missing.
 * @throws {M40Error} `invalid_model` for an id that is no whole number.
 */
export function findFimTokens(vocabulary: Vocabulary, tokens: TokenIds): FimTokens | undefined {
  const byText = knownTexts(vocabulary);
  const find = (part: keyof typeof KNOWN): number | undefined => {
    const [keys, texts] = KNOWN[part];
    for (const key of keys.split(" ")) {
      const id = tokens.special(key);
      if (id !== undefined) return id;
    }
    return texts.split(" ").map((text) => byText.get(text)).find((id) => id !== undefined);
  };
  const [prefix, suffix, middle] = [find("prefix"), find("suffix"), find("middle")];
  if (prefix === undefined || suffix === undefined || middle === undefined) return undefined;
  const fim = {
    prefix,
    suffix,
    middle,
    pad: find("pad"),
    repository: find("repository"),
    separator: find("separator"),
  };
  for (const id of Object.values(fim)) {
    if (id !== undefined) vocabulary.types[id] = TOKEN_TYPE.control;
  }
  return fim;
}

/** The tokens with one of the known texts; of equal ones that with the lowest id. */
function knownTexts({ texts, size }: Vocabulary): Map<string, number> {
  const wanted = new Set<string>(Object.values(KNOWN).flatMap(([, texts]) => texts.split(" ")));
  const found = new Map<string, number>();
  for (let id = size - 1; id >= 0; id--) {
    if (wanted.has(texts[id])) found.set(texts[id], id);
  }
  return found;
}
