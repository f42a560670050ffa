import { nearest } from "../../engine/nearest.ts";
import type { Command } from "./command.ts";
import { UsageError } from "../errors.ts";

/**
 * The command of that name.
 *
 * @throws {UsageError} Where there is none, with the nearest one.
 */
export function findCommand(commands: readonly Command[], name: string): Command {
  const found = commands.find((command) => command.name === name);
  if (found !== undefined) return found;
  const near = nearest(name, commands.map((command) => command.name));
  const what = name.startsWith("-") ? "option" : "command";
  const shown = JSON.stringify(name.length > 80 ? name.slice(0, 77) + "..." : name);
  throw new UsageError(
    `There is no ${what} ${shown}` + (near === undefined ? "" : `; did you mean ${near}?`),
  );
}
