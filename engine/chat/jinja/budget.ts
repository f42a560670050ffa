import { WorkClock } from "./work_clock.ts";

/** A template took more than one rendering may take. */
export class TemplateLimitError extends Error {
  override readonly name = "TemplateLimitError";
}

/** What one rendering may take. */
export interface Limits {
  /** Characters of one string, and of what is rendered (UTF-16 code units). */
  readonly stringLength: number;
  readonly listLength: number;
  /** Characters of all strings that are made, an element of a list counting as 16. */
  readonly memory: number;
  /** Expressions and statements evaluated. */
  readonly steps: number;
  /** Evaluations inside one another. */
  readonly depth: number;
  /** Milliseconds of a processor. */
  readonly milliseconds: number;
  /** Milliseconds by the clock. */
  readonly mostMilliseconds: number;
  /**
   * Steps that a character counts as which is looked at or made; 0: the clock alone bounds that, and work that no count
   * bounds is done.
   */
  readonly stepsPerCharacter: number;
}

/**
 * The limits of every rendering. A conversation that fills a million tokens of context has about 5
 * million characters, and a template copies them about ten times.
 */
export const LIMITS: Limits = {
  stringLength: 8 * 2 ** 20,
  listLength: 2 ** 18,
  memory: 96 * 2 ** 20,
  steps: 4_000_000,
  depth: 1000,
  milliseconds: 700,
  mostMilliseconds: 7000,
  stepsPerCharacter: 0,
};

/**
 * What all renderings for one request may take together on the event loop: no clock, so that the same request is always
 * rendered in the same place. A step takes 60 ns at most, a character that is looked at 8 ns.
 */
export const LOOP_LIMITS: Limits = {
  stringLength: 2 ** 16,
  listLength: 2 ** 12,
  memory: 2 ** 20,
  steps: 40_000,
  depth: 100,
  milliseconds: Infinity,
  mostMilliseconds: Infinity,
  stepsPerCharacter: 1 / 8,
};

/** Characters that an element of a list counts as. */
const ELEMENT = 16;
const STEPS_PER_LOOK = 1024;

/**
 * Counts what a rendering takes, and ends it where that is too much. What is made counts whether it is
 * kept or not, so the count bounds the memory that a template can hold, however it goes about it.
 */
export class Budget {
  /** What was counted of {@link Limits.steps}. */
  steps = 0;
  private memory = 0;
  private depth = 0;
  private readonly clock?: WorkClock;

  constructor(private readonly limits: Limits = LIMITS) {
    if (limits.milliseconds < Infinity) this.clock = new WorkClock();
  }

  /** Another rendering begins, with what is left. */
  begin(): void {
    this.depth = 0;
  }

  /** Enters an evaluation inside the one that goes on. Each is followed by one {@link leave}. */
  enter(): void {
    this.step();
    if (++this.depth > this.limits.depth) {
      throw new TemplateLimitError(`is nested more than ${this.limits.depth} deep`);
    }
  }

  leave(): void {
    this.depth--;
  }

  /** Does work inside the evaluation that goes on. */
  inside<T>(work: () => T): T {
    this.enter();
    const made = work();
    this.leave();
    return made;
  }

  /** Counts a bounded piece of work. */
  step(): void {
    if (!(++this.steps <= this.limits.steps)) this.end();
    if (this.steps % STEPS_PER_LOOK === 0) this.look();
  }

  /** Looks at the clock, where there is one: between parts of work that can take long in one step. */
  look(): void {
    const { milliseconds, mostMilliseconds } = this.limits;
    if (!this.clock || this.clock.left(milliseconds, mostMilliseconds) > 0) return;
    throw new TemplateLimitError(`took more than ${milliseconds} ms`);
  }

  private end(): never {
    throw new TemplateLimitError(`took more than ${this.limits.steps} steps`);
  }

  /** Counts work in proportion to that many characters, before it is done. */
  scan(characters: number): void {
    this.steps += characters * this.limits.stepsPerCharacter;
    if (!(this.steps <= this.limits.steps)) this.end();
  }

  /** Counts a search, before it is made: each place of a text may be compared with all that is looked for. */
  search(text: string, wanted: string): void {
    this.scan(text.length * (1 + wanted.length / 4));
  }

  /** Whether characters that are looked at count. */
  get scans(): boolean {
    return this.limits.stepsPerCharacter > 0;
  }

  /** Ends the rendering before work that no count bounds, where only counts bound it. */
  uncounted(): void {
    if (this.scans) this.end();
  }

  /** Ends the rendering if a string of that many characters may not be made; it counts when it is. */
  allow(length: number): void {
    this.grow(length, 0);
    this.scan(length);
  }

  /** Counts a string of that many characters. Code that makes a long one asks before. */
  string(length: number): void {
    this.grow(length, length);
  }

  /** Counts the growth of a string, which has that many characters then. */
  grow(length: number, by: number): void {
    // Negated, so that what is no number is refused as well.
    if (!(length <= this.limits.stringLength)) {
      throw new TemplateLimitError(
        `made a text of more than ${this.limits.stringLength} characters`,
      );
    }
    this.use(by);
  }

  /** Counts a list of that many elements, before it is made. */
  list(length: number): void {
    this.lengthen(length, length);
  }

  /** Counts one more element of a list, which has that many then. */
  element(length: number): void {
    this.lengthen(length, 1);
  }

  private lengthen(length: number, by: number): void {
    if (!(length <= this.limits.listLength)) {
      throw new TemplateLimitError(`made a list of more than ${this.limits.listLength} elements`);
    }
    this.use(by * ELEMENT);
  }

  private use(characters: number): void {
    this.scan(characters);
    this.memory += characters;
    if (this.memory > this.limits.memory) {
      throw new TemplateLimitError(`made more than ${this.limits.memory} characters of text`);
    }
  }
}
