import { assert, assertEquals } from "@std/assert";
import MarkdownIt from "markdown-it/";
import { limitTables, MOST_CELLS } from "../../server/page/client/markdown/large_table.js";

// The page's tables: one that would hold a browser up is shown as it is written.

const markdown = new MarkdownIt("default", { html: false });
limitTables(markdown);

const row = (columns: number, cell: string) => `|${cell.repeat(columns)}`;
const table = (columns: number, rows: number) =>
  [
    row(columns, " h |"),
    row(columns, "---|"),
    ...Array.from({ length: rows }, () => row(columns, " c |")),
  ].join("\n");

const kinds = (text: string) =>
  markdown.parse(text, {}).filter(({ level, nesting }) => level === 0 && nesting >= 0)
    .map(({ type }) => type);

Deno.test("a table of many cells is shown as it is written, others are tables", () => {
  assertEquals(kinds(table(3, 20)), ["table_open"]);
  assertEquals(kinds(`before\n\n${table(300, 300)}\n\nafter`), [
    "paragraph_open",
    "code_block",
    "paragraph_open",
  ]);
  const [token] = markdown.parse(table(300, 300), {});
  assertEquals([token.type, token.info, token.content], [
    "code_block",
    "table",
    table(300, 300) + "\n",
  ]);
  assertEquals(kinds(table(2, MOST_CELLS)), ["code_block"]);
  assertEquals(kinds(table(MOST_CELLS, 2)), ["code_block"]);
  // In quotes, items and behind a paragraph it is one too.
  const quoted = table(100, 100).replaceAll(/^/gm, "> ");
  assert(markdown.parse(quoted, {}).some(({ type }) => type === "code_block"));
  assert(!markdown.parse(quoted, {}).some(({ type }) => type === "table_open"));
  // Rows that leave their cells out are filled up.
  const short = [row(1000, " h |"), row(1000, "---|"), ...new Array(1000).fill("| c |")].join("\n");
  assertEquals(kinds(short), ["code_block"]);
});
