import { Budget, LIMITS, type Limits, TemplateLimitError } from "./jinja/budget.ts";
import type { JinjaTemplate } from "./jinja/template.ts";

/** A text that a template may show or not. */
export const NEEDLE = "needle-4f1c";

/** Another text of that kind. */
export const OTHER_NEEDLE = "needle-7b2e";

/** A list of parts that a template has written as such. */
const LIST_AS_SUCH = /['"]type['"]\s*:\s*['"]text['"]/;

/** A trial shows a dozen characters; one that needs more than this is no template to go on with. */
const TRIAL_LIMITS: Limits = { ...LIMITS, steps: 250_000 };

/** Renders a template to find out what it can show. */
export class Trial {
  /** What the template gets where there are no tools: some fail where that is no list. */
  readonly noTools: null | readonly [];

  /** @param budget What all trials of a job may take together; absent: each may take as much. */
  constructor(
    private readonly template: JinjaTemplate,
    private readonly specialTokens: Readonly<Record<string, string>>,
    private readonly budget?: () => Budget,
  ) {
    const user = [{ role: "user", content: NEEDLE }];
    const needsList = this.render(user, null) === undefined && this.render(user, []) !== undefined;
    this.noTools = needsList ? [] : null;
  }

  get source(): string {
    return this.template.source;
  }

  /**
   * What the template renders; undefined where it fails.
   *
   * @param variables What it gets in addition to the messages.
   * @throws {TemplateLimitError} Where it takes too much: that says nothing of what it can show.
   */
  render(
    messages: readonly object[],
    tools: unknown = this.noTools,
    variables: Readonly<Record<string, unknown>> = {},
  ): string | undefined {
    try {
      return this.template.render({
        tools,
        documents: null,
        ...this.specialTokens,
        ...variables,
        messages,
        add_generation_prompt: true,
      }, { budget: this.budget?.() ?? new Budget(TRIAL_LIMITS) });
    } catch (error) {
      if (error instanceof TemplateLimitError) throw error;
      return undefined;
    }
  }

  /** Whether the template shows all of some texts, and not in a list that it does not understand. */
  shows(texts: readonly string[], messages: readonly object[], tools?: unknown): boolean {
    const shown = this.render(messages, tools);
    return shown !== undefined && texts.every((text) => shown.includes(text)) &&
      !LIST_AS_SUCH.test(shown);
  }
}
