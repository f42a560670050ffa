import { createInterface } from "node:readline";
import process from "node:process";
import { readInput } from "./input.ts";
import { EndSignals } from "./signals.ts";
import { isDumb, write } from "./terminal.ts";

/**
 * Asks for a line on the terminal, with editing and history (arrow up and down) where it can do more
 * than show text.
 *
 * @param history Earlier lines, oldest first.
 * @returns The line; undefined where Ctrl-C or Ctrl-D was typed.
 */
export async function askLine(
  prompt: string,
  history: readonly string[],
): Promise<string | undefined> {
  if (!isDumb()) return await editLine(prompt, history);
  // The terminal edits the line itself; what readline draws would be garbage there.
  await write(prompt);
  const line = await typedLine();
  if (line === undefined) await write("\n");
  return line;
}

/** A line as the terminal gives it; undefined where Ctrl-C or Ctrl-D was typed instead. */
async function typedLine(): Promise<string | undefined> {
  using interrupt = new EndSignals("SIGINT");
  const interrupted = new Promise<undefined>((resolve) =>
    interrupt.signal.addEventListener("abort", () => resolve(undefined))
  );
  return await Promise.race([lines.next().then(({ value }) => value), interrupted]);
}

/** The lines of standard input; one for all prompts, as several lines may come at once. */
const lines = typedLines();

async function* typedLines(): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(4096);
  let rest = "";
  for (let count; (count = await readInput(buffer)) !== null;) {
    const whole = (rest + decoder.decode(buffer.subarray(0, count), { stream: true })).split("\n");
    rest = whole.pop()!;
    yield* whole;
  }
  // Ctrl-D behind a text that is not ended gives it out; alone it ends the input.
  if (rest !== "") yield rest;
}

function editLine(prompt: string, history: readonly string[]): Promise<string | undefined> {
  // An interface for each line, because an open one keeps the terminal in raw mode, in which Ctrl-C
  // would not reach the program while it answers.
  const readline = createInterface({
    input: process.stdin,
    output: process.stdout,
    terminal: true,
    history: history.toReversed(),
    historySize: 1000,
    prompt,
  });
  return new Promise((resolve) => {
    let line: string | undefined;
    readline.on("line", (text: string) => {
      line = text;
      readline.close();
    });
    readline.on("SIGINT", () => readline.close());
    readline.on("close", () => {
      if (line === undefined) process.stdout.write("\n");
      resolve(line);
    });
    readline.prompt();
  });
}
