import type { Reading, Step, TextScanner } from "./text_scanner.ts";

/** Characters that values of JSON other than texts, lists and objects are made of. */
const SCALAR = /[-+.\w]/;

/** Reads one value of JSON, white space before it left out, and gives it in pieces; false where it is not whole. */
export function* readJson(input: TextScanner, take: (text: string) => void): Reading<boolean> {
  yield* input.space();
  const first = yield* input.peek();
  if (first === '"') return yield* input.run(textStep(), take);
  if (first === "{" || first === "[") return yield* input.run(nestedStep(), take);
  let some = false;
  yield* input.run((character) => SCALAR.test(character) ? (some = true, "more") : "behind", take);
  return some;
}

/** Reads a text of JSON; undefined where none comes. */
export function* readJsonText(input: TextScanner): Reading<string | undefined> {
  yield* input.space();
  if ((yield* input.peek()) !== '"') return undefined;
  let json = "";
  yield* input.run(textStep(), (text) => json += text);
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** A text as it stands within a text of JSON. */
export function escapeJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function textStep(): (character: string) => Step {
  let started = false;
  let escaped = false;
  return (character) => {
    if (escaped) escaped = false;
    else if (character === "\\") escaped = true;
    else if (character === '"') {
      if (started) return "last";
      started = true;
    }
    return "more";
  };
}

function nestedStep(): (character: string) => Step {
  let depth = 0;
  let text: ((character: string) => Step) | undefined;
  return (character) => {
    if (text !== undefined) {
      if (text(character) === "last") text = undefined;
      return "more";
    }
    if (character === '"') (text = textStep())(character);
    else if (character === "{" || character === "[") depth++;
    else if (character === "}" || character === "]") depth--;
    return depth === 0 ? "last" : "more";
  };
}
