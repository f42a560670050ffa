import { M40Error } from "../errors.ts";
import { JsonNumber, orderedObject } from "../json/mod.ts";
import type { Tokenizer } from "../tokenizer/mod.ts";
import { callArguments } from "./call_arguments.ts";
import type { ChatMessage, ChatRequest, ToolCall } from "./conversation.ts";
import type { RenderCall, RenderMessage } from "./render_job.ts";

/** Characters of private use, one of which marks texts. */
const FIRST_MARK = 0xe000;
const LAST_MARK = 0xf8ff;

/** The first two characters of private use that stand in no text, found in one pass; fewer where there are fewer. */
function unused(...texts: readonly string[]): string[] {
  const used = new Uint8Array(LAST_MARK + 1 - FIRST_MARK);
  for (const text of texts) {
    for (let at = 0; at < text.length; at++) {
      const place = text.charCodeAt(at) - FIRST_MARK;
      if (place >= 0 && place < used.length) used[place] = 1;
    }
  }
  const first = used.indexOf(0);
  const second = first < 0 ? -1 : used.indexOf(0, first + 1);
  return [first, second].filter((place) => place >= 0)
    .map((place) => String.fromCharCode(FIRST_MARK + place));
}

/** A pattern for the characters that the texts of a vocabulary's control tokens begin with. */
export function tokenStarts(tokenizer: Tokenizer): RegExp {
  const characters = new Set<string>();
  for (let token = 0; token < tokenizer.vocabSize; token++) {
    if (!tokenizer.isControl(token)) continue;
    const [first] = tokenizer.tokenText(token);
    if (first !== undefined) characters.add(first);
  }
  const codes = [...characters].map((one) => `\\u{${one.codePointAt(0)!.toString(16)}}`);
  return new RegExp(`[${codes.join("")}]`, "gu");
}

/**
 * Marks the texts of a request, so that none of them can become a control token. This holds for a text by itself,
 * together with its neighbours, and where a template leaves out a part of it.
 */
export class Protection {
  /** The character that marks. It stands nowhere in the request. */
  readonly mark: string;
  /** Another one that stands nowhere. */
  readonly endMark: string;
  /** Characters of what the request brings, as JSON. */
  readonly size: number;

  /**
   * @param tokenStarts The tokens of one, per {@link tokenStarts}.
   * @param template What is rendered with the request; its marks stand nowhere in it either.
   */
  constructor(
    private readonly tokenizer: Tokenizer,
    private readonly tokenStarts: RegExp,
    request: ChatRequest,
    template: string,
  ) {
    const { messages, templateVariables = {}, reasoningEffort = "", tools = [] } = request;
    const texts = reasoningEffort + JSON.stringify([messages, templateVariables, tools]);
    this.size = texts.length;
    let free = [String.fromCharCode(FIRST_MARK), String.fromCharCode(FIRST_MARK + 1)];
    for (const one of free) {
      if (!texts.includes(one) && !template.includes(one)) continue;
      free = unused(texts, template);
      break;
    }
    if (free.length < 2) {
      throw new M40Error(
        "invalid_request",
        "messages have all characters of private use (U+E000 to U+F8FF) in them; leave some out",
        "messages",
      );
    }
    [this.mark, this.endMark] = free;
  }

  /** A message with its texts marked. Its role is one of a few words, which templates put together. */
  message(message: ChatMessage): RenderMessage {
    const { role, content, name, reasoning, toolCalls, toolCallId, at } = message;
    return {
      role,
      at,
      content: content === null || typeof content === "string"
        ? content && this.text(content)
        : content.map(({ type, text }) => ({ type, text: this.text(text) })),
      ...(name === undefined ? {} : { name: this.text(name) }),
      ...(reasoning === undefined ? {} : { reasoning: this.text(reasoning) }),
      ...(toolCalls === undefined ? {} : { toolCalls: toolCalls.map((call) => this.call(call)) }),
      ...(toolCallId === undefined ? {} : { toolCallId: this.text(toolCallId) }),
    };
  }

  private call({ id, name, arguments: text }: ToolCall): RenderCall {
    const { value, readable } = callArguments(text);
    return {
      id: this.text(id),
      name: this.text(name),
      arguments: this.text(text),
      value: this.value(value),
      readable,
    };
  }

  /**
   * A text with a mark at each end, and behind each character that a control token may begin with. An
   * empty one stays empty: it has to be false.
   */
  text(text: string): string {
    if (text === "") return text;
    const { mark } = this;
    return mark + text.toWellFormed().replace(this.tokenStarts, (one) => one + mark) + mark;
  }

  /** A value of JSON with its texts marked. */
  value(value: unknown): unknown {
    if (typeof value === "string") return this.text(value);
    if (Array.isArray(value)) return value.map((item) => this.value(item));
    if (typeof value !== "object" || value === null || value instanceof JsonNumber) return value;
    return orderedObject(
      Object.entries(value).map(([key, item]): [string, unknown] => [
        this.key(key.toWellFormed()),
        this.value(item),
      ]),
    );
  }

  /** The name of an entry. Templates look entries up by it, so it has no marks without need. */
  private key(key: string): string {
    // What a template writes behind a name may complete a token that the name begins, unless it begins as a word does.
    const begins = key.match(this.tokenStarts)?.some((one) => /\W/.test(one)) ?? false;
    return begins ? this.text(key) : this.tokenizer.protect(key, this.mark);
  }
}
