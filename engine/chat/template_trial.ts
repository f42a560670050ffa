import { LIMITS, type Limits, TemplateLimitError } from "./jinja/budget.ts";
import type { JinjaTemplate } from "./jinja/template.ts";

/** A text that a template may show or not. */
export const NEEDLE = "needle-4f1c";

/** A trial shows a dozen characters; one that needs more than this is no template to go on with. */
const TRIAL_LIMITS: Limits = { ...LIMITS, steps: 250_000 };

/** Renders a template to find out what it can show. */
export class Trial {
  constructor(
    private readonly template: JinjaTemplate,
    private readonly specialTokens: Readonly<Record<string, string>>,
  ) {}

  get source(): string {
    return this.template.source;
  }

  /**
   * What the template renders; undefined where it fails.
   *
   * @throws {TemplateLimitError} Where it takes too much: that says nothing of what it can show.
   */
  render(messages: readonly object[], tools: unknown = null): string | undefined {
    try {
      return this.template.render({
        tools,
        documents: null,
        ...this.specialTokens,
        messages,
        add_generation_prompt: true,
      }, { limits: TRIAL_LIMITS });
    } catch (error) {
      if (error instanceof TemplateLimitError) throw error;
      return undefined;
    }
  }
}
