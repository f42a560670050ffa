import { isTemplate } from "./model_templates.ts";

/** Milliseconds between two looks at a file. */
const LOOK_MS = 1000;

/** A file with a template, which may be edited while it is in use. */
export class TemplateFile {
  private looked = performance.now();
  private seen?: string;

  /**
   * @param path Where it is.
   * @param text What it says now.
   * @param lookMs How often it is looked at, at most.
   */
  constructor(readonly path: string, private text: string, private readonly lookMs = LOOK_MS) {}

  /** Reads a file with a template; fails as `Deno.readTextFile` does. */
  static async open(path: string, lookMs?: number): Promise<TemplateFile> {
    const seen = await stateOf(path);
    const file = new TemplateFile(path, await Deno.readTextFile(path), lookMs);
    file.seen = seen;
    return file;
  }

  /** What it said when it was last looked at. */
  get last(): string {
    return this.text;
  }

  /** What it says. A file that is gone, or is being written, says what it said. */
  async current(): Promise<string> {
    const now = performance.now();
    if (now - this.looked < this.lookMs) return this.text;
    this.looked = now;
    try {
      const seen = await stateOf(this.path);
      if (seen === this.seen) return this.text;
      const text = await Deno.readTextFile(this.path);
      if (isTemplate(text)) [this.text, this.seen] = [text, seen];
    } catch (error) {
      // The next look may find it.
      if (!(error instanceof Error)) throw error;
    }
    return this.text;
  }
}

/** What differs between two states of a file. */
async function stateOf(path: string): Promise<string> {
  const { mtime, size, ino } = await Deno.stat(path);
  return `${mtime?.getTime()} ${size} ${ino}`;
}
