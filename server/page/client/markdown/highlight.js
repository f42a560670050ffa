import { element } from "../dom.js";

/** Longer code stays without colours, in characters: they would block the page. */
const LONGEST = 30_000;

/** @type {Promise<any> | undefined} */
let library;

/**
 * Colours code, as soon as the library is there; in a language that is not known nothing changes.
 *
 * @param {HTMLElement} code  Shows the text already
 * @param {string} text
 * @param {string} language
 */
export async function highlight(code, text, language) {
  if (language === "" || text.length > LONGEST) return;
  library ??= import("../libraries/highlight.js");
  const highlighter = (await library).default;
  if (highlighter.getLanguage(language) === undefined) return;
  // The library's own result is HTML; the tree that it was made of needs no reading of HTML.
  const { _emitter } = highlighter.highlight(text, { language, ignoreIllegals: true });
  const coloured = element("code");
  addTree(_emitter.rootNode, coloured);
  if (coloured.textContent === code.textContent) code.replaceChildren(...coloured.childNodes);
}

/**
 * @typedef {{scope?: string, children: (Tree | string)[]}} Tree
 *
 * @param {Tree} tree
 * @param {Element} parent
 */
function addTree(tree, parent) {
  for (const child of tree.children) {
    if (typeof child === "string") parent.append(child);
    else {
      const span = element("span", { class: classOf(child.scope) });
      addTree(child, span);
      parent.append(span);
    }
  }
}

/** `title.function` is `hl-title`: one colour for a family. @param {string | undefined} scope */
function classOf(scope) {
  return scope === undefined || scope.startsWith("language:")
    ? undefined
    : `hl-${scope.split(".", 1)[0]}`;
}
