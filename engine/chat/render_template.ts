import { Template } from "@huggingface/jinja";
import type { RenderJob } from "./render_job.ts";

const templates = new Map<string, Template>();

/** Renders a template; throws what is wrong with it or what it throws. */
export function renderTemplate(
  { template, messages, continueFinal, variables }: RenderJob,
): string {
  const parsed = templates.getOrInsertComputed(template, (source) => new Template(source));
  const shown = messages.map(({ role, content, name, reasoning }) => ({
    role: role === "developer" && !template.includes("developer") ? "system" : role,
    content: typeof content === "string" || content === null
      ? content
      : content.map(({ text }) => text).join(""),
    ...(name === undefined ? {} : { name }),
    ...(reasoning === undefined ? {} : { reasoning_content: reasoning, thinking: reasoning }),
  }));
  const text = parsed.render({
    messages: shown,
    add_generation_prompt: !continueFinal,
    ...variables,
  });
  if (!continueFinal) return text;
  const last = String(shown.at(-1)?.content ?? "").trim();
  return text.slice(0, text.lastIndexOf(last) + last.length);
}
