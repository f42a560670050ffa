import { createInterface } from "node:readline";
import process from "node:process";

/**
 * Asks for a line on the terminal, with editing and history (arrow up and down).
 *
 * @param history Earlier lines, oldest first.
 * @returns The line; undefined where Ctrl-C or Ctrl-D was typed.
 */
export function askLine(prompt: string, history: readonly string[]): Promise<string | undefined> {
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
