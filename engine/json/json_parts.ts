/**
 * A long JSON text in parts, each of which `JSON.parse` reads by itself. A part is a run of whole elements of one array
 * or members of one object; what is too long for a part is parted itself.
 *
 * @module
 */
import { define } from "./ordered_object.ts";

/** What is done with a text, in the order of its characters; places are characters of the text. */
type Step =
  /** Elements or members, which a comma ends, or the end of what holds them. */
  | { readonly kind: "run"; readonly start: number; readonly end: number; readonly isLast: boolean }
  /** An array or an object that is parted begins: what stands before it of its own element or member. */
  | { readonly kind: "open"; readonly start: number; readonly end: number }
  | { readonly kind: "close"; readonly isArray: boolean }
  /** Nothing may stand here: between the end of what was parted and a comma, or the end of what holds it. */
  | { readonly kind: "blank"; readonly start: number; readonly end: number };

const ARRAY = 0x5b;
const ARRAY_END = 0x5d;

/** Finds the parts of a text while somebody goes through its tokens. */
export class JsonParts {
  private readonly steps: Step[] = [];
  /** Arrays and objects that are open; the text itself is the outermost. */
  private level = 0;
  /** The innermost of them that is parted. */
  private parted = 0;
  /** Of each that is open, where it began and where its last element does. */
  private readonly opened: number[] = [-1];
  private readonly begun: number[] = [0];
  /** Where the parted one's next run begins. */
  private run = 0;
  /** Whether an element that was parted itself has just ended: nothing but a comma may follow. */
  private hasEnded = false;
  private isBroken = false;

  /** @param length Characters from which on a run of elements is a part. */
  constructor(private readonly text: string, private readonly length: number) {}

  /** An array or an object begins. */
  open(at: number): void {
    if (this.hasEnded && this.level === this.parted) this.isBroken = true;
    this.level++;
    this.opened[this.level] = at;
    this.begun[this.level] = at + 1;
  }

  /** One ends, and of which kind the character says. */
  close(at: number, code: number): void {
    if (this.level === this.parted && !this.isBroken) {
      // The text itself ends with its last character alone.
      if (this.level === 0) this.isBroken = true;
      else {
        this.endRun(at, true);
        this.steps.push({ kind: "close", isArray: code === ARRAY_END });
        this.parted--;
        this.run = at + 1;
        this.hasEnded = true;
      }
    }
    this.level--;
  }

  /** A comma. */
  comma(at: number): void {
    if (this.level === 0) this.isBroken = true;
    if (this.isBroken) return;
    if (this.hasEnded && this.level === this.parted) this.endRun(at, false);
    else if (at - this.run >= this.length) this.cut(at);
    this.begun[this.level] = at + 1;
  }

  /**
   * The value of the text, which has been gone through to its end.
   *
   * @returns A generator that yields between two parts.
   * @throws {SyntaxError} as `JSON.parse` does.
   */
  *value(): Generator<undefined, unknown> {
    if (this.level !== 0) this.isBroken = true;
    if (!this.isBroken && this.steps.length > 0) {
      this.endRun(this.text.length, true);
      const built = new Built(this.text);
      let isRight = true;
      for (const step of this.steps) {
        isRight = built.take(step);
        if (!isRight) break;
        yield;
      }
      if (isRight) return built.value;
    }
    // Of what is wrong JSON.parse says where.
    return JSON.parse(this.text);
  }

  /** A run is long enough, or an element that is not at its end. */
  private cut(at: number): void {
    while (this.parted < this.level && at - this.run >= this.length) {
      const start = this.begun[this.parted];
      if (start > this.run) {
        this.endRun(start - 1, false);
        continue;
      }
      this.parted++;
      const open = this.opened[this.parted];
      this.steps.push({ kind: "open", start, end: open });
      this.run = open + 1;
    }
    if (this.parted === this.level && at - this.run >= this.length) this.endRun(at, false);
  }

  private endRun(end: number, isLast: boolean): void {
    const { run: start } = this;
    this.steps.push(
      this.hasEnded ? { kind: "blank", start, end } : { kind: "run", start, end, isLast },
    );
    this.hasEnded = false;
    this.run = end + 1;
  }
}

/** An array or an object that is being put together. */
interface Open {
  readonly value: unknown[] | Record<string, unknown>;
  /** What it is in the one that holds it; of an element of an array it counts for nothing. */
  readonly key: string;
  isEmpty: boolean;
}

/** Puts parts together. */
class Built {
  private readonly open: Open[] = [{ value: [], key: "", isEmpty: true }];

  constructor(private readonly text: string) {}

  /** What has been put together. */
  get value(): unknown {
    return (this.open[0].value as unknown[])[0];
  }

  /** Does a step; false where the text is no JSON. */
  take(step: Step): boolean {
    const holder = this.open.at(-1)!;
    if (step.kind === "close") {
      this.open.pop();
      add(this.open.at(-1)!, holder.key, holder.value);
      return Array.isArray(holder.value) === step.isArray;
    }
    const { start, end } = step;
    const text = this.text.slice(start, end);
    const isBlank = /^[ \t\n\r]*$/.test(text);
    if (step.kind === "blank") return isBlank;
    if (step.kind === "run" && isBlank) return step.isLast && holder.isEmpty;
    try {
      if (step.kind === "run") addAll(holder, text);
      else this.begin(holder, text, this.text.charCodeAt(end) === ARRAY);
      return true;
    } catch {
      return false;
    }
  }

  private begin(holder: Open, before: string, isArray: boolean): void {
    const key = Object.keys(JSON.parse(inside(holder, `${before}null`)))[0];
    this.open.push({ value: isArray ? [] : {}, key, isEmpty: true });
  }
}

function addAll(holder: Open, run: string): void {
  const part = JSON.parse(inside(holder, run));
  if (Array.isArray(part)) { for (const one of part) add(holder, "", one); }
  else for (const key of Object.keys(part)) add(holder, key, part[key]);
}

function inside({ value }: Open, text: string): string {
  return Array.isArray(value) ? `[${text}]` : `{${text}}`;
}

function add(holder: Open, key: string, value: unknown): void {
  holder.isEmpty = false;
  if (Array.isArray(holder.value)) holder.value.push(value);
  else if (key === "__proto__") define(holder.value, key, value);
  else holder.value[key] = value;
}
