/**
 * Renders templates, one after the other, in a thread that may be ended at any time. See
 * {@link TemplateRenderer}.
 *
 * @module
 */
import { parentPort } from "node:worker_threads";
import { threadFolder } from "./jinja/work_clock.ts";
import { jobOf, type PostedJob } from "./posted_job.ts";
import { programOf, reply } from "./render_template.ts";

const port = parentPort!;
port.on("message", (posted: PostedJob) => {
  const made = reply(jobOf(posted));
  const program = posted.wantsProgram && "text" in made ? programOf(posted.template) : undefined;
  port.postMessage(program === undefined ? made : { ...made, program });
});
port.postMessage({ thread: threadFolder() });
