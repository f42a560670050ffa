/**
 * Measures the prose of the documentation: words a sentence, the longest sentences, and words that have a plainer one.
 *
 * `deno run -A tools/prose.ts [--longest N] [FILE...]`
 *
 * @module
 */
import { fromFileUrl, relative } from "@std/path";
import { findWords } from "./prose/words.ts";
import { sentencesOf, wordsOf } from "./prose/sentences.ts";

const ROOT = fromFileUrl(new URL("..", import.meta.url));

/** The pages under `docs/`, by their path from the root. */
export async function listPages(folder = "docs"): Promise<string[]> {
  const pages: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(`${ROOT}/${folder}`)) {
    if (isDirectory) pages.push(...await listPages(`${folder}/${name}`));
    else if (name.endsWith(".md")) pages.push(`${folder}/${name}`);
  }
  return pages.sort();
}

async function main(args: string[]): Promise<void> {
  const at = args.indexOf("--longest");
  const longest = at < 0 ? 1 : Number(args.splice(at, 2)[1]);
  const pages = args.length > 0 ? args.map((path) => relative(ROOT, path)) : await listPages();
  let sentences = 0;
  let words = 0;
  for (const page of pages) {
    const text = await Deno.readTextFile(`${ROOT}/${page}`);
    const found = sentencesOf(text).sort((a, b) => wordsOf(b) - wordsOf(a));
    const count = found.reduce((sum, sentence) => sum + wordsOf(sentence), 0);
    sentences += found.length;
    words += count;
    const average = (count / Math.max(1, found.length)).toFixed(1);
    console.log(`${page}: ${average} words a sentence, ${text.split("\n").length - 1} lines`);
    for (const sentence of found.slice(0, longest)) {
      console.log(`  ${wordsOf(sentence)}: ${sentence}`);
    }
    for (const { line, word, instead } of findWords(text)) {
      console.log(`  line ${line}: "${word.replaceAll(/\s+/g, " ")}"; write ${instead}`);
    }
  }
  console.log(`${(words / Math.max(1, sentences)).toFixed(1)} words a sentence, ${words} words`);
}

if (import.meta.main) await main([...Deno.args]);
