import type { RenderJob } from "../engine/chat/render_job.ts";

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
