import { dirname, join } from "@std/path";
import { stateDirectory } from "../../engine/store/mod.ts";

/** Lines that are kept. */
const MAX_LINES = 1000;
/** Longer lines are not kept. */
const MAX_LINE_CHARACTERS = 10_000;

/**
 * What was typed at the prompt, in a file that only its owner can read. A file that cannot be read or
 * written costs the history, never the session.
 */
export class History {
  readonly #path?: string;
  #lines: string[] = [];

  private constructor(path?: string) {
    this.#path = path;
  }

  /**
   * Reads the file.
   *
   * @param path By default `$XDG_STATE_HOME/m40/history` or `~/.local/state/m40/history`. Where the
   * environment names neither, the history lasts as long as the session.
   */
  static async open(path = defaultPath()): Promise<History> {
    const history = new History(path);
    if (path === undefined) return history;
    try {
      const lines = (await Deno.readTextFile(path)).split("\n").filter((line) => line !== "");
      history.#lines = lines.slice(-MAX_LINES);
      if (lines.length > MAX_LINES) await rewrite(path, history.#lines);
    } catch {
      // No file yet, or none that can be read: an empty history.
    }
    return history;
  }

  /** The lines, oldest first. */
  get lines(): readonly string[] {
    return this.#lines;
  }

  /** Adds a line, unless it is empty, very long or what was typed just before. */
  async add(line: string): Promise<void> {
    line = line.replaceAll("\n", " ");
    const kept = line.trim() !== "" && line.length <= MAX_LINE_CHARACTERS;
    if (!kept || line === this.#lines.at(-1)) return;
    this.#lines = [...this.#lines, line].slice(-MAX_LINES);
    if (this.#path === undefined) return;
    try {
      await Deno.mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
      // Appended, so that two sessions do not undo each other.
      await Deno.writeTextFile(this.#path, line + "\n", { append: true, mode: 0o600 });
      // The mode above is for a new file; one that was there may be open to others.
      await Deno.chmod(this.#path, 0o600);
    } catch {
      // See above.
    }
  }
}

function defaultPath(): string | undefined {
  const folder = stateDirectory();
  return folder && join(folder, "history");
}

async function rewrite(path: string, lines: readonly string[]): Promise<void> {
  const temporary = await Deno.makeTempFile({ dir: dirname(path), prefix: "history-" });
  await Deno.writeTextFile(temporary, lines.join("\n") + "\n");
  await Deno.rename(temporary, path);
}
