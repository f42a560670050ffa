/**
 * How long it takes to find the tokens that a grammar allows: for states that are met the first time, and for
 * ones that were seen. Prints, asserts nothing.
 *
 * `deno task bench grammar [MODEL.gguf]`: with the vocabulary of a model, else with a made one of 128k tokens.
 *
 * @module
 */
import { Automaton, type State } from "../engine/grammar/automaton.ts";
import type { Grammar } from "../engine/grammar/grammar.ts";
import { parseGbnf } from "../engine/grammar/gbnf.ts";
import { grammarOfSchema } from "../engine/grammar/json_schema/mod.ts";
import { jsonObjectGrammar } from "../engine/grammar/json.ts";
import { LazyMasks } from "../engine/grammar/lazy_masks.ts";
import type { TokenMasks } from "../engine/grammar/masks.ts";
import { parseRegex } from "../engine/grammar/regex.ts";
import type { TokenBytes } from "../engine/grammar/vocabulary_trie.ts";
import { loadTokenizer, readGguf, type Tokenizer } from "../engine/mod.ts";
import { AGENT_CALLS, CALL_SCHEMA, spacedJson } from "./agent_tools.ts";

const MADE_TOKENS = 128_000;
const SYLLABLES =
  "an be co de er fi go he in jo ka lo me no or pi qu re st ti un ve wa ing tion ed ly é ö " +
  "日 本 の и на";
const MARKS = '" ", ": "] "} { } [ ] , : ; ( ) \n // = == -> . {"';

/** Words of syllables, some behind a space or a mark, and all bytes. */
function madeVocabulary(): TokenBytes {
  const encoder = new TextEncoder();
  const [syllables, marks] = [SYLLABLES.split(" "), MARKS.split(" ")];
  let state = 1;
  const random = (limit: number) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 8) % limit;
  };
  const texts = new Set<string>();
  while (texts.size < MADE_TOKENS - 257) {
    let text = Array.from({ length: 1 + random(4) }, () => syllables[random(syllables.length)])
      .join("");
    if (random(8) === 0) text = text[0].toUpperCase() + text.slice(1);
    if (random(12) === 0) text = marks[random(marks.length)] + text;
    if (random(30) === 0) text += marks[random(marks.length)];
    texts.add(random(2) === 0 ? ` ${text}` : text);
  }
  const bytes = [
    ...Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte)),
    ...[...texts].map((text) => encoder.encode(text)),
    new Uint8Array(0),
  ];
  const vocabSize = bytes.length;
  return {
    vocabSize,
    tokenBytes: (token) => bytes[token],
    endTokens: new Set([vocabSize - 1]),
    isControl: () => false,
  };
}

/** Grammars, and a text that each accepts. */
const CASES: [string, () => Grammar, string][] = [
  [
    "JSON",
    jsonObjectGrammar,
    '{"name": "hello wörld", "list": [1, 2.5, {"x": ["deep", {"y": null}]}], "tail": [[["abc"]]]}',
  ],
  [
    "arithmetic",
    () =>
      parseGbnf(
        'root ::= expr\nexpr ::= term (" "? [-+*/] " "? term)*\n' +
          'term ::= [a-z]+ | [0-9]+ | "(" expr ")"',
      ),
    "(alpha + 12) * ((beta-3)/gamma) + ((1))",
  ],
  [
    "a regular expression",
    () => ({
      root: "root",
      rules: new Map([[
        "root",
        parseRegex("([A-Z][a-z]{0,30} ){1,8}\\d{4}-\\d{2}-\\d{2}(: .{0,80})?"),
      ]]),
    }),
    "Some Title Of Five Words 2024-02-29: and a remark behind it",
  ],
];

function measure(masks: TokenMasks, automaton: Automaton, text: string): number[] {
  let state: State | undefined = automaton.start;
  const seen = new Set<State>();
  const times: number[] = [];
  for (const byte of new TextEncoder().encode(text)) {
    if (!seen.has(state)) {
      seen.add(state);
      const started = performance.now();
      masks.of(automaton, state);
      times.push(performance.now() - started);
    }
    state = automaton.next(state, byte);
    if (state === undefined) throw new Error(`${text} is not accepted`);
  }
  return times.sort((a, b) => a - b);
}

/** An agent's tools: the automaton of their schema, and the mask before each token of calls that a model writes. */
function measureTools(masks: TokenMasks, tokenizer: TokenBytes & Partial<Tokenizer>): void {
  const lines = JSON.stringify(CALL_SCHEMA, null, 2).split("\n").length;
  const make = () => new Automaton(grammarOfSchema(CALL_SCHEMA));
  const compiled = Array.from({ length: 9 }, () => time(make));
  row(`tools of an agent: automaton of a schema of ${lines} lines`, compiled);
  for (const what of ["first", "with the compiler warm"]) {
    const automaton = make();
    const [seen, unseen]: number[][] = [[], []];
    const met = new Set<State>();
    for (const text of AGENT_CALLS.map(spacedJson)) {
      const pieces = tokenizer.encode?.(text, { addSpecial: false })
        .map((token) => tokenizer.tokenBytes(token)) ??
        [...text].map((character) => new TextEncoder().encode(character));
      let state = automaton.start;
      for (const bytes of pieces) {
        const times = met.has(state) ? seen : unseen;
        met.add(state);
        times.push(time(() => masks.of(automaton, state)));
        state = automaton.after(state, bytes)!;
      }
    }
    row(`masks of calls, unseen, ${what}`, unseen);
    row(`masks of calls, seen, ${what}`, seen);
  }
}

/** Milliseconds. */
function time(work: () => unknown): number {
  const started = performance.now();
  work();
  return performance.now() - started;
}

function row(what: string, times: number[]): void {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))].toFixed(3);
  console.log(
    `  ${what}: ${sorted.length}, median ${at(0.5)} ms, 90% ${at(0.9)}, 99% ${at(0.99)}, most ${
      at(1)
    }`,
  );
}

const path = Deno.args[0];
const vocabulary = path === undefined
  ? madeVocabulary()
  : loadTokenizer((await readGguf(path)).metadata);
const started = performance.now();
const masks = new LazyMasks(vocabulary, vocabulary.vocabSize).masks;
const treeMs = performance.now() - started;
console.log(`${vocabulary.vocabSize} tokens; their tree was made in ${treeMs.toFixed(0)} ms`);
measureTools(masks, vocabulary);
for (const [name, grammar, text] of CASES) {
  const compileStarted = performance.now();
  let automaton = new Automaton(grammar());
  console.log(`${name}: compiled in ${(performance.now() - compileStarted).toFixed(2)} ms`);
  row("cold", measure(masks, automaton, text));
  row("seen", measure(masks, automaton, text));
  automaton = new Automaton(grammar());
  row("again, the compiler warm", measure(masks, automaton, text));
}
