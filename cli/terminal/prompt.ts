import { createInterface } from "node:readline";
import process from "node:process";
import { setImmediate } from "node:timers";
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
  // The terminal edits the line itself; readline's output would be garbage there.
  const line = await typedLine(prompt);
  if (line === undefined) await write("\n");
  return line;
}

/**
 * Asks for a line that answers this question: one that was typed or pasted before it was asked is kept for later.
 *
 * @returns The line; undefined where Ctrl-C or Ctrl-D was typed.
 */
export async function askNow(prompt: string): Promise<string | undefined> {
  const { lines, start, interrupted } = ahead;
  Object.assign(ahead, { lines: [], start: "", interrupted: false });
  try {
    return await askLine(prompt, []);
  } finally {
    Object.assign(ahead, {
      lines: [...lines, ...ahead.lines],
      start: ahead.start || start,
      interrupted,
    });
  }
}

/** A line as the terminal gives it; undefined where Ctrl-C or Ctrl-D was typed instead. */
async function typedLine(prompt: string): Promise<string | undefined> {
  using interrupt = new EndSignals("SIGINT");
  // A user who sees it may press Ctrl-C at once.
  await write(prompt);
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

/**
 * What was typed or pasted behind a line before the next one was asked for: whole lines, and the start of
 * one, or Ctrl-C.
 */
const ahead: { lines: string[]; start: string; interrupted: boolean } = {
  lines: [],
  start: "",
  interrupted: false,
};

async function editLine(prompt: string, history: readonly string[]): Promise<string | undefined> {
  const next = ahead.lines.shift();
  if (next !== undefined) return next;
  if (ahead.interrupted) {
    ahead.interrupted = false;
    return undefined;
  }
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
  const lines = await new Promise<string[]>((resolve) => {
    const lines: string[] = [];
    readline.on("line", (text: string) => {
      // All that came in one piece is in here before the interface is closed: closing loses the rest.
      if (lines.push(text) === 1) setImmediate(() => readline.close());
    });
    readline.on("SIGINT", () => {
      ahead.interrupted = lines.length > 0;
      readline.close();
    });
    readline.on("close", () => {
      ahead.start = lines.length > 0 && !ahead.interrupted ? readline.line : "";
      resolve(lines);
    });
    readline.prompt();
    if (ahead.start !== "") readline.write(ahead.start);
  });
  if (lines.length === 0) process.stdout.write("\n");
  else ahead.lines = lines.slice(1);
  return lines[0];
}
