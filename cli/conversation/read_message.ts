import type { History } from "./history.ts";
import { askLine } from "../terminal/mod.ts";

/** What begins and ends a message of several lines. */
export const FENCE = '"""';

/** What the user typed. */
export type Typed =
  | { readonly kind: "text"; readonly text: string }
  /** A line that begins with a slash; `rest` is what stands behind the name. */
  | { readonly kind: "command"; readonly name: string; readonly rest: string }
  /** Ctrl-C or Ctrl-D before the message was complete. */
  | { readonly kind: "abandoned" }
  /** Ctrl-C or Ctrl-D at the prompt. */
  | { readonly kind: "end" };

/** A command's name, and whether its argument has several lines. */
const COMMAND = /^\/(\S*)\s*/;

/**
 * Asks for a message: a line; or several between `"""` and `"""`, in which a slash is nothing special.
 * A command's argument may have several lines too: `/system """`.
 */
export async function readMessage(history: History): Promise<Typed> {
  const line = await askLine("> ", history.lines);
  if (line === undefined) return { kind: "end" };
  const [head = "", name] = line.match(COMMAND) ?? [];
  const body = line.slice(head.length);
  let text: string | undefined = body;
  if (body.startsWith(FENCE)) text = await readFenced(body.slice(FENCE.length), history);
  await history.add(text === undefined ? line : head + text);
  if (text === undefined) return { kind: "abandoned" };
  return name === undefined ? { kind: "text", text } : { kind: "command", name, rest: text };
}

/** The lines up to the closing `"""`; undefined where that does not come. */
async function readFenced(first: string, history: History): Promise<string | undefined> {
  const lines: string[] = [];
  for (let line: string | undefined = first; line !== undefined;) {
    const end = line.trimEnd();
    if (end.endsWith(FENCE)) {
      lines.push(end.slice(0, -FENCE.length));
      // The line feeds next to the fences are not part of the text.
      return lines.join("\n").replace(/^\n/, "").replace(/\n$/, "");
    }
    lines.push(line);
    line = await askLine("... ", history.lines);
  }
  return undefined;
}
