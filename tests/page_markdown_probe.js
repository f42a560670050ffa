// Runs in the page: what its Markdown renderer makes of texts in pieces.
// deno-lint-ignore-file no-unused-vars
const PARTS = [
  ...[
    "a paragraph of words ",
    "**bold** ",
    "***so*** ",
    "*it* ",
    "`code` ",
    "<b>html</b>",
    "&amp; ",
  ],
  ...[
    "\n",
    "\n",
    "\n\n",
    "\n\n",
    "- item ",
    "\n- item",
    "\n* star",
    "\n1. one",
    "\n2. two",
    "\n10) ten",
  ],
  ...[
    "  ",
    "    ",
    "\n  - nested",
    "\n    more",
    "\n```",
    "\n```js\n",
    "```",
    "\n~~~\n",
    "let x = 1;",
  ],
  ...["\n# head", "\n### head", "\n> quote", "\n---", "\n***", "===", "\n| a | b |", "\n|---|:-:|"],
  ...[
    "\n| c | d |",
    "$x^2$ ",
    "\n$$\n",
    "$$ y $$",
    "\\(z\\) ",
    "\n\\[\nq\n\\]\n",
    "[link](http://x.y/z)",
  ],
  ...[
    "http://auto.link/x ",
    "2024 was",
    "1.",
    "1.5 is",
    "-",
    "#",
    ":",
    "|",
    "[",
    "$5 and $6",
    "\\",
    "<",
  ],
  ...["\n[ref]: http://r.s/t\n", "[ref] ", "\r\n", "\t", "é👍 "],
];

/** Numbers of a seed. */
function random(seed) {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

async function shown(texts) {
  const { StreamRenderer } = await import("/m40/page/markdown/stream_renderer.js");
  const container = document.createElement("div");
  const renderer = new StreamRenderer(container);
  for (const text of texts) renderer.append(text);
  renderer.finish();
  container.normalize();
  return container.innerHTML;
}

/** Texts that are shown otherwise in pieces than whole, at most three. */
async function differences(cases, seed) {
  const next = random(seed);
  const found = [];
  for (let i = 0; i < cases && found.length < 3; i++) {
    const text = Array.from({ length: 1 + next(25) }, () => PARTS[next(PARTS.length)]).join("");
    const pieces = [];
    for (let at = 0; at < text.length;) {
      const length = 1 + next(7);
      pieces.push(text.slice(at, at + length));
      at += length;
    }
    const whole = await shown([text]);
    const inPieces = await shown(pieces);
    if (whole !== inPieces) found.push({ text, whole, inPieces });
  }
  return found;
}

/** Answers of all kinds: the most that was read for a piece, and the nodes that were changed for one of the later pieces. */
async function workOfPieces() {
  const { StreamRenderer } = await import("/m40/page/markdown/stream_renderer.js");
  const kinds = {
    paragraphs: "Some words of a paragraph, and *more* of them.\n\n",
    "one paragraph": "Some words of a paragraph, and *more* of them. ",
    code: "const a = 1;\n",
    list: "- an item of a list\n",
    "loose list": "1. an item of a list\n\n",
    table: "| a | b |\n",
    quote: "> a line of a quote\n",
  };
  const starts = { code: "```js\n", table: "| a | b |\n|---|---|\n" };
  const result = {};
  for (const [kind, part] of Object.entries(kinds)) {
    const most = [];
    let changed = 0;
    let nodes = 0;
    for (const length of [16_000, 48_000]) {
      const text = (starts[kind] ?? "") + part.repeat(Math.ceil(length / part.length));
      const container = document.createElement("div");
      const renderer = new StreamRenderer(container);
      const observer = new MutationObserver(() => {});
      observer.observe(container, { subtree: true, childList: true, characterData: true });
      let max = 0;
      for (let at = 0; at < text.length; at += 200) {
        const before = renderer.work;
        observer.takeRecords();
        renderer.append(text.slice(at, at + 200));
        if (at > text.length / 2) {
          const records = observer.takeRecords();
          const sum = (list) => records.reduce((sum, record) => sum + record[list].length, 0);
          changed = Math.max(changed, sum("addedNodes") + sum("removedNodes"));
        }
        max = Math.max(max, renderer.work - before);
      }
      most.push(max);
      nodes = container.querySelectorAll("*").length;
      renderer.finish();
    }
    result[kind] = { short: most[0], long: most[1], nodes, changed };
  }
  return result;
}
