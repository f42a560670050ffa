import type {
  Engine,
  FinishReason,
  GenerateRequest,
  Generation,
  ToolCall,
  Usage,
} from "../../engine/mod.ts";
import { EndSignals, writeError } from "../terminal/mod.ts";
import { AnswerOutput } from "./answer_output.ts";
import { CallCollector } from "./called_tools.ts";
import type { Said } from "./conversation.ts";

/** How an answer ended. */
export interface Answer extends Said {
  /** Absent where it was stopped or failed. */
  readonly finishReason?: FinishReason;
  /** The tools that it calls. The last one's arguments are cut where the answer is. */
  readonly calls: readonly ToolCall[];
  /** How many tokens it has, up to where it ended. */
  readonly tokens: number;
  /** Whether Ctrl-C stopped it. */
  readonly interrupted: boolean;
  /** Why it failed. */
  readonly error?: unknown;
}

/** How an answer is shown. */
export interface Display {
  /** Whether reasoning is shown, where it is separate from the answer. */
  readonly showReasoning: boolean;
  /** Whether it is said how fast it was. */
  readonly verbose: boolean;
}

/**
 * Writes one answer as it comes. Ctrl-C stops it.
 *
 * @param prepare Makes the request; ended by the signal as well.
 * @returns What was said, also of an answer that was stopped or failed.
 */
export async function giveAnswer(
  engine: Engine,
  prepare: (signal: AbortSignal) => Promise<GenerateRequest>,
  display: Display,
): Promise<Answer> {
  using interrupt = new EndSignals("SIGINT");
  const { signal } = interrupt;
  const output = new AnswerOutput(display.showReasoning);
  const collector = new CallCollector();
  let generation: Generation | undefined;
  let finishReason: FinishReason | undefined;
  let usage: Usage | undefined;
  let tokens = 0;
  let error: unknown;
  try {
    generation = engine.generate({ ...await prepare(signal), signal });
    for await (const chunk of generation) {
      tokens += chunk.tokens.length;
      ({ finishReason, usage } = chunk);
      collector.push(chunk.toolCalls ?? []);
      await output.push(chunk.reasoning, chunk.text);
    }
  } catch (reason) {
    // Preparing is cancelled with an error, generating without.
    if (!signal.aborted) error = reason;
  }
  await output.end();
  if (display.verbose && generation) await writeError(speedOf(generation, tokens, usage));
  const { calls } = collector;
  return { ...output.said, calls, tokens, finishReason, interrupted: signal.aborted, error };
}

/** How many tokens there were, and how fast, as far as that can be known. */
function speedOf({ promptTokens, times }: Generation, tokens: number, usage?: Usage): string {
  const { cachedTokens = 0, reasoningTokens = 0, completionTokens = tokens } = usage ?? {};
  const { firstTokenMs, decodeMs = 0 } = times;
  const cached = cachedTokens > 0 ? ` (${cachedTokens} of them cached)` : "";
  const first = firstTokenMs === undefined
    ? ""
    : `first token after ${firstTokenMs.toFixed(0)} ms; `;
  const thought = reasoningTokens > 0 ? ` (${reasoningTokens} of them reasoning)` : "";
  const rate = decodeMs > 0
    ? `, ${((completionTokens - 1) / decodeMs * 1000).toFixed(1)} tokens/s`
    : "";
  return `${promptTokens} tokens of prompt${cached}, ${first}${tokens} tokens of answer${thought}${rate}\n`;
}
