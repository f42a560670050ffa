import { effortFor } from "./effort_words.ts";
import { type Budget, TemplateLimitError } from "./jinja/budget.ts";
import { TemplateError, TemplateRefusal } from "./jinja/errors.ts";
import { Marks } from "./jinja/marks.ts";
import type { Program } from "./jinja/parse.ts";
import { JinjaTemplate } from "./jinja/template.ts";
import { isEmpty, NOTHING, shownMessages } from "./messages.ts";
import { ANY_ORDER } from "./order_abilities.ts";
import type { Rendered, RenderJob, RenderMessage, RenderReply } from "./render_job.ts";
import { LostTextError, shownConversation, type Way } from "./shown_conversation.ts";
import { addResultValues, RESULT_VALUE } from "./result_values.ts";
import { type Abilities, findAbilities } from "./template_abilities.ts";
import { describeTemplate } from "./template_description.ts";
import { callFormatOf } from "./tools/call_format.ts";
import { GENERIC } from "./tools/hermes.ts";
import type { ShownTool } from "./tools/shown_tool.ts";
import { asText, withToolTexts } from "./tools/tool_texts.ts";

/** A template, and what it can show. */
interface Parsed {
  readonly template: JinjaTemplate;
  readonly abilities: Abilities;
}

/** Characters that one of a conversation counts as in each rendering of it: ids, JSON and texts are gone through. */
const WORK_AROUND = 4;

/** Templates that stay parsed; a file has a few. */
export const MOST_PARSED = 8;
const parsed = new Map<string, Parsed>();

/** A template that takes no more than a budget. */
export interface BoundedTemplate {
  readonly template: JinjaTemplate;
  /** What it can show, once that is known. */
  abilities?: Abilities;
  /** What all renderings for the job that goes on may take together. */
  readonly budget: Budget;
  /** How often it was rendered to find out what it can show. */
  trials: number;
}

/**
 * What comes of a job; it throws nothing.
 *
 * @param bounded Its template, where it may take no more than a budget.
 */
export function reply(job: RenderJob, bounded?: BoundedTemplate): RenderReply {
  try {
    if (bounded === undefined) return renderTemplate(job);
    const { template, budget } = bounded;
    bounded.abilities ??= findAbilities(template, job.specialTokens, () => {
      bounded.trials++;
      return bounded.budget;
    });
    return renderParsed({ template, abilities: bounded.abilities }, job, false, budget);
  } catch (error) {
    const kind = error instanceof TemplateLimitError
      ? "limit"
      : error instanceof TemplateRefusal
      ? "refusal"
      : error instanceof LostTextError
      ? "lost"
      : "failure";
    // JavaScript's own bounds, where parsing or writing meets them first.
    if (error instanceof RangeError) {
      const isStack = error.message.includes("call stack");
      return { kind: "limit", message: isStack ? "is nested too deeply" : "makes too much text" };
    }
    const param = error instanceof LostTextError ? error.param : undefined;
    return { kind, message: messageOf(error), param };
  }
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const line = error instanceof TemplateError ? error.line : undefined;
  return line === undefined ? error.message : `${error.message} (line ${line})`;
}

/**
 * A conversation as a template writes it; throws where the template does.
 *
 * @param asItIs Whether messages stay in their order, and what the template leaves out is left out.
 */
export function renderTemplate(job: RenderJob, asItIs = false): Rendered {
  return renderParsed(parse(job.template, job.specialTokens), job, asItIs);
}

/**
 * The same of a template that is parsed.
 *
 * @param budget What all renderings may take together; absent: each may take as much.
 */
function renderParsed(
  { template, abilities }: Parsed,
  job: RenderJob,
  asItIs: boolean,
  budget?: Budget,
): Rendered {
  const { specialTokens, variables, mark, endMark, tools } = job;
  const marks = new Marks(mark);
  // An assistant's message that was started without a word is started again.
  const isStarted = job.continueFinal && isEmpty(job.messages.at(-1)!);
  const continueFinal = job.continueFinal && !isStarted;
  const conversation = !isStarted
    ? job.messages
    : job.messages.length > 1
    ? job.messages.slice(0, -1)
    : [NOTHING];
  const usesTools = tools !== undefined || job.messages.some(speaksOfTools);
  const format = usesTools ? callFormatOf(abilities.tools, job.toolFormats ?? []) : undefined;
  const texts = format && asText(abilities.tools, tools !== undefined && format === GENERIC);
  // Where the template cannot show tools its own way, calls are not written that way either.
  const all = tools !== undefined && texts?.tools === true;
  const shown = all || tools === undefined
    ? undefined
    : abilities.tools.needsDescription
    ? tools.map(described)
    : tools;
  const effort = job.effort === undefined ? {} : effortVariables(job.effort, abilities);
  const write = (original: readonly RenderMessage[], { abilities, callsAsText }: Way): string => {
    // What is done around a rendering is in proportion to the conversation.
    if (job.size !== undefined) budget?.scan(WORK_AROUND * job.size);
    const said = texts === undefined ? original : withToolTexts(
      original,
      tools,
      all || callsAsText ? { ...asText(abilities.tools, true), tools: texts.tools } : texts,
      all ? undefined : format?.write,
    );
    const messages = shownMessages(said, abilities, usesTools);
    if (job.template.includes(RESULT_VALUE)) addResultValues(messages, marks);
    if (continueFinal) addEnd(messages.at(-1)!, endMark);
    const text = template.render({
      tools: shown ?? abilities.noTools,
      documents: null,
      ...specialTokens,
      ...effort,
      ...variables,
      messages,
      add_generation_prompt: !continueFinal,
    }, { mark, budget, now: job.now === undefined ? undefined : new Date(job.now) });
    return continueFinal ? untilEnd(text, marks, endMark) : text;
  };
  const text = asItIs
    ? write(conversation, { abilities: inAnyOrder(abilities), callsAsText: false })
    : shownConversation(conversation, abilities, usesTools, marks, write, budget);
  return {
    text,
    ...(tools === undefined ? {} : { toolFormat: all ? GENERIC.name : format!.name }),
    ...(job.describe ? { abilities: describeTemplate(abilities, job.toolFormats ?? []) } : {}),
    oneCall: usesTools && !all && !abilities.tools.severalCalls,
  };
}

function inAnyOrder(abilities: Abilities): Abilities {
  const { systemFirst, systemBeforeResult } = abilities.order;
  return {
    ...abilities,
    order: { ...ANY_ORDER, systemFirst, systemBeforeResult },
    tools: { ...abilities.tools, severalCalls: true },
  };
}

/** The effort in the template's words. */
function effortVariables(
  effort: NonNullable<RenderJob["effort"]>,
  abilities: Abilities,
): Readonly<Record<string, string>> {
  const word = effortFor(abilities.efforts, effort.word);
  if (word === undefined) return {};
  return { reasoning_effort: word === effort.word ? effort.marked : word };
}

/** A tool with an empty description where it has none. */
function described(tool: ShownTool): ShownTool {
  return { ...tool, function: { description: "", ...tool.function } };
}

function speaksOfTools({ role, toolCalls = [] }: RenderMessage): boolean {
  return role === "tool" || toolCalls.length > 0;
}

function parse(source: string, specialTokens: RenderJob["specialTokens"]): Parsed {
  const known = parsed.get(source);
  if (known !== undefined) return known;
  const template = new JinjaTemplate(source);
  const fresh = { template, abilities: findAbilities(template, specialTokens) };
  if (parsed.size >= MOST_PARSED) parsed.clear();
  parsed.set(source, fresh);
  return fresh;
}

/** What a template was parsed to, where that can go from thread to thread: where no object of a class is in it. */
export function programOf(source: string): Program | undefined {
  const program = parsed.get(source)?.template.program;
  return program !== undefined && isPlain(program.statements) ? program : undefined;
}

function isPlain(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  const isOfClass = !Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype;
  return !isOfClass && Object.values(value).every(isPlain);
}

/** Puts the end mark and a space behind what a message says. */
function addEnd(message: Record<string, unknown>, endMark: string): void {
  const { content } = message;
  if (typeof content === "string") message.content = `${content}${endMark} `;
  else (content as { text: string }[]).at(-1)!.text += `${endMark} `;
}

/**
 * The text up to the end mark; as `transformers` has it, without white space at the end where the template
 * has taken away the space behind the mark.
 */
function untilEnd(text: string, marks: Marks, endMark: string): string {
  const end = text.lastIndexOf(endMark);
  if (end < 0) {
    throw new Error("the template leaves out the message that is to be continued");
  }
  // A template may show the message more than once, each time with the mark and the space.
  const before = text.slice(0, end).replaceAll(`${endMark} `, "").replaceAll(endMark, "");
  return text[end + 1] === " " ? before : marks.strip(before, "end");
}
