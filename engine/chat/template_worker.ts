/**
 * Renders templates, one after the other, in a thread that may be ended at any time. See
 * {@link TemplateRenderer}.
 *
 * @module
 */
import { parentPort } from "node:worker_threads";
import { jobOf, type PostedJob } from "./posted_job.ts";
import { reply } from "./render_template.ts";

const port = parentPort!;
port.on("message", (posted: PostedJob) => port.postMessage(reply(jobOf(posted))));
port.postMessage("ready");
