/**
 * Links of Markdown pages to each other.
 *
 * @module
 */
import { dirname, join } from "@std/path";
import { withoutCode } from "./sentences.ts";

/** The links of a page that lead nowhere, a line each: to files that are not there, or to headings that a page lacks. */
export async function deadLinks(root: string, page: string): Promise<string[]> {
  const text = withoutCode(await Deno.readTextFile(join(root, page))).join("\n");
  const faults: string[] = [];
  for (const [, target] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^[a-z]+:/.test(target)) continue;
    const [path, heading] = target.split("#");
    const file = path === "" ? page : join(dirname(page), path);
    try {
      const { isFile } = await Deno.stat(join(root, file));
      if (heading === undefined || !isFile) continue;
      if (!headingsOf(await Deno.readTextFile(join(root, file))).has(heading)) {
        faults.push(`${page} links to ${target}: ${file} has no such heading`);
      }
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      faults.push(`${page} links to ${target}: there is no ${file}`);
    }
  }
  return faults;
}

/** The anchors of a page's headings, as GitHub makes them. */
function headingsOf(markdown: string): Set<string> {
  const anchors = new Set<string>();
  for (const line of withoutCode(markdown)) {
    if (!/^#+ /.test(line)) continue;
    const title = line.replace(/^#+ /, "").replace(/\[([^\]]*)\]\([^)]*\)/g, "$1");
    const anchor = title.toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, "").replaceAll(/\s/g, "-");
    let unique = anchor;
    for (let i = 1; anchors.has(unique); i++) unique = `${anchor}-${i}`;
    anchors.add(unique);
  }
  return anchors;
}
