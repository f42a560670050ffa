import { printable } from "../../engine/printable.ts";
import { standardError, standardOutput } from "../../server/output/mod.ts";
import { formatTable } from "./format.ts";

export { printable, visible } from "../../engine/printable.ts";

type Stream = typeof Deno.stdout | typeof Deno.stderr;

/**
 * Writes to standard output; resolves when it is written.
 *
 * @throws {ClosedOutput} Where its reader is gone.
 * @throws {M40Error} "io" where it cannot be written, as when a disk is full.
 */
export function write(text: string | Uint8Array): Promise<void> {
  return standardOutput.write(text);
}

/** Writes to standard error; resolves when it is written. Where it cannot be, the text is lost. */
export async function writeError(text: string): Promise<void> {
  // What could be said about it would go the same way.
  await standardError.write(text).catch(() => {});
}

/** Whether the terminal understands nothing but text: no colours, no moving of the cursor. */
export function isDumb(): boolean {
  return Deno.env.get("TERM") === "dumb";
}

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;

/** Text in a style where the stream is a terminal that may be coloured (see https://no-color.org). */
export function style(stream: Stream, style: keyof typeof CODES, text: string): string {
  const plain = Deno.noColor || !stream.isTerminal() || isDumb();
  return plain ? text : `\x1b[${CODES[style]}m${text}\x1b[0m`;
}

/** The width of the terminal behind standard error in columns; 80 where there is none. */
export function columns(): number {
  try {
    return Deno.consoleSize().columns || 80;
  } catch {
    return 80;
  }
}

/** Warns on standard error, with nobody waiting for it. */
export function warn(text: string): void {
  standardError.say(`${style(Deno.stderr, "yellow", "warning:")} ${printable(text)}\n`);
}

/** Rows in columns with `formatTable`, the first of them as headings. */
export function headedTable(
  rows: readonly (readonly string[])[],
  numbers: number[],
): string {
  const [heading, ...lines] = formatTable(rows, numbers).split("\n");
  return [style(Deno.stdout, "bold", heading), ...lines].join("\n");
}

/** Writes a value to standard output as JSON for people and programs. */
export function writeJson(value: unknown): Promise<void> {
  return write(JSON.stringify(value, null, 2) + "\n");
}

/** Says something in passing, on standard error. */
export async function note(text: string): Promise<void> {
  await writeError(style(Deno.stderr, "dim", printable(text)) + "\n");
}
