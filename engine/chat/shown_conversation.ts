/**
 * A conversation as a template writes it, with every text in it: as it came, where the template can show that; else in
 * orders and forms that ask less of the template.
 *
 * @module
 */
import { type Budget, TemplateLimitError } from "./jinja/budget.ts";
import type { Marks } from "./jinja/marks.ts";
import { lostTexts, type SaidText, saidTexts } from "./lost_texts.ts";
import { type OrderAbilities, STRICT_ORDER } from "./order_abilities.ts";
import type { RenderMessage } from "./render_job.ts";
import type { Abilities } from "./template_abilities.ts";

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
