import { M40Error, PromptTooLong } from "../errors.ts";
import type { EncodeOptions, Tokenizer } from "../tokenizer/mod.ts";
import { checkRequest, withoutCutCalls } from "./check_request.ts";
import { type ChatMessage, type ChatRequest, isSystem } from "./conversation.ts";
import { HarmonyReasoning } from "./harmony_reasoning.ts";
import { Protection, tokenStarts } from "./protection.ts";
import type { OutputFormat } from "./reasoning.ts";
import type { Rendered, RenderMessage } from "./render_job.ts";
import { startAfter, TaggedReasoning } from "./tagged_reasoning.ts";
import type { TemplateDescription } from "./template_description.ts";
import type { TemplateFile } from "./template_file.ts";
import { TemplateRenderer } from "./template_renderer.ts";
import { likelyFormats, TOOL_FORMATS } from "./tools/formats.ts";
import { GENERIC } from "./tools/hermes.ts";
import { type ShownTool, shownTool } from "./tools/shown_tool.ts";
import type { ToolUse } from "./tools/tool_format.ts";
import { othersTurn, Turns } from "../turns.ts";

/** The templates of a model. */
export interface ChatTemplates {
  /** What a conversation is rendered with where the request names no other. */
  readonly template: string;
  /** "model", the name of a built-in template, or "file". */
  readonly source: string;
  /** The file that the template is from, where it is one that may be edited. */
  readonly file?: TemplateFile;
  /** Others, by name. */
  readonly named: ReadonlyMap<string, string>;
  /** The special tokens that templates can name: `bos_token` and the like. */
  readonly specialTokens: Readonly<Record<string, string>>;
}

/** What every conversation begins with. */
export interface DefaultStart {
  /** The system message of conversations without one. */
  readonly system?: string;
  /** What stands behind it. */
  readonly messages?: readonly ChatMessage[];
}

/** A conversation as the model reads it. */
export interface ChatPrompt {
  readonly text: string;
  /** Its tokens, BOS included. */
  readonly tokens: readonly number[];
  /** How the model's answer separates reasoning from content. */
  readonly format: OutputFormat;
  /** What was found out about the template, where that was asked for. */
  readonly abilities?: TemplateDescription;
  /** The tools that it may call; absent: none. */
  readonly tools?: ToolUse;
}

/** A conversation of at least that many messages is checked in an event loop turn of its own. */
const MANY_MESSAGES = 256;

/** How conversations become prompts. */
export class ChatFormat {
  readonly source: string;
  /** Encodes prompts, which may be long; absent: the tokenizer does. */
  encodeText?: (
    text: string,
    options: EncodeOptions,
    signal?: AbortSignal,
  ) => Promise<ArrayLike<number>>;
  private readonly renderer = new TemplateRenderer();
  private readonly likely = new Map<string, readonly string[]>();
  /** Found when the first prompt is made: it takes a look at every token. */
  private tokenStarts?: RegExp;
  /** Puts what every conversation begins with in front of one; absent: there is none. */
  private readonly withStart?: (given: readonly ChatMessage[]) => readonly ChatMessage[];

  /** @param contextTokens Tokens that a prompt may have at most. */
  constructor(
    private readonly tokenizer: Tokenizer,
    private readonly templates: ChatTemplates,
    private readonly contextTokens = Infinity,
    defaultStart: DefaultStart = {},
  ) {
    this.withStart = startOf(defaultStart);
    this.source = templates.source;
  }

  /** What a conversation is rendered with where the request names no other. */
  get template(): string {
    return this.templates.file?.last ?? this.templates.template;
  }

  /** The names of the templates that a request may ask for. */
  get templateNames(): string[] {
    return [...this.templates.named.keys()];
  }

  /**
   * A conversation as the model reads it. Nothing that the request brings becomes a control token.
   *
   * @param describe Whether the prompt says as well what was found out about the template.
   * @throws {M40Error} "invalid_request" for a conversation that the template refuses or fails on, or
   * that takes more than a rendering may; "context_length_exceeded" for one that is far too long,
   * "cancelled" by the signal or by the engine's end.
   */
  async prompt(request: ChatRequest, signal?: AbortSignal, describe = false): Promise<ChatPrompt> {
    // Long conversations are gone through several times: others have their turn in between.
    if (request.messages.length >= MANY_MESSAGES) await othersTurn();
    const turns = new Turns();
    request = { ...request, messages: await withoutCutCalls(request.messages, turns) };
    await checkRequest(request, turns);
    if (this.withStart) request = { ...request, messages: this.withStart(request.messages) };
    const { messages, continueFinal = false, reasoningEffort, templateVariables } = request;
    const template = await this.templateFor(request);
    this.tokenStarts ??= tokenStarts(this.tokenizer);
    const toolFormats = this.likely.getOrInsertComputed(
      template,
      () => likelyFormats(template, this.tokenizer).map(({ name }) => name),
    );
    const protection = new Protection(this.tokenizer, this.tokenStarts, request, template);
    const { mark, endMark, size } = protection;
    const shown: RenderMessage[] = [];
    for (const message of messages) {
      await turns.next();
      shown.push(protection.message(message));
    }
    const tools: ShownTool[] = [];
    for (const tool of request.toolChoice === "none" ? [] : request.tools ?? []) {
      await turns.next();
      tools.push(protection.value(shownTool(tool)) as ShownTool);
    }
    await turns.next();
    const rendered = await this.renderer.render({
      template,
      messages: shown,
      tools: tools.length === 0 ? undefined : tools,
      toolFormats,
      continueFinal,
      specialTokens: this.templates.specialTokens,
      effort: reasoningEffort === undefined
        ? undefined
        : { word: reasoningEffort, marked: protection.text(reasoningEffort) },
      variables: templateVariables === undefined
        ? {}
        : protection.value(templateVariables) as Record<string, unknown>,
      mark,
      endMark,
      size,
      describe,
    }, signal);
    const { text: marked, abilities } = rendered;
    const text = marked.replaceAll(mark, "");
    const tokens = await this.encode(text, marked, mark, signal);
    const unfinished = continueFinal ? messages.at(-1) : undefined;
    return {
      text,
      tokens,
      format: formatOf(this.tokenizer, { template, text, tokens, unfinished }),
      tools: rendered.toolFormat === undefined ? undefined : toolUse(request, rendered),
      ...(abilities === undefined ? {} : { abilities }),
    };
  }

  /** Ends the thread that renders. */
  async close(): Promise<void> {
    await this.renderer.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The template of a request: that which it names; for tools the one that the file has for them; the default one. */
  private async templateFor(
    { templateName: name, tools = [], toolChoice }: ChatRequest,
  ): Promise<string> {
    if (name === undefined) {
      const forTools = this.source === "model" && tools.length > 0 && toolChoice !== "none"
        ? this.templates.named.get("tool_use")
        : undefined;
      return forTools ?? await this.templates.file?.current() ?? this.templates.template;
    }
    const template = this.templates.named.get(name);
    if (template !== undefined) return template;
    throw new M40Error(
      "invalid_request",
      `the model has no chat template "${name}"; it has ${
        this.templateNames.join(", ") || "only the default one"
      }`,
      "chat_template",
    );
  }

  /**
   * The prompt's tokens; BOS comes once, whether the template writes it or not.
   *
   * @throws {PromptTooLong} for a text that has surely more than the context.
   */
  private async encode(
    text: string,
    marked: string,
    mark: string,
    signal?: AbortSignal,
  ): Promise<number[]> {
    const least = this.tokenizer.leastBeyond(text, this.contextTokens);
    if (least !== undefined) {
      throw new PromptTooLong(
        `the conversation has at least ${least} tokens; the context has ${this.contextTokens}, prompt and ` +
          "output together. Send fewer or shorter messages.",
        "messages",
        least,
        this.contextTokens,
      );
    }
    const { bos, addBos } = this.tokenizer;
    const options = { addSpecial: false, parseSpecial: true, mark };
    const tokens = this.encodeText === undefined
      ? this.tokenizer.encode(marked, options)
      : Array.from(await this.encodeText(marked, options, signal));
    if (addBos && tokens[0] !== bos) tokens.unshift(bos!);
    return tokens;
  }
}

/** What every conversation begins with, put in front of those that are given: system messages come first. */
function startOf(
  { system, messages: more = [] }: DefaultStart,
): ((given: readonly ChatMessage[]) => readonly ChatMessage[]) | undefined {
  if (system === undefined && more.length === 0) return undefined;
  return (given) => {
    const own: ChatMessage[] = system === undefined || given.some(isSystem)
      ? []
      : [{ role: "system", content: system }];
    if (more.length === 0) return [...own, ...given];
    const other = given.findIndex((message) => !isSystem(message));
    const at = other < 0 ? given.length : other;
    return [...own, ...given.slice(0, at), ...more, ...given.slice(at)];
  };
}

/**
 * How the output after a prompt separates reasoning from content.
 *
 * @param prompt It and what it was made with; `unfinished` is the message that it ends with, if that goes on.
 */
export function formatOf(
  tokenizer: Tokenizer,
  prompt: {
    readonly template: string;
    readonly text: string;
    readonly tokens: readonly number[];
    readonly unfinished?: ChatMessage;
  },
): OutputFormat {
  const harmony = prompt.template.includes("<|channel|>")
    ? HarmonyReasoning.of(tokenizer, prompt.tokens)
    : undefined;
  return harmony ??
    new TaggedReasoning(tokenizer, startAfter(prompt.text, prompt.unfinished));
}

/** What the answer may call, as the template has shown it. */
function toolUse(
  { tools = [], toolChoice = "auto", parallelToolCalls = true }: ChatRequest,
  { toolFormat, oneCall }: Rendered,
): ToolUse {
  return {
    format: TOOL_FORMATS.find(({ name }) => name === toolFormat) ?? GENERIC,
    tools,
    choice: toolChoice === "none" ? "auto" : toolChoice,
    // A request that names a format gets that one.
    parallel: parallelToolCalls && !oneCall && typeof toolChoice !== "object",
  };
}
