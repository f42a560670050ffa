/** Standard output was closed by its reader, as `m40 … | head` does; the program ends quietly. */
export class ClosedOutput extends Error {
  override readonly name = "ClosedOutput";
}

type Stream = typeof Deno.stdout | typeof Deno.stderr;

const encoder = new TextEncoder();

/**
 * Writes to standard output.
 *
 * @throws {ClosedOutput} Where nobody reads it any more.
 */
export function write(text: string | Uint8Array): void {
  writeAll(Deno.stdout, typeof text === "string" ? encoder.encode(text) : text);
}

/** Writes to standard error; where nobody reads that, the text is lost. */
export function writeError(text: string): void {
  try {
    writeAll(Deno.stderr, encoder.encode(text));
  } catch (error) {
    if (!(error instanceof ClosedOutput)) throw error;
  }
}

function writeAll(stream: Stream, bytes: Uint8Array): void {
  try {
    for (let done = 0; done < bytes.length;) done += stream.writeSync(bytes.subarray(done));
  } catch (error) {
    if (error instanceof Deno.errors.BrokenPipe) {
      throw new ClosedOutput("standard output is closed");
    }
    throw error;
  }
}

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;

/** Text in a style where the stream is a terminal that may be coloured (see https://no-color.org). */
export function style(stream: Stream, style: keyof typeof CODES, text: string): string {
  const plain = Deno.noColor || !stream.isTerminal() || Deno.env.get("TERM") === "dumb";
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

// deno-lint-ignore no-control-regex
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;

/**
 * Text from a file or a model made safe for a terminal: control characters other than line feed and
 * tab, which could move the cursor or worse, are shown as `\x1b`.
 */
export function printable(text: string): string {
  return text.replace(
    CONTROL,
    (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`,
  );
}
