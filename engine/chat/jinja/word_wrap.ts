import { TemplateError, valueError } from "./errors.ts";
import type { Rendering } from "./rendering.ts";

const WORD = "[\\p{L}\\p{N}_]";
const PUNCTUATION = "[\\p{L}\\p{N}_!\"'&.,?]";
const LETTER = "(?:(?!\\p{Nd})[\\p{L}\\p{N}_])";
const SPACE = "[\\t\\n\\v\\f\\r ]";
const NO_SPACE = "[^\\t\\n\\v\\f\\r ]";

/** Where a line may be broken, as Python's `textwrap` has it. */
const CHUNK = new RegExp(
  `(${SPACE}+|(?<=${PUNCTUATION})-{2,}(?=${WORD})|${NO_SPACE}+?(?:` +
    `-(?:(?<=${LETTER}{2}-)|(?<=${LETTER}-${LETTER}-))(?=${LETTER}-?${LETTER})|` +
    `(?=${SPACE}|$)|(?<=${PUNCTUATION})(?=-{2,}${WORD})))`,
  "u",
);
const SIMPLE_CHUNK = new RegExp(`(${SPACE}+)`);

/** How lines are wrapped. */
export interface Wrapping {
  readonly width: number;
  readonly breakLongWords: boolean;
  readonly breakOnHyphens: boolean;
}

/** A line as several, as Python's `textwrap.wrap` breaks it. */
export function wrapLine(rendering: Rendering, line: string, wrapping: Wrapping): string[] {
  const { width, breakOnHyphens } = wrapping;
  if (width <= 0) throw valueError(`got a width of ${width}; wanted at least 1`);
  const { marks, budget } = rendering;
  if (marks.has(line)) {
    throw new TemplateError("other", "wordwrap breaks no texts of a request");
  }
  const chunks = line.split(breakOnHyphens ? CHUNK : SIMPLE_CHUNK).filter(Boolean).reverse();
  budget.list(chunks.length);
  const isBlank = (chunk: string) => chunk.trim() === "";
  const lines: string[] = [];
  while (chunks.length > 0) {
    budget.step();
    const current: string[] = [];
    let length = 0;
    if (lines.length > 0 && isBlank(chunks.at(-1)!)) chunks.pop();
    while (chunks.length > 0) {
      const size = marks.length(chunks.at(-1)!);
      if (length + size > width) break;
      current.push(chunks.pop()!);
      length += size;
    }
    const next = chunks.at(-1);
    if (next !== undefined && marks.length(next) > width) {
      handleLongWord(chunks, current, width - length, wrapping);
    }
    if (current.length > 0 && isBlank(current.at(-1)!)) current.pop();
    if (current.length > 0) lines.push(current.join(""));
  }
  return lines;
}

/** Where a line is full, Python puts an empty piece of the word behind it. */
function handleLongWord(
  chunks: string[],
  current: string[],
  space: number,
  { breakLongWords, breakOnHyphens }: Wrapping,
): void {
  if (breakLongWords) {
    const characters = Array.from(chunks.pop()!);
    let end = space;
    if (breakOnHyphens && space > 0 && characters.length > space) {
      const hyphen = characters.lastIndexOf("-", space - 1);
      if (hyphen > 0 && characters.slice(0, hyphen).some((one) => one !== "-")) end = hyphen + 1;
    }
    current.push(characters.slice(0, end).join(""));
    chunks.push(characters.slice(end).join(""));
  } else if (current.length === 0) current.push(chunks.pop()!);
}
