import { type Role, ROLES } from "./conversation.ts";
import type { Abilities } from "./template_abilities.ts";
import { callFormatOf } from "./tools/call_format.ts";

/** What was found out about a template by trying, for people to read. */
export interface TemplateDescription {
  /** Whether it shows what a user says. */
  readonly shows_messages: boolean;
  /** The roles whose content may come in several parts; others get one text. */
  readonly parts: readonly Role[];
  readonly developer: boolean;
  /** What it takes of the order of messages; what it does not take is shown in another order. */
  readonly order: Readonly<Record<string, boolean>>;
  /** Whether it shows tools, and results. */
  readonly tools: boolean;
  readonly results: boolean;
  /** How it takes a call's arguments; null: it shows no calls. */
  readonly calls: "object" | "text" | null;
  readonly several_calls: boolean;
  /** The format in which it writes calls. */
  readonly call_format: string;
  /** The words for an effort that it distinguishes. */
  readonly efforts: readonly string[];
}

/** What a template can show, all of it tried. */
export function describeTemplate(
  abilities: Abilities,
  likely: readonly string[],
): TemplateDescription {
  const { known, order, tools, efforts, developer } = abilities;
  return {
    shows_messages: known,
    parts: ROLES.filter((role) =>
      (developer || role !== "developer") && abilities.parts(role, true)
    ),
    developer,
    order: Object.fromEntries(
      Object.entries(order)
        // Developers are as the system where the template knows none.
        .filter(([name]) => developer || !name.startsWith("developer"))
        .map(([name, takes]) => [snakeCase(name), takes]),
    ),
    tools: tools.tools,
    results: tools.results,
    calls: tools.calls ?? null,
    several_calls: tools.severalCalls,
    call_format: callFormatOf(tools, likely).name,
    efforts: efforts.words,
  };
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
