import { M40Error } from "../errors.ts";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import type { ChatMessage, ChatPrompt, ChatRequest } from "./conversation.ts";
import { REASONING_TAGS, TaggedReasoning } from "./tagged_reasoning.ts";
import { TemplateRenderer } from "./template_renderer.ts";

/** The templates of a model. */
export interface ChatTemplates {
  /** What a conversation is rendered with where the request names no other. */
  readonly template: string;
  /** "model", the name of a built-in template, or "file". */
  readonly source: string;
  /** Others, by name. */
  readonly named: ReadonlyMap<string, string>;
}

/** How conversations become prompts. */
export class ChatFormat {
  readonly template: string;
  readonly source: string;
  private readonly named: ReadonlyMap<string, string>;
  private readonly renderer = new TemplateRenderer();

  constructor(private readonly tokenizer: Tokenizer, templates: ChatTemplates) {
    this.template = templates.template;
    this.source = templates.source;
    this.named = templates.named;
  }

  /** The names of the templates that a request may ask for. */
  get templateNames(): string[] {
    return [...this.named.keys()];
  }

  /**
   * A conversation as the model reads it.
   *
   * @throws {M40Error} "invalid_request" for a conversation that the template refuses or that takes too
   * much, "cancelled".
   */
  async prompt(request: ChatRequest, signal?: AbortSignal): Promise<ChatPrompt> {
    const { messages, continueFinal = false } = request;
    if (messages.length === 0) {
      throw new M40Error("invalid_request", "messages is empty; wanted at least one", "messages");
    }
    if (continueFinal && messages.at(-1)?.role !== "assistant") {
      throw new M40Error(
        "invalid_request",
        `the last message is of the role "${
          messages.at(-1)?.role
        }"; only an assistant's can be continued`,
        "messages",
      );
    }
    const text = await this.renderer.render({
      template: this.templateFor(request.templateName),
      messages,
      continueFinal,
      variables: this.variables(request),
    }, signal);
    const tokens = this.encode(text);
    return {
      text,
      tokens,
      format: this.formatAfter(text, continueFinal ? messages.at(-1) : undefined),
    };
  }

  /** Ends the thread that renders. */
  async close(): Promise<void> {
    await this.renderer.close();
  }

  private templateFor(name?: string): string {
    if (name === undefined) return this.template;
    const template = this.named.get(name);
    if (template !== undefined) return template;
    throw new M40Error(
      "invalid_request",
      `the model has no chat template "${name}"; it has ${
        this.templateNames.join(", ") || "only the default one"
      }`,
      "template",
    );
  }

  private variables({ templateVariables, reasoningEffort }: ChatRequest): Record<string, unknown> {
    const { bos, eos } = this.tokenizer;
    return {
      bos_token: bos === undefined ? "" : this.tokenizer.tokenText(bos),
      eos_token: eos === undefined ? "" : this.tokenizer.tokenText(eos),
      ...(reasoningEffort === undefined ? {} : { reasoning_effort: reasoningEffort }),
      ...templateVariables,
    };
  }

  /** The prompt's tokens; BOS comes once, whether the template writes it or not. */
  private encode(text: string): number[] {
    const { bos, addBos } = this.tokenizer;
    const tokens = this.tokenizer.encode(text, { addSpecial: false, parseSpecial: true });
    if (addBos && tokens[0] !== bos) tokens.unshift(bos!);
    return tokens;
  }

  private formatAfter(text: string, unfinished?: ChatMessage): TaggedReasoning {
    const end = text.trimEnd();
    const said = typeof unfinished?.content === "string" ? unfinished.content.trimStart() : "";
    const opened = REASONING_TAGS.find(({ open, close }) =>
      end.endsWith(open) || said.startsWith(open) && !said.includes(close)
    );
    return new TaggedReasoning(this.tokenizer, opened);
  }
}
