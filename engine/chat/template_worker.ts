/**
 * Renders templates, one after the other, in a thread that may be ended at any time. See
 * {@link TemplateRenderer}.
 *
 * @module
 */
import { parentPort } from "node:worker_threads";
import { renderTemplate } from "./render_template.ts";
import type { RenderJob, RenderReply } from "./render_job.ts";

const port = parentPort!;

port.on("message", (job: RenderJob) => {
  let reply: RenderReply;
  try {
    reply = { text: renderTemplate(job) };
  } catch (error) {
    reply = { error: error instanceof Error ? error.message : String(error) };
  }
  port.postMessage(reply);
});
port.postMessage("ready");
