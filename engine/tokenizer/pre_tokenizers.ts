import { levenshteinDistance } from "@std/text/levenshtein-distance";
import { M40Error } from "../errors.ts";
import { groupsFromTheRight, groupsOfThree, numberGroups, spaceAtTheEnd } from "./linear_cuts.ts";
import type { TokenizerMetadata } from "./vocabulary.ts";

const KEY = "tokenizer.ggml.pre";

/** How a text is cut by one of the steps of a {@link PreTokenizerRules}. */
export type Cut =
  /** An expression that leaves nothing between its matches: each match is a word. */
  | string
  /** An expression whose matches are words, and so is what lies between them. */
  | { readonly matches: string }
  /** Where words end, ascending, the end of the text included. */
  | { readonly ends: (text: string) => number[] };

/** What a pre-tokenizer's name stands for. */
export interface PreTokenizerRules {
  /** Each cuts what the one before it has left; what comes out last are the words. */
  readonly cuts: readonly Cut[];
  /** Cuts over the bytes of a word, written in the byte alphabet (`byte_alphabet.ts`), after {@link cuts}. */
  readonly byteCuts?: readonly Cut[];
  /** A word that is a token is that token, whatever merges would make of it. */
  readonly ignoreMerges?: boolean;
  /** BOS is put in front where the file does not say. */
  readonly addBos?: boolean;
  /** Characters are merged, not bytes. */
  readonly characters?: CharacterRules;
}

/** How characters are merged. */
export interface CharacterRules {
  /** A space is written U+2581; without it, white space is left out. */
  readonly marksSpaces?: boolean;
  /** Breaks of lines that are a token together are that token, whatever merges would make of them. */
  readonly keepsLineBreaks?: boolean;
  /** BOS is put in front even where the file denies it: files of early converters do, and the model needs it. */
  readonly alwaysAddsBos?: boolean;
}

/** A contraction such as `'s`; upper case, and the long s that is the same letter, count as well. */
const CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const SPACES = String.raw`\s+(?!\S)|\s+`;
const NEWLINES = String.raw`\s*[\r\n]+`;

const GPT2 = String
  .raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|${SPACES}`;
/** GPT-4's expression (cl100k_base); what differs from model to model is how digits are taken. */
function gpt4(digits: string, contractions = `${CONTRACTION}|`): string {
  return contractions +
    String.raw`[^\r\n\p{L}\p{N}]?\p{L}+|${digits}| ?[^\s\p{L}\p{N}]+[\r\n]*|${NEWLINES}|${SPACES}`;
}

const LLAMA3 = gpt4(String.raw`\p{N}{1,3}`);
/** Runs of spaces are cut into powers of two. */
const JAIS2 = LLAMA3.replace(
  SPACES,
  [512, 256, 128, 64, 32, 16, 8, 4, "1,2"].map((count) => `\\s{${count}}(?!\\S)`).join("|") +
    String.raw`|\s`,
);
/** Marks, and what joins letters or keeps them apart, are parts of words. */
const K2_HORIZON = LLAMA3.replace(String.raw`\p{L}+`, String.raw`[\p{L}\p{M}\u200c\u200d]+`);
const QWEN2 = gpt4(String.raw`\p{N}`);
const NO_CONTRACTIONS = gpt4(String.raw`\p{N}`, "");
const MINICPM5 = gpt4(String.raw`\p{N}+`);
const EXAONE_MOE = String
  .raw`${CONTRACTION}|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|${SPACES}`;
const SEED_CODER = String
  .raw`${CONTRACTION}|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|${NEWLINES}|${SPACES}`;
const QWEN35 = String
  .raw`${CONTRACTION}|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|${NEWLINES}|${SPACES}`;
const BAILING = String
  .raw`'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|${SPACES}`;

/** Letters that may begin a word of mixed case, and those that may end it. */
const UPPER = String.raw`[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`;
const LOWER = String.raw`[\p{Ll}\p{Lm}\p{Lo}\p{M}]`;
const BEFORE_LETTERS = String.raw`[^\r\n\p{L}\p{N}]?`;
const SYMBOLS_AND_SLASHES = String.raw` ?[^\s\p{L}\p{N}]+[\r\n/]*`;

/** Words of an upper case part and a lower case one, each of which may be missing. */
function casedWords(upper: string, lower: string, suffix: string): string {
  return `${BEFORE_LETTERS}${upper}*${lower}+${suffix}|${BEFORE_LETTERS}${upper}+${lower}*${suffix}`;
}

const GPT4O = String.raw`${
  casedWords(UPPER, LOWER, `${CONTRACTION}?`)
}|\p{N}{1,3}|${SYMBOLS_AND_SLASHES}|${NEWLINES}|${SPACES}`;
const YOUTU = GPT4O.replace("{1,3}", "");
const TEKKEN = String.raw`${
  casedWords(UPPER, LOWER, "")
}|\p{N}|${SYMBOLS_AND_SLASHES}|${NEWLINES}|${SPACES}`;
const KIMI = String.raw`\p{Han}+|${
  casedWords(`[${UPPER}&&[^\\p{Han}]]`, `[${LOWER}&&[^\\p{Han}]]`, `${CONTRACTION}?`)
}|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|${NEWLINES}|${SPACES}`;

const DIGIT = { matches: String.raw`\p{N}` };
const UP_TO_THREE_DIGITS = { matches: String.raw`\p{N}{1,3}` };
const LINE_BREAK = { matches: String.raw`[\r\n]` };
const CJK_AND_KANA = { matches: "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+" };
/** As the files of DeepSeek have it: the second range ends where the first begins. */
const CJK_AND_OTHERS = { matches: "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+" };
/** Letters with case, as many as the files of DeepSeek list. */
const CASED_LETTERS = "A-Za-z" +
  String.raw`\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af` +
  String.raw`\u0370-\u0373\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1` +
  String.raw`\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f\u0531-\u0556\u10a0-\u10c5\u13a0-\u13f5` +
  String.raw`\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77\u1d79-\u1d9a` +
  String.raw`\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d` +
  String.raw`\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3` +
  String.raw`\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107\u210a-\u2113\u2115` +
  String.raw`\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f` +
  String.raw`\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee\u2cf2\u2cf3` +
  String.raw`\ua640-\ua66d\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf` +
  String.raw`\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a\u{10400}-\u{1044f}` +
  String.raw`\u{104b0}-\u{104d3}\u{104d8}-\u{104fb}\u{10c80}-\u{10cb2}\u{10cc0}-\u{10cf2}` +
  String.raw`\u{118a0}-\u{118df}\u{1e900}-\u{1e943}`;
/** A sign and the letters of ASCII that follow it, then words, then signs with what ends a line. */
const DEEPSEEK_V3 = String.raw`[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_${"`"}{|}~][A-Za-z]+|` +
  String.raw`[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|${NEWLINES}|${SPACES}`;
/** Chinese and Japanese with what is written between; Thai, Lao, Khmer, Burmese; Hangul. */
const AFMOE_SCRIPTS =
  "[\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\u3040-\u309f\u30a0-\u30ff\uff65-\uff9f" +
  "\u2f00-\u2fdf\u0e40-\u0e7f\u0e80-\u0eff\u1780-\u17ff\u1000-\u109f\uaa60-\uaa7f\ua9e0-\ua9ff" +
  "\uac00-\ud7af\u1100-\u11ff]+";
const SPARK = DEEPSEEK_V3.replace(String.raw`[\r\n]*|${NEWLINES}`, String.raw`|[\r\n]`);
/** Hangul; punctuation of Chinese; Bopomofo; Chinese and Japanese. */
const YOUTU_SCRIPTS = "[\uac00-\ud7a3\u3131-\u318e]+|" +
  "[\uff01\u2026\u201c\u201d\u2018\u2019\u2014\uff1a\uff1b\uff0c\u3001-\u303f\ufe30-\ufe4f]+|" +
  "[\u3105-\u312f]+|[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+";
const BLOOM = { matches: " ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+" };
const PUNCTUATION_RUN = String.raw`[\p{P}$+<=>^~|`;
const THREE_DIGITS = { matches: "[0-9][0-9][0-9]" };
const LINES = String.raw`[^\n]+|\n+`;

/**
 * The names that `tokenizer.ggml.pre` may have. The expressions are those of the models' tokenizer.json,
 * in the syntax in which they stand there (`expression.ts` makes JavaScript of them), `default` is
 * llama.cpp's for files without a name. Names in a group share their rules.
 */
const GROUPS: readonly (readonly [names: string, rules: PreTokenizerRules])[] = [
  ["default", {
    cuts: [
      { matches: `${PUNCTUATION_RUN}]+` },
      GPT2,
      { matches: String.raw`\p{N}+` },
      THREE_DIGITS,
    ],
  }],
  [
    "gpt-2 phi-2 jina-es jina-de jina-v2-es jina-v2-de gigachat a.x-4.0 mellum modern-bert " +
    "jina-v1-en jina-v2-code roberta-bpe exaone4 mpt olmo jais trillion granite-docling",
    { cuts: [GPT2] },
  ],
  [
    "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano",
    { cuts: [LLAMA3], ignoreMerges: true, addBos: true },
  ],
  ["dbrx smaug-bpe chatglm-bpe", { cuts: [LLAMA3] }],
  ["jais-2", { cuts: [JAIS2] }],
  ["k2-horizon", { cuts: [K2_HORIZON] }],
  ["minicpm5", { cuts: [UP_TO_THREE_DIGITS, MINICPM5], ignoreMerges: true }],
  ["glm4 glm5", { cuts: [LLAMA3], ignoreMerges: true }],
  ["deepseek-llm", {
    cuts: [
      LINE_BREAK,
      { matches: String.raw`\s?[${CASED_LETTERS}]+` },
      { matches: "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+" },
      { ends: spaceAtTheEnd },
      CJK_AND_OTHERS,
      DIGIT,
    ],
  }],
  ["deepseek-coder", {
    cuts: [
      LINE_BREAK,
      { matches: String.raw`\s?\p{L}+` },
      { matches: String.raw`\s?\p{P}+` },
      CJK_AND_OTHERS,
      DIGIT,
    ],
  }],
  ["deepseek-v3 hunyuan-dense joyai-llm hy_v4", {
    cuts: [UP_TO_THREE_DIGITS, CJK_AND_KANA, { matches: DEEPSEEK_V3 }],
  }],
  ["afmoe", {
    cuts: [{ ends: numberGroups }, { matches: AFMOE_SCRIPTS }, { matches: DEEPSEEK_V3 }],
  }],
  ["spark2_5", { cuts: [UP_TO_THREE_DIGITS, CJK_AND_KANA, { matches: SPARK }, DIGIT] }],
  [
    "starcoder refact command-r smollm codeshell exaone minerva-7b mellum2",
    { cuts: [DIGIT, GPT2] },
  ],
  [
    "qwen2 deepseek-r1-qwen kormo f2llmv2 megrez stablelm2 hunyuan solar-open grok-2",
    { cuts: [QWEN2] },
  ],
  ["ufakzeka", { cuts: [NO_CONTRACTIONS] }],
  ["laguna", { cuts: [LINES, QWEN2] }],
  ["exaone-moe", { cuts: [EXAONE_MOE] }],
  ["qwen35", { cuts: [QWEN35] }],
  ["gpt-4o llama4 kanana2 talkie minimax-m2", { cuts: [GPT4O] }],
  ["granite-embed-multi-97m", { cuts: [GPT4O], ignoreMerges: true }],
  ["youtu", { cuts: [{ matches: YOUTU_SCRIPTS }, YOUTU], ignoreMerges: true }],
  ["gemma4 granite-embed-multi-311m", {
    cuts: [LINES],
    characters: { marksSpaces: true, keepsLineBreaks: true, alwaysAddsBos: true },
    addBos: true,
  }],
  ["sarvam-moe", { cuts: [LINES], characters: { marksSpaces: true } }],
  ["whitespace", { cuts: [{ matches: String.raw`\S+` }], characters: {} }],
  ["tekken", { cuts: [TEKKEN], ignoreMerges: true, addBos: true }],
  ["bailingmoe bailingmoe2 llada-moe", { cuts: [BAILING] }],
  ["tiny_aya cohere2moe", { cuts: [{ ends: groupsFromTheRight }, GPT4O] }],
  ["poro-chat bloom gpt3-finnish", { cuts: [BLOOM] }],
  ["viking", { cuts: [BLOOM, DIGIT] }],
  ["falcon", {
    cuts: [{ matches: `${PUNCTUATION_RUN}\`]+` }, GPT2],
    byteCuts: [{ matches: String.raw`\p{N}+` }, THREE_DIGITS],
  }],
  ["seed-coder", { cuts: [SEED_CODER] }],
  ["kimi-k2", { cuts: [KIMI] }],
  ["superbpe", { cuts: [{ matches: String.raw`\p{N}+` }, { ends: groupsOfThree }] }],
  ["chameleon", {
    cuts: [
      { matches: "<sentinel:[0-9]+>" },
      { matches: "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z" },
      { matches: "([\\t\\n]|    |  )" },
      DIGIT,
      { matches: String.raw`[\p{P}!-/:-@\[-${"`"}{-~]` },
      GPT2,
    ],
    addBos: true,
  }],
];

/** What each name stands for. */
export const PRE_TOKENIZERS: ReadonlyMap<string, PreTokenizerRules> = new Map(
  GROUPS.flatMap(([names, rules]) => names.split(" ").map((name) => [name, rules] as const)),
);

/**
 * The pre-tokenizer of a vocabulary: the one that is asked for, else that of `tokenizer.ggml.pre`, else
 * `default`.
 *
 * @throws {M40Error} `unsupported` for a name that is not known.
 */
export function choosePreTokenizer(
  metadata: TokenizerMetadata,
  options: { preTokenizer?: string; onWarning?: (warning: string) => void },
): { name: string; rules: PreTokenizerRules } {
  const inFile = metadata.has(KEY) ? metadata.string(KEY) : undefined;
  const name = options.preTokenizer ?? inFile ?? "default";
  if (options.preTokenizer === undefined && inFile === undefined) {
    options.onWarning?.(
      `The file does not name its pre-tokenizer (${KEY}); "default" is used, which may cut text into ` +
        "other words than the model was trained on. Name the right one with --pre-tokenizer NAME.",
    );
  }
  const rules = PRE_TOKENIZERS.get(name);
  if (rules !== undefined) return { name, rules };
  const nearest = closestNames(name).map((known) => `"${known}"`).join(", ");
  throw new M40Error(
    "unsupported",
    options.preTokenizer === undefined
      ? `The pre-tokenizer "${
        shorten(name)
      }" (${KEY}) is not known; the nearest names are ${nearest}. ` +
        "Use --pre-tokenizer NAME to take another in its place, where it is known to cut text as the model wants it."
      : `--pre-tokenizer "${shorten(name)}" is not known, which was to override ${
        inFile === undefined ? `a missing ${KEY}` : `"${shorten(inFile)}" (${KEY})`
      }; the nearest names are ${nearest}.`,
  );
}

function closestNames(name: string): string[] {
  const distance = new Map(
    [...PRE_TOKENIZERS.keys()].map((known) => [known, levenshteinDistance(shorten(name), known)]),
  );
  return [...distance.keys()].sort((a, b) => distance.get(a)! - distance.get(b)!).slice(0, 5);
}

/** A name as long as one may be; what a file says may be megabytes. */
function shorten(name: string): string {
  return name.length > 60 ? `${name.slice(0, 60)}…` : name;
}
