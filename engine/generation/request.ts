import type { OutputFormat, ToolUse } from "../chat/mod.ts";
import type { Constraint } from "../grammar/mod.ts";
import type { ParameterNames, SamplingParameters, Steering } from "../sampling/mod.ts";
import type { RequestEnds } from "./deadline.ts";
import type { GenerationReport } from "./observer.ts";

/** One request for text. */
export interface GenerateRequest extends RequestEnds {
  prompt: string | readonly number[];
  /** Tokens sampled at most, 0 to check the prompt alone; default: as many as the context has room for. */
  maxTokens?: number;
  /** Up to 16 strings that end the output; they are not part of it. None: {@link Engine.stopDefaults}. */
  stop?: readonly string[];
  /** Up to 128 tokens that end the output, in addition to the model's own; they are not part of it. */
  stopTokens?: readonly number[];
  /** What it does not say is as {@link Engine.samplingDefaults} have it, and else as usual. */
  sampling?: Partial<SamplingParameters>;
  /** Says now and then what comes next, whatever the model would say. */
  steering?: Steering;
  /** What the answer's content must be like; reasoning before it is free. Not with `steering`, nor without an end. */
  constraint?: Constraint;
  /** 0 to 20: tokens carry their log-probability and those of so many likeliest tokens. */
  topLogprobs?: number;
  /** Whether special tokens in a prompt's text are tokens; default true. */
  parseSpecial?: boolean;
  /** How reasoning is separated from content, see {@link ChatFormat.prompt}; default: all is content. */
  format?: OutputFormat;
  /** The tools that the answer may call, as {@link ChatPrompt.tools} has them. Not with `steering`, nor without an end. */
  tools?: ToolUse;
  /** "separate" (default): reasoning is separated from content, by `format`; "inline": the output is left as it is. */
  reasoning?: "separate" | "inline";
  /** Tokens of reasoning at most, then the model has to answer; 0 for none. Default: no limit. */
  reasoningBudget?: number;
  /** What the caller calls parameters, where that is not the name in OpenAI's requests: for errors. */
  names?: ParameterNames;
  /** Called once with its outcome. What it throws counts as an observer's. */
  onReport?: (report: GenerationReport) => void;
}
