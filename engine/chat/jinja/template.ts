import { Budget, type Limits } from "./budget.ts";
import { checkNames } from "./check_names.ts";
import { Interpreter } from "./interpreter.ts";
import { Marks } from "./marks.ts";
import { parseTemplate, type Program } from "./parse.ts";
import { Rendering } from "./rendering.ts";

export interface RenderOptions {
  /** The mark of texts that must not become control tokens; see `marks.ts`. */
  readonly mark?: string;
  readonly limits?: Limits;
  /** What several renderings may take together, in place of limits of each. */
  readonly budget?: Budget;
  /** What `strftime_now` returns; default: the present. */
  readonly now?: Date;
}

/** A template of Jinja, parsed. */
export class JinjaTemplate {
  /**
   * @param program What its source was parsed to, where that is known.
   * @throws {Error} For a template that cannot be parsed.
   */
  constructor(readonly source: string, readonly program: Program = checked(source)) {}

  /**
   * The text that comes of it.
   *
   * @throws {TemplateLimitError} Where it takes more than a rendering may.
   * @throws {TemplateRefusal} What it says by `raise_exception`.
   * @throws {Error} Where it fails.
   */
  render(variables: Readonly<Record<string, unknown>>, options: RenderOptions = {}): string {
    const { mark = "", limits, budget = new Budget(limits), now = new Date() } = options;
    budget.begin();
    const rendering = new Rendering(budget, new Marks(mark), now);
    return new Interpreter(rendering, this.program).render(variables);
  }
}

function checked(source: string): Program {
  const program = parseTemplate(source);
  checkNames(program.statements);
  return program;
}
