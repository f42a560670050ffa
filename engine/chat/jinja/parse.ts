import { type Node, parse, tokenize } from "./library.ts";

/** Characters that a template may have; the longest of known models have 30 000. */
const MOST_CHARACTERS = 2 ** 18;

type Token = ReturnType<typeof tokenize>[number];

/** Words that follow a test's name without being its argument. */
const NO_ARGUMENT = new Set(["and", "or", "not", "if", "else", "is", "in"]);

/**
 * A template, parsed as Hugging Face's `transformers` has it: without the line breaks after blocks and the
 * white space before them.
 *
 * @throws {Error} For a template that is too long or that cannot be parsed.
 */
export function parseTemplate(source: string): Node {
  if (source.length > MOST_CHARACTERS) {
    throw new Error(`it has ${source.length} characters; wanted at most ${MOST_CHARACTERS}`);
  }
  const tokens = tokenize(source, { trim_blocks: true, lstrip_blocks: true });
  try {
    return parse(withArguments(tokens)) as unknown as Node;
  } catch (error) {
    // The parser reads on where the template ends too early.
    if (error instanceof TypeError) throw new Error("it ends in the middle of a block");
    throw error;
  }
}

/**
 * The tokens with tests that take an argument, which the parser does not know, written as filters:
 * `a is not divisibleby(2)` as `a | is-not:divisibleby(2)`.
 */
function withArguments(tokens: readonly Token[]): Token[] {
  const result: Token[] = [];
  const token = (value: string, type: Token["type"]): Token => ({ value, type });
  for (let i = 0; i < tokens.length; i++) {
    const isTest = isWord(tokens[i], "is") && tokens[i - 1]?.type !== "Dot";
    const negated = isTest && isWord(tokens[i + 1], "not");
    const name = tokens[i + (negated ? 2 : 1)];
    const argument = tokens[i + (negated ? 3 : 2)];
    const takes = isTest && name?.type === "Identifier" && argument !== undefined &&
      (argument.type === "OpenParen" || isOperand(argument));
    if (!takes) {
      result.push(tokens[i]);
      continue;
    }
    result.push(token("|", "Pipe"));
    result.push(token(`${negated ? "is-not" : "is"}:${name.value}`, "Identifier"));
    i += negated ? 2 : 1;
    if (argument.type === "OpenParen") continue;
    result.push(token("(", "OpenParen"), argument, token(")", "CloseParen"));
    i++;
  }
  return result;
}

function isWord(token: Token | undefined, word: string): boolean {
  return token?.type === "Identifier" && token.value === word;
}

function isOperand({ type, value }: Token): boolean {
  return type === "NumericLiteral" || type === "StringLiteral" ||
    type === "Identifier" && !NO_ARGUMENT.has(value);
}
