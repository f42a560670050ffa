import { type HiddenNames, hiddenNames } from "./frames.ts";
import type { Expression, MacroNode, Statement } from "./nodes.ts";
import { ExpressionParser, isKnown } from "./parse_expression.ts";
import { TemplateSyntaxError } from "./syntax_error.ts";
import { describe, TokenStream } from "./token_stream.ts";
import { tokenize } from "./tokens.ts";
import { freeNames, undeclared } from "./undeclared.ts";

/** Characters that a template may have; the longest of known models have 30 000. */
const MOST_CHARACTERS = 2 ** 18;

/** Jinja's tags that load other templates or turn on the escaping of HTML. */
const UNSUPPORTED_TAGS = ["extends", "include", "import", "from", "autoescape"];

/** Names that Jinja knows and this does not. */
const UNSUPPORTED_NAMES: Readonly<Record<string, string>> = {
  self: `"self" (a template's own blocks)`,
  super: `"super" (a block of another template)`,
  lipsum: `"lipsum" (random text)`,
};

export interface Program {
  readonly statements: readonly Statement[];
  readonly hidden: HiddenNames;
}

/**
 * A template, parsed as Hugging Face's `transformers` has it: without the line breaks after blocks and the white space
 * before them, with `break`, `continue` and `generation`.
 *
 * @throws {Error} For a template that is too long or that cannot be parsed; it says so where that has what Jinja knows
 *   and this does not.
 */
export function parseTemplate(source: string): Program {
  if (source.length > MOST_CHARACTERS) {
    throw new Error(`it has ${source.length} characters; wanted at most ${MOST_CHARACTERS}`);
  }
  const parser = new Parser(new TokenStream(tokenize(source)));
  const statements = parser.template();
  for (const name of freeNames(statements)) {
    if (!Object.hasOwn(UNSUPPORTED_NAMES, name)) continue;
    throw new TemplateSyntaxError(`${UNSUPPORTED_NAMES[name]} is not supported here`, 1);
  }
  return { statements, hidden: hiddenNames(statements) };
}

/** A macro's parameters, and the defaults of the last ones. */
type Signature = [parameters: string[], defaults: Expression[]];

class Parser extends ExpressionParser {
  /** The names of blocks. */
  private readonly blocks = new Set<string>();
  /** Loops around the current statement, within one macro or block. */
  private loops = 0;

  template(): Statement[] {
    const statements = this.statements([]);
    if (this.stream.current.type !== "end") {
      this.stream.fail(`unexpected ${describe(this.stream.current)}`);
    }
    return statements;
  }

  /** Statements up to a block that begins with one of some names, which is the current token then. */
  private statements(ends: readonly string[]): Statement[] {
    const { stream } = this;
    const found: Statement[] = [];
    for (;;) {
      const token = stream.current;
      if (token.type === "end") {
        if (ends.length === 0) return found;
        stream.fail(`the template ends too early: wanted ${ends.join(" or ")}`);
      }
      stream.next();
      if (token.type === "data") found.push({ kind: "text", text: token.text });
      else if (token.type === "variable_begin") {
        const expression = this.tuple();
        found.push({ kind: "output", expression, known: isKnown(expression), line: token.line });
        stream.expectEnd("variable_end");
      } else {
        if (stream.isName(...ends)) return found;
        const { line } = token;
        found.push(...stream.inside(() => this.statement()).map((one) => ({ ...one, line })));
        stream.expectEnd("block_end");
      }
    }
  }

  /** The statements within a block, up to its end. */
  private body(...ends: string[]): Statement[] {
    this.stream.skipOperator(":");
    this.stream.expectEnd("block_end");
    return this.stream.inside(() => this.statements(ends));
  }

  private bodyUpTo(end: string): Statement[] {
    const body = this.body(end);
    this.stream.next();
    return body;
  }

  private statement(): Statement[] {
    const { stream } = this;
    const { text: tag, line } = stream.expectName();
    switch (tag) {
      case "for":
        return [this.loop()];
      case "if":
        return [this.branches()];
      case "set":
        return [this.set()];
      case "macro":
        return [this.macro(stream.expectName().text, this.signature(), "endmacro")];
      case "call":
        return [this.callBlock()];
      case "filter": {
        const filter = this.filter(undefined, true)!;
        return [{ kind: "filter_block", filter, body: this.bodyUpTo("endfilter") }];
      }
      case "with":
        return [this.with()];
      case "block":
        return [this.block()];
      case "generation":
        return [{ kind: "scope", body: this.outsideOfLoops(() => this.bodyUpTo("endgeneration")) }];
      case "print":
        return this.print();
      case "break":
      case "continue":
        if (this.loops === 0) {
          throw new TemplateSyntaxError(`${tag} stands outside of a loop`, line);
        }
        return [{ kind: tag }];
    }
    if (UNSUPPORTED_TAGS.includes(tag)) {
      throw new TemplateSyntaxError(`the tag "${tag}" is not supported here`, line);
    }
    throw new TemplateSyntaxError(`there is no tag "${tag.slice(0, 80)}"`, line);
  }

  private print(): Statement[] {
    const printed: Statement[] = [];
    while (this.stream.current.type !== "block_end") {
      if (printed.length > 0) this.stream.expectOperator(",");
      const expression = this.expression();
      printed.push({ kind: "output", expression, known: isKnown(expression) });
    }
    return printed;
  }

  private loop(): Statement {
    const { stream } = this;
    const { line } = stream.current;
    const target = this.target("in");
    stream.expectName("in");
    const iterable = this.tuple({ withCondition: false, endName: "recursive" });
    const test = stream.skipName("if") ? this.expression() : undefined;
    const recursive = stream.skipName("recursive");
    this.loops++;
    const body = this.body("endfor", "else");
    this.loops--;
    const otherwise = stream.next().text === "else" ? this.bodyUpTo("endfor") : [];
    if (setsLoop({ target, body, otherwise })) {
      throw new TemplateSyntaxError(`"loop" cannot be assigned to within a loop`, line);
    }
    const namesLoop = recursive || undeclared(body, ["loop"]).size > 0 || hasScopedBlock(body);
    return { kind: "for", target, iterable, test, recursive, body, otherwise, namesLoop };
  }

  private branches(): Statement {
    const { stream } = this;
    const branches: [Expression, Statement[]][] = [];
    let otherwise: Statement[] = [];
    for (;;) {
      const test = this.tuple({ withCondition: false });
      branches.push([test, this.body("elif", "else", "endif")]);
      const { text } = stream.next();
      if (text === "elif") continue;
      if (text === "else") otherwise = this.bodyUpTo("endif");
      return { kind: "if", branches, otherwise };
    }
  }

  private set(): Statement {
    const target = this.target("", true);
    if (this.stream.skipOperator("=")) return { kind: "set", target, value: this.tuple() };
    const filter = this.filter(undefined);
    return { kind: "set_block", target, filter, body: this.bodyUpTo("endset") };
  }

  private with(): Statement {
    const { stream } = this;
    const targets = [];
    const values: Expression[] = [];
    while (stream.current.type !== "block_end") {
      if (targets.length > 0) stream.expectOperator(",");
      targets.push(this.target());
      stream.expectOperator("=");
      values.push(this.expression());
    }
    return { kind: "with", targets, values, body: this.bodyUpTo("endwith") };
  }

  private block(): Statement {
    const { stream } = this;
    const { text: name, line } = stream.expectName();
    const scoped = stream.skipName("scoped");
    const required = stream.skipName("required");
    const body = this.outsideOfLoops(() => this.bodyUpTo("endblock"));
    stream.skipName(name);
    if (this.blocks.has(name)) {
      throw new TemplateSyntaxError(`there are two blocks "${name}"`, line);
    }
    if (required) {
      throw new TemplateSyntaxError(`block "${name}" is required and has no text`, line);
    }
    this.blocks.add(name);
    return { kind: "block", name, scoped, body };
  }

  private callBlock(): Statement {
    const { stream } = this;
    const signature: Signature = stream.isOperator("(") ? this.signature() : [[], []];
    const call = this.expression();
    if (call.kind !== "call") return stream.fail("a call block wants a call");
    return { kind: "call_block", call, body: this.macro(undefined, signature, "endcall") };
  }

  private signature(): Signature {
    const { stream } = this;
    const parameters: string[] = [];
    const defaults: Expression[] = [];
    stream.expectOperator("(");
    while (!stream.isOperator(")")) {
      if (parameters.length > 0) stream.expectOperator(",");
      const { text } = stream.expectName();
      if (parameters.includes(text)) stream.fail(`the parameter ${text} stands twice`);
      parameters.push(text);
      if (stream.skipOperator("=")) defaults.push(this.expression());
      else if (defaults.length > 0) stream.fail(`the parameter ${text} wants a default`);
    }
    stream.next();
    return [parameters, defaults];
  }

  private macro(
    name: string | undefined,
    [parameters, defaults]: Signature,
    end: string,
  ): MacroNode {
    const { line } = this.stream.current;
    const body = this.outsideOfLoops(() => this.bodyUpTo(end));
    const asked = undeclared(body, ["caller", "kwargs", "varargs"]);
    const place = parameters.indexOf("caller");
    if (asked.has("caller") && place >= 0 && place < parameters.length - defaults.length) {
      throw new TemplateSyntaxError(`the parameter "caller" wants a default`, line);
    }
    const takes = {
      caller: asked.has("caller") && place < 0,
      kwargs: asked.has("kwargs") && !parameters.includes("kwargs"),
      varargs: asked.has("varargs") && !parameters.includes("varargs"),
    };
    return { kind: "macro", name, parameters, defaults, body, takes };
  }

  private outsideOfLoops<T>(parse: () => T): T {
    const { loops } = this;
    this.loops = 0;
    const parsed = parse();
    this.loops = loops;
    return parsed;
  }
}

function hasScopedBlock(statements: readonly Statement[]): boolean {
  return statements.some((statement) => {
    if (statement.kind === "block") return statement.scoped || hasScopedBlock(statement.body);
    if (statement.kind === "if") {
      return statement.branches.some(([, body]) => hasScopedBlock(body)) ||
        hasScopedBlock(statement.otherwise);
    }
    return "body" in statement && Array.isArray(statement.body) && hasScopedBlock(statement.body);
  });
}

/** Whether "loop" is assigned to in a loop or in what stands in it. */
function setsLoop(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(setsLoop);
  if (typeof value !== "object" || value === null) return false;
  const { kind, name } = value as Record<string, unknown>;
  // Loops within it were looked through before.
  if (kind === "for") return false;
  // A name here is one that is assigned to.
  if (kind === "name") return name === "loop";
  const { target, targets, body, otherwise, branches } = value as Record<string, unknown>;
  const isCall = kind === "call_block";
  return setsLoop(target) || setsLoop(targets) ||
    setsLoop((value as Record<string, unknown>).items) ||
    setsLoop(isCall ? (body as MacroNode).body : body) || setsLoop(otherwise) ||
    (Array.isArray(branches) && branches.some(([, inner]) => setsLoop(inner)));
}
