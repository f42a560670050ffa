import { assert, assertEquals, assertThrows } from "@std/assert";
import { Automaton, type State } from "../../engine/grammar/automaton.ts";
import { parseGbnf } from "../../engine/grammar/gbnf.ts";
import { M40Error } from "../../engine/errors.ts";
import type { Grammar } from "../../engine/grammar/grammar.ts";
import { LikelyTexts } from "../../engine/grammar/likely_texts.ts";
import { jsonObjectGrammar } from "../../engine/grammar/json.ts";
import { LazyMasks } from "../../engine/grammar/lazy_masks.ts";
import { Preparation } from "../../engine/grammar/preparation.ts";
import { parseRegex } from "../../engine/grammar/regex.ts";
import { loadTokenizer, readGguf } from "../../engine/mod.ts";
import { GOLDEN } from "../fixtures/goldens.ts";
import { grammarOf, randomIntegers } from "../fixtures/grammar_texts.ts";

const encoder = new TextEncoder();

/** Texts of tokens as vocabularies have them: single bytes, parts of words, marks that begin or end others. */
function madeVocabulary() {
  const random = randomIntegers(5);
  const parts = [
    ..."abcdefgh0123 ",
    '"',
    '",',
    '":',
    ..."{}[],:._-~/%",
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
  addresses: grammarOf(parseRegex("[a-d]+:[a-h0-9._~-]*(/[a-h0-9._~,:-]*)*(%[^ ]*)?")),
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

Deno.test("tokens by which a class of characters goes on are taken whole, whatever kinds of them it has", () => {
  const random = randomIntegers(3);
  const text = () => Array.from({ length: 8 }, () => "abcdefgh0123"[random(12)]).join("");
  const texts = Array.from({ length: 2000 }, () => encoder.encode(`a${text()}`));
  const vocabulary = {
    vocabSize: texts.length,
    tokenBytes: (token: number) => texts[token],
    endTokens: new Set<number>(),
    isControl: () => false,
  };
  // No blank may come, which prose has.
  const automaton = new Automaton(grammarOf(parseRegex('[A-Za-z0-9]*"')));
  const masks = new LazyMasks(vocabulary, vocabulary.vocabSize).masks;
  let bytes = 0;
  const next = automaton.next.bind(automaton);
  automaton.next = (state, byte) => {
    bytes++;
    return next(state, byte);
  };
  assertEquals(tokensOf(masks.of(automaton, automaton.start).mask).length, texts.length);
  assert(bytes < texts.length, `${bytes} bytes were looked at`);
});

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

/** A preparation over a vocabulary, and what it prepares for. */
function preparing(grammar: Grammar) {
  const vocabulary = madeVocabulary();
  const automaton = new Automaton(grammar);
  const masks = new LazyMasks(vocabulary, vocabulary.vocabSize).masks;
  // Texts are written with a token a byte.
  const texts = new LikelyTexts({
    tokenBytes: vocabulary.tokenBytes,
    encode: (text) => [...encoder.encode(text)],
  });
  return {
    vocabulary,
    automaton,
    masks,
    texts,
    preparation: new Preparation(automaton, masks, texts),
  };
}

/** Prepares what there is for an answer at a state. */
function prepareAll(preparation: Preparation, state: State): void {
  let parts = 0;
  while (preparation.proceed(state)) assert(parts++ < 20_000, "it never ends");
}

for (const [name, grammar] of Object.entries(GRAMMARS)) {
  Deno.test(`what an answer may come to next is prepared while the device computes, and is right: ${name}`, () => {
    const { vocabulary, automaton, masks, preparation } = preparing(grammar);
    const random = randomIntegers(9);
    let state: State = automaton.start;
    for (let length = 0; length < 20; length++) {
      prepareAll(preparation, state);
      const nexts = automaton.statesBehind(state);
      // Where there are more than are prepared, the first are.
      for (const next of nexts.slice(0, 8)) {
        assert(masks.isWide(next) || masks.knows(automaton, next), "a state was not prepared");
      }
      const tokens = tokensOf(masks.of(automaton, state).mask);
      assertEquals(tokens, allowedNaively(automaton, state, vocabulary));
      const going = tokens.filter((token) => !vocabulary.endTokens.has(token));
      if (going.length === 0) break;
      state = automaton.after(state, vocabulary.tokenBytes(going[random(going.length)]))!;
    }
  });
}

Deno.test("the states on the way of a text that likely comes are prepared, however long it is", () => {
  const { automaton, masks, texts, preparation } = preparing(
    parseGbnf('root ::= "{" ("first_property_of_many" | "a") "}"'),
  );
  const state = automaton.after(automaton.start, encoder.encode("{f"))!;
  prepareAll(preparation, state);
  const states = texts.statesAfter(automaton, state);
  assertEquals(states.length, "irst_property_of_many}".length);
  for (const next of states) assert(masks.knows(automaton, next));
});

Deno.test("states that go through most of the vocabulary are prepared, however far away they are", () => {
  const far = "far".repeat(20);
  const { automaton, masks, preparation } = preparing(
    parseGbnf(`root ::= "${far}" text "${far}" | "b"\ntext ::= "\\"" [^"]* "\\""`),
  );
  prepareAll(preparation, automaton.start);
  const state = automaton.after(automaton.start, encoder.encode(`${far}"x`))!;
  assert(!masks.knows(automaton, state));
  for (const { frame } of state.items) {
    assert(masks.prepare(automaton, frame, 0), "a state of a string was not prepared");
  }
});

Deno.test("a mask that is wanted while its state is half explored is the same", () => {
  for (const grammar of Object.values(GRAMMARS)) {
    const { vocabulary, automaton, masks } = preparing(grammar);
    const { start } = automaton;
    for (const { frame } of start.items) masks.prepare(automaton, frame, 40);
    const tokens = tokensOf(masks.of(automaton, start).mask);
    assertEquals(tokens, allowedNaively(automaton, start, vocabulary));
  }
});

Deno.test("a mask whose making was too much at one node is right at the next call", () => {
  const grammar = parseGbnf(`root ::= " " [a-z]* "x" | [^ ] ([^q]* [a-m] [^q] | [^z]* [b-p] [^z])`);
  let cutOff = 0;
  for (let nodes = 1; nodes < 400; nodes += 7) {
    const { vocabulary, automaton, masks } = preparing(grammar);
    const { start } = automaton;
    for (const { frame } of start.items) masks.prepare(automaton, frame, nodes);
    const allow = automaton.allowWork.bind(automaton);
    for (let work = 50; work < 3200; work *= 2) {
      automaton.allowWork = () => allow(work);
      try {
        masks.of(automaton, start);
        break;
      } catch {
        cutOff++;
      }
    }
    automaton.allowWork = allow;
    const tokens = tokensOf(masks.of(automaton, start).mask);
    assertEquals(tokens, allowedNaively(automaton, start, vocabulary));
  }
  assert(cutOff > 5, `${cutOff} were cut off`);
});

Deno.test("parts of a state's work share one limit; beyond it preparing ends, and an answer that comes there gets the error", () => {
  const { vocabulary, automaton, masks, preparation } = preparing(GRAMMARS.json);
  const { start } = automaton;
  const allow = automaton.allowWork.bind(automaton);
  const allowed: number[] = [];
  automaton.allowWork = (most) => {
    allowed.push(most);
    allow(most);
  };
  const [{ frame }] = start.items;
  while (!masks.prepare(automaton, frame, 20));
  assert(allowed.length > 2);
  assertEquals(allowed, allowed.toSorted((a, b) => b - a));
  assert(allowed.at(-1)! < allowed[0]);

  const state = automaton.after(start, encoder.encode('{"'))!;
  automaton.allowWork = () => allow(0);
  prepareAll(preparation, state);
  assert(!masks.knows(automaton, state));
  assertEquals(preparation.proceed(start), false);
  const error = assertThrows(() => masks.of(automaton, state), M40Error);
  assertEquals(error.code, "invalid_request");
  automaton.allowWork = allow;
  const tokens = tokensOf(masks.of(automaton, state).mask);
  assertEquals(tokens, allowedNaively(automaton, state, vocabulary));
});

Deno.test("a grammar that is nearly too large is not made larger by what is prepared for it", () => {
  const { automaton, masks, preparation } = preparing(GRAMMARS.json);
  const state = automaton.after(automaton.start, encoder.encode('{"'))!;
  automaton["frames"]["nodeCount"] = 3_900_000;
  prepareAll(preparation, state);
  assertEquals(automaton["frames"]["nodeCount"], 3_900_000);
  assert(!masks.knows(automaton, state));
  assert(tokensOf(masks.of(automaton, state).mask).length > 0);
});

Deno.test("masks made in pieces, between other work, are those made at once; an early call gets them", async () => {
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

Deno.test("a mask that takes much is found out in many parts, each of bounded work, and is the one made at once", () => {
  const vocabulary = madeVocabulary();
  const grammar = grammarOf(parseRegex("(.{0,12}){0,12}"));
  const atOnce = new Automaton(grammar);
  const wanted = new LazyMasks(vocabulary, vocabulary.vocabSize).masks.of(atOnce, atOnce.start);
  const automaton = new Automaton(grammar);
  const masks = new LazyMasks(vocabulary, vocabulary.vocabSize).masks;
  const allow = automaton.allowWork.bind(automaton);
  let before = 0;
  automaton.allowWork = (most) => {
    before = most;
    allow(most);
  };
  let parts = 1;
  for (; !masks.proceed(automaton, automaton.start); parts++) {
    assert(before - automaton.workLeft < 150_000, `${before - automaton.workLeft}`);
  }
  assert(parts > 3, `${parts} parts`);
  assertEquals(masks.of(automaton, automaton.start), wanted);
});
