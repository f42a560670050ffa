/**
 * The `README.md` that every room of the house has.
 *
 * @module
 */
import { HOUSE } from "../imports/rooms.ts";
import { anyFile } from "./links.ts";

/** Lines that a room's page has at most. */
const MOST_LINES = 30;

/** Folders of native code, and of tests, that are rooms in addition to those of {@link HOUSE}. */
const OTHERS = [
  "engine",
  "server",
  "cli",
  "cuda",
  "cuda/common",
  "cuda/program",
  "cuda/process",
  "cuda/gpu",
  "cuda/gpu/persistent",
  "cuda/kernels",
  "cuda/ops",
  "cuda/cpu",
  "cuda/emulation",
  "tests/cli",
  "tests/clients",
  "tests/data",
  "tests/engine",
  "tests/fixtures",
  "tests/gpu",
  "tests/kernels",
  "tests/server",
  "tests/slow",
];

/** The folders that are rooms. */
export function roomFolders(): string[] {
  return [...HOUSE.filter((name) => !/\.(ts|json)$/.test(name)), ...OTHERS];
}

/** What is wrong with a room's page, a line each; a module that it names has to exist. */
export async function examineRoom(root: string, room: string): Promise<string[]> {
  const path = `${room}/README.md`;
  let text: string;
  try {
    text = await Deno.readTextFile(`${root}/${path}`);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return [`${path} is missing: say in half a screen what the room is for`];
  }
  const faults: string[] = [];
  const lines = text.split("\n").length - 1;
  if (lines > MOST_LINES) faults.push(`${path} has ${lines} lines; it may have ${MOST_LINES}`);
  if (!text.startsWith("# ")) faults.push(`${path} does not begin with a title`);
  for (const row of text.split("\n").filter((line) => line.startsWith("| `"))) {
    for (const [, name] of row.split("|")[1].matchAll(/`([^`]+)`/g)) {
      if (!await anyFile(`${root}/${room}`, name)) {
        faults.push(`${path} names ${name}, which is not there`);
      }
    }
  }
  return faults;
}
