/**
 * A conversation as a template writes it, with every text in it: as it came, where the template can show that; else in
 * orders and forms that ask less of the template. A model that has not read a message answers as if it had not been sent,
 * and the user does not see why.
 *
 * @module
 */
import { type Budget, TemplateLimitError } from "./jinja/budget.ts";
import { isSpace, type Marks } from "./jinja/marks.ts";
import { firstPlace } from "./jinja/text_search.ts";
import { type OrderAbilities, STRICT_ORDER } from "./order_abilities.ts";
import type { RenderMessage } from "./render_job.ts";
import type { Abilities } from "./template_abilities.ts";
import { REASONING_TAGS } from "./tagged_reasoning.ts";

/** A text of a conversation. */
interface SaidText {
  /** Of which message it is, from 0 on. */
  readonly message: number;
  /** Marked, and without what templates take away at its ends. */
  readonly text: string;
}

/** How often what is left of a prompt is searched from its start. */
const MOST_PASSES = 3;
/** Of what a pass searches, how many times as much as it has it may look at. */
const PASS_WORK = 8;
/** Characters behind what was found last in which the next text is looked for first: most stand there. */
const NEAR = 4096;
/** Characters by which a text is looked for where each comparison counts. */
const START = 16;

/** The first of the characters that stand for texts in a second look; they are of private use. */
const FIRST_STAND_IN = 0xf0000;
const STAND_INS = 0x1fffd;

/** Characters of a text that is left out which the error shows. */
const SHOWN_CHARACTERS = 60;

/** What a template leaves out, however it is asked. */
export class LostTextError extends Error {
  /** @param param Where the message stands in the request, where that is known. */
  constructor(place: string, text: string, readonly param?: string) {
    super(`${place} (${JSON.stringify(text)})`);
  }
}

/** One way to ask a template. */
export interface Way {
  readonly abilities: Abilities;
  /** Whether calls and their results are texts of messages. */
  readonly callsAsText: boolean;
}

/**
 * What the first way gives that loses no text.
 *
 * @param write Writes messages in a way; throws where the template does.
 * @param budget What the searches for texts count in, where counts bound them.
 * @throws {LostTextError} Where each way loses some.
 * @throws {Error} What the template says of the first way, where it refuses all.
 */
export function shownConversation(
  messages: readonly RenderMessage[],
  abilities: Abilities,
  usesTools: boolean,
  marks: Marks,
  write: (messages: readonly RenderMessage[], way: Way) => string,
  budget?: Budget,
): string {
  // Of a template that shows nothing of a conversation nothing is expected.
  const said = abilities.known ? saidTexts(messages, marks) : [];
  let refusal: unknown;
  let lost: SaidText | undefined;
  for (const way of waysOf(abilities, usesTools)) {
    try {
      const text = write(messages, way);
      const missing = lostTexts(said, text, budget);
      if (missing.length === 0) return text;
      const [first] = reallyLost(missing, messages, marks, (others) => write(others, way));
      if (first === undefined) return text;
      lost ??= first;
    } catch (error) {
      if (error instanceof TemplateLimitError || error instanceof RangeError) throw error;
      refusal ??= error;
    }
  }
  if (lost === undefined) throw refusal;
  throw lostError(lost, messages, marks);
}

function* waysOf(abilities: Abilities, usesTools: boolean): Generator<Way> {
  yield { abilities, callsAsText: false };
  const systemFirst = { ...STRICT_ORDER, systemFirst: true, systemBeforeResult: true };
  if (abilities.order.systemFirst) {
    yield { abilities: strict(abilities, systemFirst), callsAsText: false };
  }
  yield { abilities: strict(abilities, STRICT_ORDER), callsAsText: false };
  if (usesTools) yield { abilities: strict(abilities, STRICT_ORDER), callsAsText: true };
}

/** Abilities of a template of which the least is asked: one text a message, in a strict order. */
function strict(abilities: Abilities, order: OrderAbilities): Abilities {
  const { known, strings, noTools, efforts } = abilities;
  return {
    known,
    noTools,
    strings,
    parts: (role, several) => !strings && !several && abilities.parts(role, false),
    developer: false,
    order,
    tools: { ...abilities.tools, severalCalls: false },
    efforts,
  };
}

/**
 * Of texts that are not found, those that the template leaves out, and does not only write in another way: cut, turned
 * round, in other letters. A character that is put into each is not found either.
 */
function reallyLost(
  lost: readonly SaidText[],
  messages: readonly RenderMessage[],
  marks: Marks,
  write: (messages: readonly RenderMessage[]) => string,
): SaidText[] {
  const standIns = new Map(lost.map((one, index) => [
    one,
    String.fromCodePoint(FIRST_STAND_IN + index % STAND_INS),
  ]));
  const byMessage = Map.groupBy(lost, ({ message }) => message);
  const replaced = messages.map((message, index) => {
    const texts = byMessage.get(index);
    return texts === undefined ? message : withStandIns(message, texts, standIns, marks);
  });
  const shown = write(replaced);
  const characters = new Set(shown);
  return lost.filter((one) => {
    const [character] = standIns.get(one)!;
    return !characters.has(character) && !shown.includes(escaped(character));
  });
}

/** A character as JSON in ASCII has it. */
function escaped(character: string): string {
  return Array.from(
    { length: character.length },
    (_, i) => `\\u${character.charCodeAt(i).toString(16)}`,
  ).join("");
}

function withStandIns(
  message: RenderMessage,
  lost: readonly SaidText[],
  standIns: ReadonlyMap<SaidText, string>,
  { mark }: Marks,
): RenderMessage {
  const replace = (text: string): string => {
    const one = lost.find((lost) => text.includes(lost.text));
    if (one === undefined) return text;
    const at = text.indexOf(one.text);
    return text.slice(0, at) + withCharacter(one.text, mark + standIns.get(one)! + mark) +
      text.slice(at + one.text.length);
  };
  const { content, toolCalls } = message;
  return {
    ...message,
    content: content === null || typeof content === "string"
      ? content && replace(content)
      : content.map(({ type, text }) => ({ type, text: replace(text) })),
    ...(toolCalls === undefined ? {} : {
      toolCalls: toolCalls.map((call) => ({ ...call, name: replace(call.name) })),
    }),
  };
}

/** A text with something behind its first character, in its middle and at its end. */
function withCharacter(text: string, more: string): string {
  const [first = ""] = text;
  let middle = Math.max(text.length >> 1, first.length);
  if (/[\udc00-\udfff]/.test(text[middle] ?? "")) middle--;
  return first + more + text.slice(first.length, middle) + more + text.slice(middle) + more;
}

function lostError(
  { message, text }: SaidText,
  messages: readonly RenderMessage[],
  marks: Marks,
): LostTextError {
  const plain = marks.plain(text);
  const start = plain.length > SHOWN_CHARACTERS ? `${plain.slice(0, SHOWN_CHARACTERS)}…` : plain;
  const { role, at } = messages[message];
  return new LostTextError(
    `${at === undefined ? "" : `${at}, `}message ${
      message + 1
    } of ${messages.length}, of the role ${role}`,
    start.toWellFormed(),
    at,
  );
}

/**
 * The texts that have to be in a prompt: what is said, and the names of what is called. Reasoning need not be: most
 * templates leave out that of earlier turns, whether it is separate or part of the content.
 */
function saidTexts(messages: readonly RenderMessage[], marks: Marks): SaidText[] {
  const said: SaidText[] = [];
  for (const [message, { role, content, toolCalls = [] }] of messages.entries()) {
    let texts: readonly string[] = typeof content === "string"
      ? [content]
      : (content ?? []).map(({ text }) => text);
    if (role === "assistant") texts = withoutReasoning(texts, marks);
    if (toolCalls.length > 0) texts = texts.concat(toolCalls.map(({ name }) => name));
    for (const one of texts) {
      const text = inner(one, marks);
      if (text !== "") said.push({ message, text });
    }
  }
  return said;
}

/**
 * The texts that are missing from a prompt, each found at its own position. It takes time in proportion to the prompt's
 * length: what is searched for too long counts as left out, so that a second look is needed.
 *
 * @param budget What the search counts in, where counts bound it.
 */
function lostTexts(texts: readonly SaidText[], prompt: string, budget?: Budget): SaidText[] {
  let lost = texts;
  let rest = prompt;
  for (let pass = 0; pass < MOST_PASSES && lost.length > 0; pass++) {
    const search = new Search(rest, budget);
    const left: SaidText[] = [];
    for (const one of lost) if (!search.finds(one.text)) left.push(one);
    lost = left;
    if (left.length === 0) break;
    // Nothing is found across what has been found.
    rest = search.left();
  }
  return [...lost];
}

/** Looks for texts in a prompt, each behind the one before. */
class Search {
  private readonly passed: string[] = [];
  private from = 0;
  /** Characters that it may look at beyond those near by. */
  private work: number;

  constructor(private readonly prompt: string, private readonly budget?: Budget) {
    this.work = PASS_WORK * prompt.length;
  }

  finds(text: string): boolean {
    if (this.takes(text, NEAR)) return true;
    // Some templates write texts as JSON.
    const json = JSON.stringify(text).slice(1, -1);
    if (json !== text && this.takes(json, NEAR)) return true;
    return this.takesFar(text) || (json !== text && this.takesFar(json));
  }

  private takesFar(text: string): boolean {
    if (this.work <= 0) return false;
    const { from } = this;
    const found = this.takes(text, Infinity);
    this.work -= (found ? this.from - text.length : this.prompt.length) - from;
    return found;
  }

  /** Takes a text out of the prompt, where it stands within so many characters. */
  private takes(text: string, within: number): boolean {
    const { from } = this;
    const at = this.place(this.prompt.slice(from, from + text.length + within), text);
    if (at < 0) return false;
    this.passed.push(this.prompt.slice(from, from + at));
    this.from = from + at + text.length;
    return true;
  }

  /** Where a text stands first; below 0 where it does not. */
  private place(prompt: string, text: string): number {
    const { budget } = this;
    if (budget === undefined) return firstPlace(budget, prompt, text);
    // A long text is looked for by its start, so that each comparison of all of it is counted.
    const start = text.slice(0, START);
    budget.search(prompt, start);
    for (let at = -1;;) {
      at = prompt.indexOf(start, at + 1);
      if (at < 0 || text.length <= START) return at;
      budget.scan(text.length);
      if (prompt.startsWith(text, at)) return at;
    }
  }

  /** What was not found to be one of the texts. */
  left(): string {
    return [...this.passed, this.prompt.slice(this.from)].join("\0");
  }
}

/** A text without white space and marks at its ends. */
function inner(text: string, marks: Marks): string {
  const { mark } = marks;
  // Most texts start and end with one mark, and no white space next to it.
  const end = text.length - 1;
  if (mark !== "" && end > 1 && text[0] === mark && text[end] === mark) {
    const [first, last] = [text[1], text[end - 1]];
    if (first !== mark && last !== mark && !isSpace(first) && !isSpace(last)) {
      return text.slice(1, end);
    }
  }
  const stripped = marks.strip(text, "both");
  if (mark === "") return stripped;
  return stripped.slice(
    stripped.startsWith(mark) ? mark.length : 0,
    stripped.endsWith(mark) ? -mark.length : undefined,
  );
}

/** What stands behind the reasoning in the parts of a content. */
function withoutReasoning(parts: readonly string[], marks: Marks): readonly string[] {
  const plain = parts.map((text) => plainOf(text, marks));
  for (const { close } of REASONING_TAGS) {
    const last = plain.findLastIndex((text) => text.includes(close));
    if (last < 0) continue;
    let end = 0;
    for (const [, behind] of marks.find(parts[last], close)) end = behind;
    return [parts[last].slice(end), ...parts.slice(last + 1)];
  }
  return parts;
}

/** A text without the marks in it. Most have one at each end alone, and are not copied. */
function plainOf(text: string, marks: Marks): string {
  const { mark } = marks;
  const second = mark === "" ? -1 : text.indexOf(mark, 1);
  return second < 0 || second === text.length - 1 ? text : marks.plain(text);
}
