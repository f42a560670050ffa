import type { Rendering } from "./rendering.ts";
import { isString, Markup, textOf, type Value } from "./values.ts";
import { display } from "./write.ts";

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&#34;",
  "'": "&#39;",
};

/** A text with what has a meaning in HTML escaped. */
export function escapeText(rendering: Rendering, text: string): string {
  rendering.budget.scan(text.length);
  if (!/[&<>"']/.test(text)) return text;
  rendering.budget.allow(5 * text.length);
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character]);
}

/** A value as a text that is safe as HTML; one that is already stays as it is. */
export function escapeValue(rendering: Rendering, value: Value): Markup {
  if (value instanceof Markup) return value;
  return new Markup(rendering.string(escapeText(rendering, display(rendering, value))));
}

/** A text without tags and comments, white space as single spaces, entities as their characters. */
export function stripTags(rendering: Rendering, text: string): string {
  let rest = text;
  for (const [open, close] of [["<!--", "-->"], ["<", ">"]]) {
    let kept = "";
    for (;;) {
      const start = rest.indexOf(open);
      const end = start < 0 ? -1 : rest.indexOf(close, start);
      if (end < 0) break;
      rendering.budget.step();
      kept += rest.slice(0, start);
      rest = rest.slice(end + close.length);
    }
    rest = kept + rest;
  }
  const { marks } = rendering;
  return marks.remark(unescapeText(marks.plain(rest).trim().split(/\s+/u).join(" ")));
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: "\u00a0",
};

/** A text with HTML's entities as their characters; of those with names, the common ones. */
export function unescapeText(text: string): string {
  return text.replace(
    /&(?:#(\d{1,7});|#[xX]([\da-fA-F]{1,6});|(\w{2,4});)/g,
    (whole, d, x, name) => {
      if (name !== undefined) return Object.hasOwn(ENTITIES, name) ? ENTITIES[name] : whole;
      const code = d === undefined ? parseInt(x, 16) : Number(d);
      return code === 0 || code > 0x10ffff ? "\ufffd" : String.fromCodePoint(code);
    },
  );
}

/** Any value's text for a filter: a string as it is, safe as HTML where it was, others as Python writes them. */
export function softString(rendering: Rendering, value: Value): string | Markup {
  return isString(value) ? value : rendering.string(display(rendering, value));
}

/** A value as Python's `str` writes it, no longer safe as HTML. */
export function plainString(rendering: Rendering, value: Value): string {
  return isString(value) ? textOf(value) : rendering.string(display(rendering, value));
}
