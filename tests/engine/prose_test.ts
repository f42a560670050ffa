import { assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { listPages } from "../../tools/prose.ts";
import { deadLinks, deadPaths } from "../../tools/prose/links.ts";
import { examineRoom, roomFolders } from "../../tools/prose/rooms.ts";
import { sentencesOf, wordsOf } from "../../tools/prose/sentences.ts";
import { findWords } from "../../tools/prose/words.ts";
import { TemporaryFolder } from "../fixtures/temporary.ts";

const ROOT = fromFileUrl(new URL("../..", import.meta.url));

/** Pages that are generated, or that keep the words of their day. */
const OTHERS = /^docs\/api\.md$|^docs\/measurements\//;

/** Pages outside of `docs/`. */
const ROOT_PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"];

/** What people read in dashboards and alerts. */
const DEPLOYED = ["deploy/grafana/m40.json", "deploy/prometheus/m40.rules.yml"];

/** Words of a sentence of the documentation at most. */
const MOST_WORDS = 30;

async function pages(): Promise<string[]> {
  const rooms = roomFolders().map((room) => `${room}/README.md`);
  return [...ROOT_PAGES, ...(await listPages()).filter((page) => !OTHERS.test(page)), ...rooms];
}

Deno.test("every room has a README.md of at most 30 lines, whose modules exist", async () => {
  const faults = await Promise.all(roomFolders().map((room) => examineRoom(ROOT, room)));
  assertEquals(faults.flat(), []);
});

Deno.test("the documentation has no words that have plainer ones", async () => {
  const found: string[] = [];
  const described = (await listPages()).filter((page) => !page.startsWith("docs/measurements/"));
  for (const page of new Set([...await pages(), ...described, ...DEPLOYED])) {
    for (const { line, word, instead } of findWords(await Deno.readTextFile(`${ROOT}/${page}`))) {
      found.push(`${page}:${line}: "${word}"; write ${instead}`);
    }
  }
  assertEquals(found, []);
});

Deno.test("sentences of the documentation have at most 30 words, 15 on average", async () => {
  const long: string[] = [];
  for (const page of await pages()) {
    const text = await Deno.readTextFile(`${ROOT}/${page}`);
    // Others' text, as it came.
    const own = page === "docs/architecture.md"
      ? text.split("## How to add an operation")[0]
      : text;
    const counts = sentencesOf(own).map((sentence) => {
      const words = wordsOf(sentence);
      if (words > MOST_WORDS) long.push(`${page}, ${words} words: ${sentence}`);
      return words;
    });
    const average = counts.reduce((sum, count) => sum + count, 0) / counts.length;
    if (average > MOST_WORDS / 2) long.push(`${page}: ${average.toFixed(1)} words on average`);
  }
  assertEquals(long, []);
});

Deno.test("links between the pages of the documentation lead somewhere", async () => {
  const faults: string[] = [];
  for (const page of [...ROOT_PAGES, ...await listPages()]) {
    faults.push(...await deadLinks(ROOT, page));
  }
  assertEquals(faults, []);
});

Deno.test("files that the documentation names exist", async () => {
  const faults: string[] = [];
  for (const page of await pages()) faults.push(...await deadPaths(ROOT, page));
  assertEquals(faults, []);
});

Deno.test("links and paths that lead nowhere are found", async () => {
  using temporary = new TemporaryFolder();
  const root = temporary.path;
  await Deno.mkdir(`${root}/docs`);
  await Deno.writeTextFile(`${root}/docs/b.md`, "# A heading, of `b`\n");
  const text =
    "[a](b.md#a-heading-of-b) [b](b.md#other) [c](c.md) `docs/b.md` `docs/*.md` `docs/c.md`";
  await Deno.writeTextFile(`${root}/docs/a.md`, text);
  assertEquals(await deadLinks(root, "docs/a.md"), [
    "docs/a.md links to b.md#other: docs/b.md has no such heading",
    "docs/a.md links to c.md: there is no docs/c.md",
  ]);
  assertEquals(await deadPaths(root, "docs/a.md"), [
    "docs/a.md names docs/c.md, which is not there",
  ]);
});

Deno.test("sentences: paragraphs, list items and links count; headings, tables and code do not", () => {
  const page = [
    "# A title. Of two sentences.",
    "",
    "One sentence with `code of four words` and",
    "a [link of text](somewhere.md). Another one!",
    "",
    "- An item: of a list.",
    "- A second item",
    "",
    "| A table. | Of cells. |",
    "```",
    "Code. And more.",
    "```",
  ].join("\n");
  assertEquals(sentencesOf(page).map(wordsOf), [9, 2, 5, 3]);
});

Deno.test("words are found across lines, and not in code", () => {
  const found = findWords("One that gives\nway.\n\n```\ngives way\n```\n");
  assertEquals(found, [{ line: 1, word: "gives\nway", instead: "preempt" }]);
});
