import { LIMITS, type Limits, TemplateLimitError } from "./jinja/budget.ts";
import type { JinjaTemplate } from "./jinja/template.ts";

/** What a template can show of a conversation. */
export interface Abilities {
  /** A message's content as a text. */
  readonly strings: boolean;
  /** A message's content as a list of parts. */
  readonly parts: boolean;
  /** System messages. */
  readonly system: boolean;
  /** Developer messages as such; else they are system messages. */
  readonly developer: boolean;
}

/** A trial shows a dozen characters; one that needs more than this is no template to go on with. */
const TRIAL_LIMITS: Limits = { ...LIMITS, steps: 250_000 };

const NEEDLE = "needle-4f1c";

/**
 * What a template can show, found out by trying: a text that it is given in some form is in what it
 * renders, or not. Where all trials fail, the template is taken to know plain texts and every role.
 */
export function findAbilities(
  template: JinjaTemplate,
  specialTokens: Readonly<Record<string, string>>,
): Abilities {
  const shows = (...messages: readonly object[]) => {
    const text = rendered(template, specialTokens, messages);
    // A list that is written as such is not understood.
    return text !== undefined && text.includes(NEEDLE) && !/['"]type['"]/.test(text);
  };
  const user = (content: unknown) => ({ role: "user", content });
  const asParts = [{ type: "text", text: NEEDLE }];
  const strings = shows(user(NEEDLE));
  const parts = shows(user(asParts));
  if (!strings && !parts) return { strings: true, parts: false, system: true, developer: false };
  const say = (text: string) => strings ? text : [{ type: "text", text }];
  return {
    strings,
    parts,
    system: shows({ role: "system", content: say(NEEDLE) }, user(say("x"))),
    developer: /developer/.test(template.source) &&
      shows({ role: "developer", content: say(NEEDLE) }, user(say("x"))),
  };
}

/**
 * What a template renders; undefined where it fails.
 *
 * @throws {TemplateLimitError} Where it takes too much: that says nothing of what it can show.
 */
function rendered(
  template: JinjaTemplate,
  specialTokens: Readonly<Record<string, string>>,
  messages: readonly object[],
): string | undefined {
  try {
    return template.render({
      tools: null,
      documents: null,
      ...specialTokens,
      messages,
      add_generation_prompt: true,
    }, { limits: TRIAL_LIMITS });
  } catch (error) {
    if (error instanceof TemplateLimitError) throw error;
    return undefined;
  }
}
