import { Automaton } from "./automaton.ts";
import { M40Error } from "../errors.ts";
import { invalidGrammar } from "./errors.ts";
import { choiceOf, text } from "./expressions.ts";
import { parseGbnf } from "./gbnf.ts";
import type { Expression, Grammar } from "./grammar.ts";
import { jsonObjectGrammar } from "./json.ts";
import { Network } from "./network.ts";
import { type PackedNetwork, packNetwork } from "./packed_network.ts";
import { type AnswerSchema, compileAnswer, type Compiled } from "./answer_schema.ts";
import { parseRegex } from "./regex.ts";

/** What an answer must be like, as a request says it. */
export type Constraint =
  & ConstraintSource
  & {
    /** The name of the field that says it, for errors. */
    readonly param?: string;
  };

type ConstraintSource =
  /** A grammar in GBNF; see {@link parseGbnf}. */
  | { readonly kind: "gbnf"; readonly text: string }
  /** All of the answer matches a regular expression; see {@link parseRegex}. */
  | { readonly kind: "regex"; readonly pattern: string }
  /** It is one of these texts. */
  | { readonly kind: "choice"; readonly texts: readonly string[] }
  /** It is an object of JSON. */
  | { readonly kind: "json_object" }
  /** It is JSON that a JSON Schema accepts; see {@link grammarOfSchema}. */
  | ({ readonly kind: "json_schema" } & AnswerSchema)
  /** It matches a grammar that is made when it is needed. */
  | {
    readonly kind: "made";
    /** Constraints with the same key have the same grammar. */
    readonly key: string;
    /** @throws {M40Error} "invalid_request" naming what is wrong. */
    readonly grammar: () => Grammar;
    /**
     * Whether an answer is free until it begins something that the grammar has rules for: then it may end while
     * it reasons, and where all tokens are allowed none is looked at.
     */
    readonly free?: boolean;
  };

/** Texts of a choice, and characters of all of them together, at most. */
const MOST_CHOICES = 100_000;
/** White space that may come between reasoning and an answer, in characters: it is no part of the answer. */
const MOST_SPACE = 8;

/**
 * The grammar of a constraint.
 *
 * @throws {M40Error} "invalid_request" naming what is wrong with it.
 */
export function grammarOf(constraint: Constraint, param: string = constraint.kind): Grammar {
  switch (constraint.kind) {
    case "gbnf":
      return parseGbnf(constraint.text, param);
    case "regex":
      return ruleOf(parseRegex(constraint.pattern, { param }));
    case "choice":
      return ruleOf(oneOf(constraint.texts, param));
    case "json_object":
      return jsonObjectGrammar();
    case "json_schema":
      return compileAnswer(constraint).grammar;
    case "made":
      return constraint.grammar();
  }
}

/** The grammar of a constraint, and its network. */
function compile(constraint: Constraint): Compiled {
  if (constraint.kind === "json_schema") return compileAnswer(constraint);
  const grammar = grammarOf(constraint, constraint.param);
  return { grammar, network: new Network(grammar) };
}

function ruleOf(expression: Expression): Grammar {
  return { root: "root", rules: new Map([["root", expression]]) };
}

function oneOf(texts: readonly string[], param: string): Expression {
  const most = MOST_CHOICES;
  if (texts.length === 0 || texts.length > most) {
    throw invalidGrammar(`${param} has ${texts.length} texts; wanted from 1 to ${most}`, param);
  }
  if (texts.some((text) => !text.isWellFormed())) {
    throw invalidGrammar(`${param} has a text with half of a character (a lone surrogate)`, param);
  }
  return choiceOf(texts.map(text));
}

/** The same grammar, with white space before it that is no part of the answer. */
function behindSpace({ root, rules }: Grammar): Grammar {
  const space: Expression = {
    kind: "repeat",
    item: { kind: "characters", ranges: [[9, 10], [13, 13], [32, 32]] },
    least: 0,
    most: MOST_SPACE,
  };
  // No language's names have a space.
  const begin = `${root} behind space`;
  const items: Expression[] = [space, { kind: "rule", name: root }];
  return { root: begin, rules: new Map([...rules, [begin, { kind: "sequence", items }]]) };
}

/** What is built of a constraint, to be handed to another thread. */
export interface BuiltNetworks {
  readonly plain: PackedNetwork;
  /** With white space before it. */
  readonly spaced?: PackedNetwork;
}

/**
 * Does most of what takes time of a {@link CompiledConstraint}.
 *
 * @param spaced Whether white space may come before the answer as well.
 * @throws {M40Error} As that does.
 */
export function buildNetworks(constraint: Constraint, spaced: boolean): BuiltNetworks {
  return namingParam(constraint, () => {
    const { grammar, network } = compile(constraint);
    const plain = packNetwork(network);
    return spaced ? { plain, spaced: packNetwork(new Network(behindSpace(grammar))) } : { plain };
  });
}

/** A constraint's automata: of the answer by itself, and of one behind reasoning. */
export class CompiledConstraint {
  readonly automaton: Automaton;
  /** Whether the answer is free until it begins something. */
  readonly free: boolean;
  private spaced?: Automaton;

  /**
   * @param built What {@link buildNetworks} has built of it already, elsewhere.
   * @throws {M40Error} "invalid_request" naming the field that is wrong, and why.
   */
  constructor(
    private readonly constraint: Constraint,
    private readonly built: BuiltNetworks = buildNetworks(constraint, false),
  ) {
    this.free = constraint.kind === "made" && constraint.free === true;
    this.automaton = namingParam(constraint, () => new Automaton(built.plain));
  }

  /** The automaton of an answer that white space may come before. */
  get behindSpace(): Automaton {
    if (this.free) return this.automaton;
    return this.spaced ??= new Automaton(
      this.built.spaced ?? behindSpace(grammarOf(this.constraint)),
    );
  }

  /** Those that there are. */
  get automata(): readonly Automaton[] {
    return this.spaced === undefined ? [this.automaton] : [this.automaton, this.spaced];
  }

  /** Whether there is room for what new answers need: places that were found are never forgotten. */
  get hasRoom(): boolean {
    return this.automata.every((one) => one.hasRoomForAnswers);
  }
}

/** Does something with a constraint whose errors are to be those of the field that it came in. */
export function namingParam<T>({ kind, param = kind }: Constraint, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw ofParam(error, param);
  }
}

function ofParam(error: unknown, param: string): unknown {
  if (!(error instanceof M40Error) || error.code !== "invalid_request") return error;
  const message = error.message.startsWith(param) ? error.message : `${param}: ${error.message}`;
  return new M40Error(error.code, message, param);
}
