/**
 * Writes the pages of the manual, which are made of the command descriptions in cli/.
 *
 * `deno task man-pages [FOLDER]` (default: dist/man)
 *
 * @module
 */
import { fromFileUrl, join } from "@std/path";
import { COMMANDS } from "../cli/commands/mod.ts";
import { VERSION } from "../server/version.ts";
import { manualPages } from "./manual/pages.ts";

const folder = Deno.args[0] ?? join(fromFileUrl(new URL("..", import.meta.url)), "dist", "man");
await Deno.mkdir(folder, { recursive: true });
for (const [name, text] of manualPages(COMMANDS, VERSION)) {
  await Deno.writeTextFile(join(folder, name), text);
}
console.log(folder);
