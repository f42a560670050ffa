/**
 * Words that the documentation does not use, and what it uses instead.
 *
 * @module
 */
import { withoutCode } from "./sentences.ts";

const WORDS: readonly (readonly [word: RegExp, instead: string])[] = [
  [/\b(give|gives|gave|given|giving) way\b/gi, "preempt"],
  [/\b(let|lets|letting) in\b/gi, "admit"],
  [/\btold of\b/gi, "notify, or name"],
  [/\b(is|are|was|were|been|being) told\b/gi, "get, or notify"],
  [/\bhand(s|ed|ing)? over\b/gi, "pass, or transfer"],
  [/\blet pass\b/gi, "accept, or have no effect"],
  [/\banew\b/gi, "again"],
  [/\bin the midst\b/gi, "during, or inside"],
  [/\b(stand|stands|stood) on\b/gi, "depend on, or is in"],
  [/\b(tokens?|samples?|is|are|was|were|been|being) drawn\b/gi, "sampled"],
  [/\bdraws? (a|the|its|no|one|every|each)? ?tokens?\b/gi, "sample"],
  [/\bas ever\b/gi, "as usual, or nothing"],
  [/\bwhoever\b/gi, "who does it"],
  [/\b(some|no)body\b/gi, "who does it"],
  [/\bKV pages?\b/gi, "KV block"],
  [/\bpage tables?\b/gi, "block table"],
  [/\bat the moment\b/gi, "now"],
  [/\bof its own kind\b/gi, "what it is"],
  [/\b(cache's|copies of|give it|kept|held) pages?\b/gi, "KV block"],
  [/\b(drawing|draws?|drew) (its|their|so many|from stream)\b/gi, "sample"],
  [/\bguess(es|ed|ing)?\b/gi, "draft (speculative decoding), or suppose"],
  [/\btold apart\b/gi, "distinguish, or recognise"],
  [/\bwho asks\b/gi, "the user, or the client"],
  [/\bsome (ten|twenty|thirty|forty|fifty|sixty|seventy)\b/gi, "the number, or none"],
];

/** A word that has a plainer one, on a line counted from 1. */
export interface FoundWord {
  readonly line: number;
  readonly word: string;
  readonly instead: string;
}

/** Finds them in a Markdown page, outside of fenced code; also where a line breaks between two words. */
export function findWords(markdown: string): FoundWord[] {
  const text = withoutCode(markdown).join("\n");
  const found: FoundWord[] = [];
  for (const [pattern, instead] of WORDS) {
    const acrossLines = new RegExp(pattern.source.replaceAll(" ", "\\s+"), pattern.flags);
    for (const match of text.matchAll(acrossLines)) {
      const line = text.slice(0, match.index).split("\n").length;
      found.push({ line, word: match[0], instead });
    }
  }
  return found.sort((a, b) => a.line - b.line);
}
