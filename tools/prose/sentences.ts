/**
 * The sentences of a Markdown page.
 *
 * @module
 */

/**
 * The sentences of a page's paragraphs and list items. Headings, tables and fenced code are left out; inline code and
 * links count as text.
 */
export function sentencesOf(markdown: string): string[] {
  const sentences: string[] = [];
  let block: string[] = [];
  const end = () => {
    const text = plain(block.join(" "));
    block = [];
    for (
      const part of text.split(
        /(?<=[.!?…])["”)*_]*\s+(?=["“(*_`[]*(?:[\p{Lu}\d`]|m40 |llama\.cpp))/u,
      )
    ) {
      if (wordsOf(part) > 1) sentences.push(part.trim());
    }
  };
  for (const line of withoutCode(markdown)) {
    const text = line.trim();
    if (text === "" || text.startsWith("#") || text.startsWith("|")) {
      end();
    } else {
      if (/^([-*+]|\d+\.)\s/.test(text)) end();
      block.push(text.replace(/^([-*+]|\d+\.)\s+/, ""));
    }
  }
  end();
  return sentences;
}

/** Words of a sentence: what has a letter or a digit. */
export function wordsOf(sentence: string): number {
  return sentence.split(/\s+/).filter((word) => /[\p{L}\d]/u.test(word)).length;
}

/** The page's lines; those of fenced code are empty, so that the numbers of the others stay. */
export function withoutCode(markdown: string): string[] {
  let fenced = false;
  return markdown.split("\n").map((line) => {
    if (/^\s*```/.test(line)) {
      fenced = !fenced;
      return "";
    }
    return fenced ? "" : line;
  });
}

/** Inline code becomes one word however many it has; a link becomes its text. */
function plain(text: string): string {
  return text
    .replace(/`[^`]*`/g, (code) => code.replaceAll(/\s+/g, "_"))
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/\*\*/g, "");
}
