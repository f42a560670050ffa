import type { Rendered, RenderJob } from "../engine/chat/render_job.ts";
import { TemplateRenderer } from "../engine/chat/template_renderer.ts";

/** A template whose few steps take so long that only the end of its thread ends them. */
export const ENDLESS_TEMPLATE = "{% set a = 'a' * 8000000 %}" +
  "{% for i in range(9999) %}{{ a.count('aaaaaaaaaab') }}{% endfor %}";

/** A job with one message, "hi", that renders a template. */
export function jobOf(template: string, content = "hi"): RenderJob {
  return {
    template,
    messages: [{ role: "user", content }],
    continueFinal: false,
    specialTokens: {},
    variables: {},
    mark: "\ue000",
    endMark: "\ue001",
  };
}

/** The text that a rendering gives. */
export async function textOf(rendered: Promise<Rendered>): Promise<string> {
  return (await rendered).text;
}

/** Runs `work` with a renderer whose thread runs this code instead; `port` is the way to it. */
export async function withThread(
  code: string,
  work: (renderer: TemplateRenderer) => Promise<void>,
): Promise<void> {
  const file = await Deno.makeTempFile({ suffix: ".mjs" });
  await Deno.writeTextFile(
    file,
    `import { parentPort as port } from "node:worker_threads";\n${code}`,
  );
  const renderer = new TemplateRenderer(new URL(`file://${file}`));
  try {
    await work(renderer);
  } finally {
    await renderer.close();
    await Deno.remove(file);
  }
}
