import type { Tool, ToolCall } from "../../engine/mod.ts";
import { EndSignals, style, visible, writeError } from "../terminal/mod.ts";
import type { McpTools } from "../../mcp/mod.ts";
import type { CalledTool } from "./called_tools.ts";
import { ToolConsent } from "./tool_consent.ts";

/** Characters of a result that a model is given, at most. */
const MOST_RESULT = 32_768;
/** Characters of a result's first line that are shown. */
const MOST_SHOWN = 120;

/** The tools of a conversation: offered to the model, and called where the user allows it. */
export class ConversationTools {
  readonly consent = new ToolConsent();
  private readonly mostResult: number;

  /**
   * @param mcp The servers' tools.
   * @param rounds Answers that may call tools before one must do without.
   * @param contextTokens The model's context, of which one result must leave most.
   */
  constructor(
    readonly mcp: McpTools,
    readonly rounds: number,
    contextTokens: number,
  ) {
    // A token has some four characters: a quarter of the context.
    this.mostResult = Math.min(MOST_RESULT, contextTokens);
  }

  /** What the model gets as their results. */
  get offered(): readonly Tool[] {
    return this.mcp.tools.map(({ name, description, parameters }) => ({
      name,
      parameters,
      ...(description === undefined ? {} : { description }),
    }));
  }

  /**
   * Makes the calls of an answer, one after the other, and shows each. Ctrl-C stops one and those after it.
   *
   * @returns What the model gets as the result of each, and whether the user stopped them.
   */
  async carryOut(
    calls: readonly ToolCall[],
  ): Promise<{ called: CalledTool[]; stopped: boolean }> {
    const called: CalledTool[] = [];
    let stopped = false;
    for (const call of calls) {
      const result: string = stopped ? STOPPED : await this.carryOutOne(call);
      stopped ||= result === STOPPED;
      called.push({ call, result });
    }
    return { called, stopped };
  }

  private async carryOutOne({ name, arguments: args }: ToolCall): Promise<string> {
    await writeError(`${style(Deno.stderr, "cyan", visible(name))} ${visible(args)}\n`);
    const refusal = await this.refusal(name);
    if (refusal !== undefined) {
      if (refusal !== STOPPED) await this.show(refusal);
      return refusal;
    }
    using interrupt = new EndSignals("SIGINT");
    try {
      const { text, failed } = await this.mcp.call(name, args, interrupt.signal, this.mostResult);
      await this.show(text, failed);
      // Without an explanation, a model takes words of failure for the result.
      return failed ? `Error: ${text}` : text;
    } catch (error) {
      if (!interrupt.signal.aborted) throw error;
      return STOPPED;
    }
  }

  /** Why a tool is not called; undefined where it may be. */
  private async refusal(name: string): Promise<string | undefined> {
    if (!this.mcp.tools.some((tool) => tool.name === name)) {
      return `There is no tool ${JSON.stringify(name.slice(0, 100))}.`;
    }
    if (this.mcp.allowed(name)) return undefined;
    if (!this.consent.possible) {
      return "The user has not allowed this tool (--mcp-allow), and there is no terminal to ask on: it was not called.";
    }
    const consent = await this.consent.ask(name);
    if (consent === "stopped") return STOPPED;
    return consent === "no" ? "The user did not allow this call: it was not made." : undefined;
  }

  private async show(result: string, failed = false): Promise<void> {
    const [first] = result.split("\n", 1);
    const line = first.length > MOST_SHOWN ? first.slice(0, MOST_SHOWN) + "…" : first;
    const more = result.length > first.length ? ` (${result.length} characters)` : "";
    const text = visible(`${line}${more}`);
    await writeError(
      failed ? `${style(Deno.stderr, "red", text)}\n` : `${style(Deno.stderr, "dim", text)}\n`,
    );
  }
}

const STOPPED = "The user stopped this call before it had a result.";
