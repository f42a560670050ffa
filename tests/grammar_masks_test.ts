import { assert, assertEquals } from "@std/assert";
import { Automaton, type State } from "../engine/grammar/automaton.ts";
import { parseGbnf } from "../engine/grammar/gbnf.ts";
import { jsonObjectGrammar } from "../engine/grammar/json.ts";
import { LazyMasks } from "../engine/grammar/lazy_masks.ts";
import { Preparation } from "../engine/grammar/preparation.ts";
import { parseRegex } from "../engine/grammar/regex.ts";
import { loadTokenizer, readGguf } from "../engine/mod.ts";
import { grammarOf, randomIntegers } from "./grammar_texts.ts";
import { GOLDEN } from "./engine_fixture.ts";

const encoder = new TextEncoder();

/** Texts of tokens as vocabularies have them: single bytes, parts of words, marks that begin or end others. */
function madeVocabulary() {
  const random = randomIntegers(5);
  const parts = [
    ..."abcdefgh0123 ",
    '"',
    '",',
    '":',
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\\",
    "\n",
    "é",
    "😀",
  ];
  const texts: Uint8Array[] = Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte));
  while (texts.length < 3000) {
    const text = Array.from({ length: 1 + random(5) }, () => parts[random(parts.length)]).join("");
    const bytes = encoder.encode(text);
    // Some are cut in the middle of a character.
    texts.push(random(8) === 0 ? bytes.subarray(0, Math.max(1, bytes.length - 1)) : bytes);
  }
  // Longer ones than most, which are looked at by themselves.
  for (const part of ["a", "b", " ", "ab", '",', "abc", "cc"]) {
    for (const length of [20, 25, 30, 59]) texts.push(encoder.encode(part.repeat(length)));
    texts.push(encoder.encode(`${part.repeat(25)}",`));
  }
  const end = texts.length;
  // Control tokens, one of which ends the text, and one with the text of another token.
  texts.push(new Uint8Array(0), new Uint8Array(0), texts[300]);
  return {
    vocabSize: texts.length,
    tokenBytes: (token: number) => texts[token],
    endTokens: new Set([end]),
    isControl: () => false,
  };
}
type Vocabulary = ReturnType<typeof madeVocabulary>;

/** The tokens that a state allows, each tried by itself. */
function allowedNaively(automaton: Automaton, state: State, vocabulary: Vocabulary): number[] {
  const { vocabSize, tokenBytes, endTokens } = vocabulary;
  return Array.from({ length: vocabSize }, (_, token) => token).filter((token) => {
    if (endTokens.has(token)) return state.canEnd;
    const bytes = tokenBytes(token);
    return bytes.length > 0 && automaton.after(state, bytes) !== undefined;
  });
}

function tokensOf(mask: Uint32Array): number[] {
  const tokens: number[] = [];
  for (let token = 0; token < 32 * mask.length; token++) {
    if ((mask[token >> 5] >>> (token & 31)) & 1) tokens.push(token);
  }
  return tokens;
}

const GRAMMARS = {
  json: jsonObjectGrammar(),
  recursion: parseGbnf(
    'root ::= list | map\nlist ::= "[" (root ("," root)*)? "]" | word\n' +
      'map ::= "{" (word ":" root ",")* "}" | word\nword ::= "\\"" [^"\\\\]* "\\"" | [a-h]+ | "é"',
  ),
  words: grammarOf(parseRegex("(\\w+ )*\\w+[.!]?")),
  anything: grammarOf(parseRegex("[^]*")),
  counted: grammarOf(parseRegex('[a-c]{2,5}( |"[^"]{3,9}"|é){1,3}\\d*')),
  repeated: grammarOf(parseRegex('(a|b|"c{2,60}",){3,70}|([a-e]é?){40}|[^"]{0,200}"')),
  "repeated in repeated": grammarOf(parseRegex("(([a-h]{1,30},){20,40}:){1,30}|( [^,]{30}){0,40}")),
  choice: grammarOf(parseRegex("(abc|abcd|ab 01|h{3}|)")),
};

for (const [name, grammar] of Object.entries(GRAMMARS)) {
  Deno.test(`masks equal every token tried by itself: ${name}`, () => {
    const vocabulary = madeVocabulary();
    const automaton = new Automaton(grammar);
    // More tokens than the vocabulary has: what a model has beyond it is never allowed.
    const masks = new LazyMasks(vocabulary, vocabulary.vocabSize + 100).masks;
    const random = randomIntegers(7);
    let checked = 0;
    for (let text = 0; text < 6; text++) {
      let state: State = automaton.start;
      for (let length = 0; length < 40; length++) {
        const allowed = masks.of(automaton, state);
        const tokens = tokensOf(allowed.mask);
        assertEquals(tokens, allowedNaively(automaton, state, vocabulary));
        assertEquals(allowed.onlyEnd, tokens.every((token) => vocabulary.endTokens.has(token)));
        checked++;
        const going = tokens.filter((token) => !vocabulary.endTokens.has(token));
        if (going.length === 0) break;
        const token = going[random(going.length)];
        state = automaton.after(state, vocabulary.tokenBytes(token))!;
      }
    }
    assert(checked >= 6);
  });
}

Deno.test("masks of a real vocabulary: control tokens are never allowed, end tokens where the text may end", async () => {
  const tokenizer = loadTokenizer((await readGguf(GOLDEN)).metadata);
  const automaton = new Automaton(grammarOf(parseRegex("[^]*")));
  const masks = new LazyMasks(tokenizer, tokenizer.vocabSize).masks;
  const allowed = new Set(tokensOf(masks.of(automaton, automaton.start).mask));
  for (let token = 0; token < tokenizer.vocabSize; token++) {
    if (tokenizer.endTokens.has(token)) assert(allowed.has(token));
    else if (tokenizer.isControl(token)) assert(!allowed.has(token));
  }
  const begun = new Automaton(grammarOf(parseRegex("a+")));
  const first = tokensOf(masks.of(begun, begun.start).mask);
  assert(first.length > 0);
  for (const token of first) {
    assertEquals(/^a+$/.test(tokenizer.decode([token], { continuing: true })), true);
  }
});

Deno.test("masks that are evicted are made again, and are the same", () => {
  const vocabulary = madeVocabulary();
  // So wide that few fit into the memory that is kept.
  const masks = new LazyMasks(vocabulary, 8 * 2 ** 20).masks;
  const automaton = new Automaton(GRAMMARS.json);
  const text = encoder.encode('{"ab": [1, 2, {"c": "d"}], "e": {"f": "gh", "01": [[0]]}}');
  const round = () => {
    let state = automaton.start;
    return Array.from(text, (byte) => {
      const tokens = tokensOf(masks.of(automaton, state).mask.subarray(0, 128));
      state = automaton.next(state, byte)!;
      return tokens.join();
    });
  };
  assertEquals(round(), round());
});

Deno.test("what is prepared while the device computes is what states ask for, and ends", () => {
  for (const grammar of Object.values(GRAMMARS)) {
    const vocabulary = madeVocabulary();
    const automaton = new Automaton(grammar);
    const masks = new LazyMasks(vocabulary, vocabulary.vocabSize).masks;
    const preparation = new Preparation(automaton, masks);
    for (let i = 0; i < 2000 && !preparation.isDone; i++) preparation.proceed();
    assert(preparation.isDone);
    const looked: unknown[] = [];
    const alone = automaton.alone.bind(automaton);
    automaton.alone = (frame) => {
      looked.push(frame);
      return alone(frame);
    };
    let state: State = automaton.start;
    const random = randomIntegers(9);
    for (let length = 0; length < 20; length++) {
      const tokens = tokensOf(masks.of(automaton, state).mask);
      assertEquals(tokens, allowedNaively(automaton, state, vocabulary));
      const going = tokens.filter((token) => !vocabulary.endTokens.has(token));
      if (going.length === 0) break;
      state = automaton.after(state, vocabulary.tokenBytes(going[random(going.length)]))!;
    }
    assertEquals(looked.length, 0, "a place was not prepared");
  }
});

Deno.test("masks made in pieces, while others have their turn, are those made at once; who needs them sooner gets them", async () => {
  const vocabulary = madeVocabulary();
  const automaton = new Automaton(GRAMMARS.json);
  const [atOnce, inPieces, interrupted, stopped] = Array.from(
    { length: 4 },
    () => new LazyMasks(vocabulary, vocabulary.vocabSize),
  );
  const maskOf = ({ masks }: LazyMasks) => masks.of(automaton, automaton.start).mask;
  inPieces.begin();
  for (let i = 0; inPieces["made"] === undefined && i < 1000; i++) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  assert(inPieces["made"] !== undefined, "they are never made");
  interrupted.begin();
  // Nothing is left behind for the time after: the test runner would find its timer.
  stopped.begin();
  stopped.stop();
  for (const lazy of [inPieces, interrupted, stopped]) assertEquals(maskOf(lazy), maskOf(atOnce));
  interrupted.stop();
});
