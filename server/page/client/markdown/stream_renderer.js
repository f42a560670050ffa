import { element } from "../dom.js";
import { OpenCode } from "./open_code.js";
import { blocksOf, hasDefinitions, itemsOf, parse } from "./parser.js";
import { render } from "./to_dom.js";

/** @typedef {import("./parser.js").Token} Token */

/** A block that is longer shows what comes as plain text until it ends, in characters. */
const LONGEST_BLOCK = 4000;

/** Where a long block may have ended: a line that nothing indents, after an empty one, or the item of a list. */
const BOUNDARY = /\n[ \t]*\n(?=\S)|\n(?=(?:[-*+]|\d{1,9}[.)])[ \t])/;

/** The start of a line, which says what the line is: an ordinary letter, or a sign, a space and one. */
const DECIDED =
  /^\s*(?:(?:[-*+]|\d{1,9}[.)]|#{1,6})[ \t]+[^\s\-*_+#`~$\\>\d]|\d+(?:[^\d.)]|[.)]\S)|[^\s\-*_+#`~$\\>\d|=:[])/;

/**
 * Shows Markdown that grows. Coming text can change the last block alone, of a list the last item. Only that is read
 * again, so the work grows with what is added and not with what is there.
 */
export class StreamRenderer {
  /** @param {HTMLElement} container */
  constructor(container) {
    this.container = container;
    /** Characters that were read so far, those read again included: what tests look at. */
    this.work = 0;
    /** @type {string[]} */
    this.all = [];
    /** @type {Record<string, any>} */
    this.environment = {};
    /** The text that may still change what it is. */
    this.tail = "";
    /** What is shown of it. @type {Element[]} */
    this.tailShown = [];
    /** The list that the tail is the last item of. @type {Element | undefined} */
    this.list = undefined;
    /** @type {OpenCode | undefined} */
    this.code = undefined;
    /** What is shown plainly of a long block. @type {Text | undefined} */
    this.plain = undefined;
  }

  /** @param {string} added */
  append(added) {
    const text = added.replaceAll("\r", "");
    this.all.push(text);
    this.take(text);
  }

  /** The text is complete. */
  finish() {
    // A definition at the end may make links of what stands before it.
    if (hasDefinitions(this.environment)) {
      this.container.replaceChildren();
      this.environment = {};
      this.tail = "";
      this.tailShown = [];
      this.list = this.code = this.plain = undefined;
      this.take(this.all.join(""));
    }
    this.code?.finish();
    this.code = undefined;
    if (this.plain !== undefined) this.read(false);
  }

  /** @param {string} added */
  take(added) {
    this.work += added.length;
    let text = added;
    if (this.code !== undefined) {
      const rest = this.code.append(text);
      if (rest === undefined) return;
      this.code = undefined;
      text = rest;
    }
    const joint = this.tail.slice(-12) + text;
    this.tail += text;
    if (this.plain !== undefined) {
      this.plain.appendData(text);
      if (!BOUNDARY.test(joint)) return;
    }
    this.read(true);
  }

  /**
   * Reads the tail again, and settles of it what stays as it is.
   *
   * @param {boolean} grows  Whether more may come
   */
  read(grows) {
    const { tail } = this;
    this.work += tail.length;
    const goesOn = this.withoutTail();
    const blocks = blocksOf(parse(tail, this.environment));
    if (blocks.length === 0) return;
    const settled = isDecided(tail, blocks) ? blocks.length - 1 : Math.max(0, blocks.length - 2);
    for (const [index, block] of blocks.slice(0, settled).entries()) {
      this.settle(block.tokens, index === 0 ? goesOn : undefined);
    }
    const [first, ...others] = blocks.slice(settled);
    if (others.length === 0 && opensCode(tail, first)) {
      this.code = new OpenCode(first.tokens[0], linesFrom(tail, first.line));
      this.container.append(this.code.block.element);
      this.tail = "";
      return;
    }
    if (isList(first.tokens)) {
      this.showList(first.tokens, settled === 0 ? goesOn : undefined, others.length === 0);
    } else {
      this.tailShown = this.add(first.tokens, this.container);
      this.tail = linesFrom(tail, first.line);
    }
    for (const { tokens } of others) this.tailShown.push(...this.add(tokens, this.container));
    if (grows && this.tail.length > LONGEST_BLOCK) this.goOnPlainly();
  }

  /** Takes away what is shown of the tail. @returns The list that it goes on, if it is an item of one. */
  withoutTail() {
    for (const shown of this.tailShown) shown.remove();
    this.tailShown = [];
    this.plain = undefined;
    const { list } = this;
    this.list = undefined;
    if (list === undefined || list.childElementCount > 0) return list;
    list.remove();
    return undefined;
  }

  /**
   * Shows a list, of which the last item may grow.
   *
   * @param {Token[]} tokens
   * @param {Element | undefined} goesOn  The list that its first item is one of
   * @param {boolean} atEnd  Whether nothing follows on it
   */
  showList(tokens, goesOn, atEnd) {
    const { tail } = this;
    const items = itemsOf(tokens);
    const list = goesOn ?? this.add([tokens[0], tokens[tokens.length - 1]], this.container)[0];
    const settled = !atEnd || isDecided(tail, items) ? items.length - 1 : items.length - 2;
    const from = Math.max(0, settled);
    for (const item of items.slice(0, from)) this.add(item.tokens, list);
    this.tailShown = items.slice(from).flatMap((item) => this.add(item.tokens, list));
    this.list = list;
    this.tail = linesFrom(tail, items[from].line);
  }

  /**
   * Shows a block that stays as it is.
   *
   * @param {Token[]} tokens
   * @param {Element | undefined} goesOn  The list that it goes on, if it is one
   */
  settle(tokens, goesOn) {
    if (goesOn !== undefined && isList(tokens)) {
      this.add(tokens.slice(1, -1), goesOn);
    } else this.add(tokens, this.container);
  }

  /**
   * @param {Token[]} tokens
   * @param {Element} parent
   * @returns {Element[]} What was added
   */
  add(tokens, parent) {
    const before = parent.childElementCount;
    render(tokens, parent);
    return Array.from(parent.children).slice(before);
  }

  /** The tail is so long that reading it again and again would take too long. */
  goOnPlainly() {
    this.plain = document.createTextNode("");
    const shown = element("p", { class: "plain-tail" }, this.plain);
    this.container.append(shown);
    this.tailShown.push(shown);
  }
}

/** @param {Token[]} tokens */
function isList([{ type }]) {
  return type === "bullet_list_open" || type === "ordered_list_open";
}

/**
 * Whether the last of the blocks of a text stays a separate one, whatever comes. A line that has not ended may still
 * continue the block before, as `***` is a rule and `***so***` is not.
 *
 * @param {string} text
 * @param {readonly {tokens: Token[], line: number, end: number}[]} blocks
 */
function isDecided(text, blocks) {
  const last = blocks[blocks.length - 1];
  const own = linesFrom(text, last.line);
  switch (last.tokens[0].type) {
    case "math_open":
      return false;
    case "math_block":
      return linesFrom(own, last.end - last.line) !== "" || own.endsWith("\n");
    case "table_open":
      return own.split("\n", 3).length > 2;
    default:
      return own.includes("\n") || DECIDED.test(own);
  }
}

/**
 * @param {string} text
 * @param {{tokens: Token[], line: number, end: number}} block
 */
function opensCode(text, block) {
  return block.tokens[0].type === "fence" && linesFrom(text, block.line).includes("\n") &&
    OpenCode.isOpen(text, block);
}

/**
 * A text from one of its lines on.
 *
 * @param {string} text
 * @param {number} line
 */
function linesFrom(text, line) {
  let at = 0;
  for (let i = 0; i < line; i++) {
    const end = text.indexOf("\n", at);
    if (end < 0) return "";
    at = end + 1;
  }
  return text.slice(at);
}
