// The documentation's own links: every page that a link names is there, with the heading that it names.
import { assert, assertEquals } from "@std/assert";
import { dirname, fromFileUrl, join, relative } from "@std/path";

const ROOT = fromFileUrl(new URL("../..", import.meta.url));
const FOLDERS = ["docs", "findings", "tools", ".github"];

/** Every Markdown file of the documentation, by its path from the root. */
async function pages(): Promise<string[]> {
  const found: string[] = [];
  const walk = async (folder: string) => {
    for await (const { name, isDirectory } of Deno.readDir(join(ROOT, folder))) {
      const path = join(folder, name);
      if (isDirectory && folder !== ".") await walk(path);
      else if (name.endsWith(".md")) found.push(path);
    }
  };
  await walk(".");
  for (const folder of FOLDERS) await walk(folder);
  return found.sort();
}

/** A page without its code, in which brackets are no links. */
function prose(text: string): string {
  return text.replace(/^(```|~~~)[\s\S]*?^\1/gm, "").replace(
    /(`+)[\s\S]*?\1/g,
    (code) => code.replaceAll(/[\[\]()]/g, " "),
  );
}

/** What GitHub makes of a page's headings. */
function anchors(text: string): Set<string> {
  const found = new Set<string>();
  const headings = text.replace(/^```[\s\S]*?^```/gm, "").matchAll(/^#{1,6} (.+)$/gm);
  for (const [, heading] of headings) {
    const plain = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const slug = plain.replaceAll(/[^\p{L}\p{N}\s_-]/gu, "").trim().replaceAll(/\s/g, "-");
    let unique = slug;
    for (let again = 1; found.has(unique); again++) unique = `${slug}-${again}`;
    found.add(unique);
  }
  return found;
}

/** The links of a page that lead into this repository and to nothing there. */
async function brokenLinks(page: string, text: string): Promise<string[]> {
  const broken: string[] = [];
  for (const [, target] of prose(text).matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^[a-z]+:/.test(target)) continue;
    const [path, anchor] = target.split("#");
    const file = path === "" ? page : join(dirname(page), decodeURI(path));
    const there = await Deno.stat(join(ROOT, file)).catch(() => null);
    const known = there !== null && (anchor === undefined || !file.endsWith(".md") ||
      anchors(await Deno.readTextFile(join(ROOT, file))).has(anchor));
    if (!known) broken.push(`${page}: ${target}`);
  }
  return broken;
}

Deno.test("every link of the documentation leads to a page and a heading that are there", async () => {
  const broken: string[] = [];
  for (const page of await pages()) {
    broken.push(...await brokenLinks(page, await Deno.readTextFile(join(ROOT, page))));
  }
  assertEquals(broken, []);
});

Deno.test("a link to a page or a heading that is not there is found", async () => {
  const text = "[a](README.md) [b](none.md) [c](README.md#documentation) [d](#here)\n\n# Here\n" +
    "[e](#there) `[f](none.md)` [g](https://example.com/none)\n\n```\n[h](none.md)\n```\n";
  // The heading of the text itself is looked for in the page of that name.
  const broken = await brokenLinks("docs/README.md", text);
  assertEquals(broken, [
    "docs/README.md: none.md",
    "docs/README.md: #here",
    "docs/README.md: #there",
  ]);
});

Deno.test("docs/README.md names every page of docs/", async () => {
  const index = await Deno.readTextFile(join(ROOT, "docs", "README.md"));
  const named = new Set([...index.matchAll(/\]\(([^)#]+)\)/g)].map(([, path]) => path));
  const missing = (await pages())
    .filter((page) => page.startsWith("docs/") && page !== "docs/README.md")
    .map((page) => relative("docs", page))
    .filter((page) => !named.has(page) && dirname(page) !== "measurements");
  assertEquals(missing, []);
});

Deno.test("the README has at most 120 lines, and its two commands name this Deno and tasks that there are", async () => {
  const readme = await Deno.readTextFile(join(ROOT, "README.md"));
  assert(readme.split("\n").length <= 121, "the README is longer than 120 lines");
  const commands = [...readme.matchAll(/^DENO_TLS_CA_STORE=system npx -y deno@(\S+) task (\S+)/gm)];
  assertEquals(commands.map(([, version, task]) => [version, task]), [
    [Deno.version.deno, "start"],
    [Deno.version.deno, "test"],
  ]);
  const { tasks } = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json")));
  for (const [, , task] of commands) assert(task in tasks, task);
});
