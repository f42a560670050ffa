import { NEEDLE, OTHER_NEEDLE, type Trial } from "./template_trial.ts";
import type { ToolAbilities } from "./tools/tool_abilities.ts";

/** Every order: which role may say something after which, so that a template shows it. */
export const ANY_ORDER = {
  /** A system message that begins a conversation. */
  systemFirst: true,
  /** The same where the conversation ends with a tool's result. */
  systemBeforeResult: true,
  /** A second one right behind it. */
  systemSecond: true,
  /** One that comes later. */
  systemLater: true,
  /** The same of developer messages, for templates that know them. */
  developerSecond: true,
  developerLater: true,
  /** An assistant's message that begins a conversation. */
  assistantFirst: true,
  /** An assistant's message without a text. */
  assistantEmpty: true,
  /** Two messages of a user, one behind the other. */
  usersInRow: true,
  /** Two of an assistant. */
  assistantsInRow: true,
  /** An assistant's message and another one of it that calls a tool. */
  assistantBeforeCall: true,
  /** A user's message behind a tool's result. */
  userAfterResult: true,
  /** A tool's result without the call that it answers. */
  resultAlone: true,
  /** What an assistant says in the message in which it calls a tool. */
  contentWithCall: true,
  /** The same where the message has reasoning as well. */
  contentWithThoughtAndCall: true,
};

/** Which orders a template shows. */
export type OrderAbilities = { readonly [Order in keyof typeof ANY_ORDER]: boolean };

/** The least that a template may know: a system message in front, then user and assistant in turn. */
export const STRICT_ORDER = Object.fromEntries(
  Object.keys(ANY_ORDER).map((name) => [name, false]),
) as OrderAbilities;

/**
 * What a template can show in which order, found out by trying.
 *
 * @param say What a message's content has to be like for a text.
 * @param known Whether it shows a text at all.
 */
export function triedOrder(
  trial: Trial,
  say: (text: string) => unknown,
  known: boolean,
  tools: () => ToolAbilities,
): OrderAbilities {
  if (!known) return ANY_ORDER;
  const message = (role: string) => (text: string) => ({ role, content: say(text) });
  const user = message("user");
  const assistant = message("assistant");
  const system = message("system");
  const developer = message("developer");
  const shows = (...messages: readonly object[]) => {
    const shown = trial.render(messages);
    return shown !== undefined && shown.includes(NEEDLE) &&
      (!JSON.stringify(messages).includes(OTHER_NEEDLE) || shown.includes(OTHER_NEEDLE));
  };
  const second = (one: typeof system) => shows(one(OTHER_NEEDLE), one(NEEDLE), user("x"));
  const later = (one: typeof system) =>
    shows(user("x"), assistant("y"), one(NEEDLE), user("z")) &&
    shows(one(OTHER_NEEDLE), user("x"), assistant("y"), user("z"), one(NEEDLE));
  const withCall = (
    before: readonly object[],
    fields: Readonly<Record<string, unknown>>,
    behind: readonly object[],
    thought = false,
  ): boolean => {
    const called = tools().exchange(fields, thought);
    // What becomes text all the same is in no order of calls.
    if (called === undefined) return true;
    const shown = trial.render([...before, ...called.messages, ...behind], called.tools);
    return shown !== undefined && shown.includes(NEEDLE) && shown.includes(called.name);
  };
  const tries: Record<keyof OrderAbilities, () => boolean> = {
    systemFirst: () => shows(system(NEEDLE), user("x")),
    systemBeforeResult: () => withCall([system(NEEDLE), user("x")], {}, []),
    systemSecond: () => second(system),
    systemLater: () => later(system),
    developerSecond: () => second(developer),
    developerLater: () => later(developer),
    assistantFirst: () => shows(assistant(OTHER_NEEDLE), user(NEEDLE)),
    assistantEmpty: () => shows(user(OTHER_NEEDLE), assistant(""), user(NEEDLE)),
    usersInRow: () => shows(user(OTHER_NEEDLE), user(NEEDLE)),
    assistantsInRow: () => shows(user("x"), assistant(OTHER_NEEDLE), assistant(NEEDLE), user("z")),
    assistantBeforeCall: () =>
      withCall([user("x"), assistant(NEEDLE)], {}, [assistant("z"), user("x")]),
    userAfterResult: () => withCall([user("x")], {}, [user(NEEDLE)]),
    resultAlone: () => {
      const result = (text: string) => ({
        role: "tool",
        content: say(text),
        tool_call_id: tools().id,
      });
      return shows(result(NEEDLE), assistant("y"), user("x")) && shows(user("x"), result(NEEDLE));
    },
    contentWithCall: () => contentWith(false),
    contentWithThoughtAndCall: () => contentWith(true),
  };
  // Also in a turn that is over: some templates leave out more of those.
  const contentWith = (thought: boolean) =>
    withCall([user("x")], { content: say(NEEDLE) }, [], thought) &&
    withCall([user("x")], { content: say(NEEDLE) }, [assistant("z"), user("x")], thought);
  return lazily(tries);
}

/** Values that are made when they are asked for, and then kept. */
export function lazily<T extends object>(makers: { readonly [K in keyof T]: () => T[K] }): T {
  const made = {} as T;
  for (const key of Object.keys(makers) as (keyof T)[]) {
    let value: { readonly is: T[keyof T] } | undefined;
    Object.defineProperty(made, key, {
      enumerable: true,
      get: () => (value ??= { is: makers[key]() }).is,
    });
  }
  return made;
}
