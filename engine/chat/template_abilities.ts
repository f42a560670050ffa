import type { JinjaTemplate } from "./jinja/template.ts";
import { NEEDLE, Trial } from "./template_trial.ts";
import { findToolAbilities, type ToolAbilities } from "./tools/tool_abilities.ts";

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
  /** What it can show of tools: tried when it is asked for. */
  readonly tools: ToolAbilities;
}

/**
 * What a template can show, found out by trying: a text that it is given in some form is in what it
 * renders, or not. Where all trials fail, the template is taken to know plain texts and every role.
 */
export function findAbilities(
  template: JinjaTemplate,
  specialTokens: Readonly<Record<string, string>>,
): Abilities {
  const trial = new Trial(template, specialTokens);
  const shows = (...messages: readonly object[]) => {
    const text = trial.render(messages);
    // A list that is written as such is not understood.
    return text !== undefined && text.includes(NEEDLE) && !/['"]type['"]/.test(text);
  };
  const user = (content: unknown) => ({ role: "user", content });
  const asParts = [{ type: "text", text: NEEDLE }];
  const strings = shows(user(NEEDLE));
  const parts = shows(user(asParts));
  const known = strings || parts;
  const say = (text: string) => strings || !known ? text : [{ type: "text", text }];
  let tools: ToolAbilities | undefined;
  return {
    strings: strings || !known,
    parts,
    system: !known || shows({ role: "system", content: say(NEEDLE) }, user(say("x"))),
    developer: known && /developer/.test(template.source) &&
      shows({ role: "developer", content: say(NEEDLE) }, user(say("x"))),
    get tools() {
      return tools ??= findToolAbilities(trial, say);
    },
  };
}
