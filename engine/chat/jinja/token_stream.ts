import { TemplateLimitError } from "./budget.ts";
import { TemplateSyntaxError } from "./syntax_error.ts";
import type { Token } from "./tokens.ts";

/** Expressions and blocks inside one another. */
const MOST_LEVELS = 300;

/** Tokens, read one after the other. */
export class TokenStream {
  private at = 0;
  private level = 0;

  constructor(private readonly tokens: readonly Token[]) {}

  get current(): Token {
    return this.tokens[this.at];
  }

  get ahead(): Token {
    return this.tokens[Math.min(this.at + 1, this.tokens.length - 1)];
  }

  next(): Token {
    const token = this.current;
    if (token.type !== "end") this.at++;
    return token;
  }

  isName(...names: string[]): boolean {
    return this.current.type === "name" && names.includes(this.current.text);
  }

  isOperator(...operators: string[]): boolean {
    return this.current.type === "operator" && operators.includes(this.current.text);
  }

  /** Goes on if the current token is that name. */
  skipName(name: string): boolean {
    const found = this.isName(name);
    if (found) this.at++;
    return found;
  }

  skipOperator(operator: string): boolean {
    const found = this.isOperator(operator);
    if (found) this.at++;
    return found;
  }

  expectName(name?: string): Token {
    if (this.current.type !== "name" || (name !== undefined && this.current.text !== name)) {
      this.fail(`got ${describe(this.current)}, wanted ${name ?? "a name"}`);
    }
    return this.next();
  }

  expectOperator(operator: string): void {
    if (!this.skipOperator(operator)) {
      this.fail(`got ${describe(this.current)}, wanted ${operator}`);
    }
  }

  expectEnd(type: "block_end" | "variable_end"): void {
    if (this.current.type !== type) {
      this.fail(`got ${describe(this.current)}, wanted ${type === "block_end" ? "%}" : "}}"}`);
    }
    this.next();
  }

  fail(message: string): never {
    throw new TemplateSyntaxError(message, this.current.line);
  }

  /** Parses what stands inside of something else; so deep and no deeper. */
  inside<T>(parse: () => T): T {
    if (++this.level > MOST_LEVELS) {
      throw new TemplateLimitError(`is nested more than ${MOST_LEVELS} deep`);
    }
    const parsed = parse();
    this.level--;
    return parsed;
  }
}

export function describe({ type, text }: Token): string {
  if (type === "end") return "the template's end";
  if (type === "name" || type === "operator") return `"${text.slice(0, 80)}"`;
  return { variable_end: "}}", block_end: "%}" }[type as string] ?? `a ${type}`;
}
