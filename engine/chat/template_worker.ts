/**
 * Renders templates, one after the other, in a thread that may be ended at any time. See
 * {@link TemplateRenderer}.
 *
 * @module
 */
import { parentPort } from "node:worker_threads";
import type { RenderJob } from "./render_job.ts";
import { reply } from "./render_template.ts";

const port = parentPort!;
port.on("message", (job: RenderJob) => port.postMessage(reply(job)));
port.postMessage("ready");
