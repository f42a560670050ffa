import { Budget, LOOP_LIMITS } from "./jinja/budget.ts";
import type { Program } from "./jinja/parse.ts";
import { JinjaTemplate } from "./jinja/template.ts";
import type { RenderJob, RenderReply } from "./render_job.ts";
import { type BoundedTemplate, MOST_PARSED, reply } from "./render_template.ts";

/** Characters that a request may bring. */
const MOST_CHARACTERS = 2 ** 14;
/** Characters of a template: what comes from the thread is read here. */
const MOST_TEMPLATE = 2 ** 15;

/** Jobs that may take too much because of what they find out about the template: the next ones know it. */
const MOST_LESSONS = 8;

/** A template that has been parsed by the thread. */
interface Known extends BoundedTemplate {
  budget: Budget;
  /** Characters of a request from which on a job has taken too much. */
  tooMuch: number;
  /** Jobs that have taken too much while they were finding something out. */
  lessons: number;
}

/**
 * Renders short conversations at once, on the event loop: to post one to the thread and to wait for it takes longer than
 * most renderings. What a job takes is counted, and one that takes too much is for the thread. So no template and no
 * conversation holds the loop for more than a few milliseconds.
 */
export class LoopRenderer {
  private readonly known = new Map<string, Known>();

  /** What a job gives; undefined where it is one for the thread. */
  render(job: RenderJob): RenderReply | undefined {
    const { size = Infinity } = job;
    const known = this.known.get(job.template);
    if (known === undefined || size >= known.tooMuch || job.describe) return undefined;
    const { trials } = known;
    known.budget = new Budget(LOOP_LIMITS);
    const made = reply(job, known);
    if (!("kind" in made) || made.kind !== "limit") return made;
    const isLesson = known.trials > trials && known.lessons++ < MOST_LESSONS;
    if (!isLesson) known.tooMuch = size;
    return undefined;
  }

  /** Whether a template is not known yet, and may be. */
  wants(template: string): boolean {
    return template.length <= MOST_TEMPLATE && !this.known.has(template);
  }

  /** Takes what the thread has parsed a template to. */
  learn(source: string, program: Program): void {
    if (this.known.size >= MOST_PARSED) this.known.clear();
    this.known.set(source, {
      template: new JinjaTemplate(source, program),
      budget: new Budget(LOOP_LIMITS),
      tooMuch: MOST_CHARACTERS,
      trials: 0,
      lessons: 0,
    });
  }
}
