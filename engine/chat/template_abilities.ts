import type { Role } from "./conversation.ts";
import { type KnownEfforts, knownEfforts } from "./effort_words.ts";
import type { Budget } from "./jinja/budget.ts";
import type { JinjaTemplate } from "./jinja/template.ts";
import { NEEDLE, OTHER_NEEDLE, Trial } from "./template_trial.ts";
import { lazily, type OrderAbilities, triedOrder } from "./order_abilities.ts";
import { findToolAbilities, type ToolAbilities } from "./tools/tool_abilities.ts";

/** What a template can show of a conversation. Each is tried when it is asked for, and then known. */
export interface Abilities {
  /** Whether it shows what a user says, in one form or the other. */
  readonly known: boolean;
  /** A message's content as a text. */
  readonly strings: boolean;
  /** A message's content as a list of parts, in a role: one part, or several of which all are shown. */
  readonly parts: (role: Role, several: boolean) => boolean;
  /** Developer messages as such; else they are system messages. */
  readonly developer: boolean;
  /** Which role may speak after which. */
  readonly order: OrderAbilities;
  /** What it gets where there are no tools. */
  readonly noTools: null | readonly [];
  /** What it can show of tools. */
  readonly tools: ToolAbilities;
  /** How much reasoning it can ask for. */
  readonly efforts: KnownEfforts;
}

/**
 * What a template can show, found out by trying: a text that it is given in some form is in what it
 * renders, or not. Where all trials fail, the template is taken to know plain texts and every role.
 *
 * @param budget What the trials for a request may take together; absent: each may take as much.
 */
export function findAbilities(
  template: JinjaTemplate,
  specialTokens: Readonly<Record<string, string>>,
  budget?: () => Budget,
): Abilities {
  const trial = new Trial(template, specialTokens, budget);
  const shows = (texts: readonly string[], ...messages: readonly object[]) =>
    trial.shows(texts, messages);
  const user = (content: unknown) => ({ role: "user", content });
  const asParts = (...texts: readonly string[]) => texts.map((text) => ({ type: "text", text }));
  const strings = shows([NEEDLE], user(NEEDLE));
  const known = strings || shows([NEEDLE], user(asParts(NEEDLE)));
  const say = (text: string) => strings || !known ? text : asParts(text);
  const showsParts = (role: Role, several: boolean): boolean => {
    const texts = several ? [NEEDLE, OTHER_NEEDLE] : [NEEDLE];
    const message = { role, content: asParts(...texts) };
    switch (role) {
      case "system":
      case "developer":
        return shows(texts, message, user(say("x")));
      case "user":
        return shows(texts, message) &&
          shows(texts, user(say("x")), { role: "assistant", content: say("y") }, message);
      case "assistant":
        return shows(texts, user(say("x")), message, user(say("z")));
      case "tool":
        return found.tools.showsResult(message.content, texts);
    }
  };
  const parts = new Map<string, boolean>();
  const found = lazily<Pick<Abilities, "developer" | "tools" | "efforts">>({
    developer: () =>
      known && template.source.includes("developer") &&
      shows([NEEDLE], { role: "developer", content: say(NEEDLE) }, user(say("x"))),
    tools: () => findToolAbilities(trial, say),
    efforts: () => knownEfforts(trial, say),
  });
  return Object.assign(found, {
    known,
    noTools: trial.noTools,
    strings: strings || !known,
    parts: (role: Role, several: boolean) =>
      known && parts.getOrInsertComputed(`${role} ${several}`, () => showsParts(role, several)),
    order: triedOrder(trial, say, known, () => found.tools),
  });
}
