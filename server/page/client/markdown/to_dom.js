import { element } from "../dom.js";
import { codeBlock } from "./code_block.js";
import { formula } from "./formula.js";
import { linkTo } from "./links.js";

/** @typedef {import("./parser.js").Token} Token */

/** Elements that a token's own name stands for; attributes are never taken over. */
const SAME = new Set([
  ...["p", "blockquote", "ul", "li", "em", "strong", "s", "thead", "tbody", "tr"],
]);

/**
 * Adds what tokens stand for to an element. Everything is made by DOM calls, so no text can become anything else.
 *
 * @param {readonly Token[]} tokens
 * @param {Element} parent
 */
export function render(tokens, parent) {
  const open = [parent];
  for (const token of tokens) {
    const at = open[open.length - 1];
    if (token.nesting === 1) {
      const { outer, inner } = opened(token);
      at.append(outer);
      open.push(inner);
    } else if (token.nesting === -1) open.pop();
    else if (token.type === "inline") render(token.children ?? [], at);
    else at.append(leaf(token));
  }
}

/**
 * The element that a token opens, and the one that what follows is put into.
 *
 * @param {Token} token
 * @returns {{outer: Element, inner: Element}}
 */
function opened(token) {
  const made = openedElement(token);
  if (token.tag !== "table") return { outer: made, inner: made };
  const attributes = { class: "wide", tabindex: 0, role: "region", "aria-label": "Table" };
  return { outer: element("div", attributes, made), inner: made };
}

/** @param {Token} token */
function openedElement(token) {
  const { tag } = token;
  if (tag === "a") return linkTo(textOf(token, "href"), textOf(token, "title"));
  if (tag === "ol") return element("ol", { start: token.attrGet("start") });
  if (/^h[1-6]$/.test(tag)) return element(headingBelow(tag));
  if (tag === "table") return element("table");
  if (tag === "th" || tag === "td") {
    const align = /left|center|right/.exec(textOf(token, "style") ?? "")?.[0];
    return element(tag, { class: align && `align-${align}` });
  }
  return element(SAME.has(tag) ? /** @type {"p"} */ (tag) : "span");
}

/**
 * @param {Token} token
 * @param {string} name
 */
function textOf(token, name) {
  const value = token.attrGet(name);
  return value === null ? null : String(value);
}

/** An answer's headings are below that of the message. @param {string} tag */
function headingBelow(tag) {
  const level = Math.min(6, Number(tag[1]) + 2);
  return /** @type {"h3"} */ (`h${level}`);
}

/**
 * @param {Token} token
 * @returns {Node}
 */
function leaf(token) {
  const { type, content, info, markup } = token;
  switch (type) {
    case "text":
    case "text_special":
      return document.createTextNode(content);
    case "softbreak":
      return document.createTextNode("\n");
    case "hardbreak":
      return element("br");
    case "hr":
      return element("hr");
    case "code_inline":
      return element("code", {}, content);
    case "code_block":
    case "fence":
      return codeBlock(content, info.trim().split(/\s+/, 1)[0]).element;
    case "math_inline":
      return formula(content, markup === "display");
    case "math_block":
      return formula(content, true);
    case "math_open":
      return element("pre", {}, element("code", {}, content));
    case "image": {
      // Loading it would reveal to its server that it was shown.
      const link = linkTo(textOf(token, "src"), null);
      link.append(`Picture: ${content || "without a description"}`);
      return link;
    }
    default:
      // What is not known is shown as it was written.
      return document.createTextNode(content);
  }
}
