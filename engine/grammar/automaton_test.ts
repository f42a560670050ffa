import { assert, assertEquals, assertThrows } from "@std/assert";
import { Automaton } from "./automaton.ts";
import type { Expression, Grammar } from "./grammar.ts";
import { parseGbnf } from "./gbnf.ts";
import { jsonObjectGrammar } from "./json.ts";
import { parseRegex } from "./regex.ts";
import { normalizeRanges, utf8Sequences } from "./utf8_ranges.ts";
import { M40Error } from "../mod.ts";
import {
  grammarOf,
  matches,
  matchesNaively,
  mayBegin,
  randomIntegers,
} from "../../tests/fixtures/grammar_texts.ts";

const CASES = Number(Deno.env.get("M40_FUZZ_CASES") ?? 400);
const LETTERS = ["a", "b", "é", "😀"];

/** A random expression over a few letters. Rules are named behind a letter alone, so none is left-recursive. */
function randomExpression(random: (limit: number) => number, depth: number): Expression {
  const inner = () => randomExpression(random, depth - 1);
  const some = () => Array.from({ length: random(3) + 1 }, inner);
  switch (depth <= 0 ? random(3) : random(8)) {
    case 0:
      return { kind: "literal", text: LETTERS[random(4)] + LETTERS[random(4)] };
    case 1:
      return { kind: "literal", text: random(5) === 0 ? "" : LETTERS[random(4)] };
    case 2:
      return {
        kind: "characters",
        ranges: [[0x61, 0x61], ...(random(2) ? [[0xe9, 0x1f600] as const] : [])],
        negated: random(3) === 0,
      };
    case 3:
    case 4:
      return { kind: "sequence", items: some() };
    case 5:
      return { kind: "choice", options: some() };
    case 6: {
      const least = random(3);
      return {
        kind: "repeat",
        item: inner(),
        least,
        most: random(2) ? undefined : least + random(3),
      };
    }
    default: {
      const named: Expression = { kind: "rule", name: ["root", "one", "two"][random(3)] };
      return { kind: "sequence", items: [{ kind: "literal", text: "a" }, named, ...some()] };
    }
  }
}

function randomGrammar(random: (limit: number) => number): Grammar {
  const rule = () => randomExpression(random, 3);
  // An alternative without rules, so that there is an end.
  const ending = (): Expression => ({
    kind: "choice",
    options: [rule(), { kind: "literal", text: LETTERS[random(4)] }],
  });
  return { root: "root", rules: new Map([["root", rule()], ["one", ending()], ["two", ending()]]) };
}

Deno.test("random grammars: the automaton accepts what a matcher that tries everything accepts, and nothing else", () => {
  const random = randomIntegers(1);
  let accepted = 0;
  let refused = 0;
  for (let i = 0; i < CASES; i++) {
    const grammar = randomGrammar(random);
    let automaton: Automaton;
    try {
      automaton = new Automaton(grammar);
    } catch (error) {
      assert(error instanceof M40Error && /never ends/.test(error.message), String(error));
      continue;
    }
    for (let j = 0; j < 40; j++) {
      const text = Array.from({ length: random(7) }, () => LETTERS[random(4)]).join("");
      const expected = matchesNaively(grammar, text);
      assertEquals(matches(automaton, text), expected, `${i}: ${JSON.stringify(text)}`);
      if (expected) accepted++;
      else refused++;
    }
  }
  assert(accepted > CASES && refused > CASES, `${accepted} accepted, ${refused} refused`);
});

Deno.test("what a state allows leads to an end: every random prefix can be completed", () => {
  const random = randomIntegers(2);
  for (let i = 0; i < CASES / 4; i++) {
    let automaton: Automaton;
    try {
      automaton = new Automaton(randomGrammar(random));
    } catch {
      continue;
    }
    let state = automaton.start;
    for (let length = 0; length < 30; length++) {
      const bytes = Array.from({ length: 256 }, (_, byte) => byte)
        .filter((byte) => automaton.next(state, byte) !== undefined);
      assert(bytes.length > 0 || state.canEnd, "a prefix with no way on");
      if (bytes.length === 0) break;
      state = automaton.next(state, bytes[random(bytes.length)])!;
    }
  }
});

Deno.test("UTF-8: ranges of characters allow exactly their bytes", () => {
  const encoder = new TextEncoder();
  for (
    const [first, last] of [[0x20, 0x10ffff], [0x3ff, 0x1234], [0xfffe, 0x10fffe], [0x7f, 0x80]]
  ) {
    const sequences = normalizeRanges([[first, last]]).flatMap(utf8Sequences);
    for (let code = 0; code <= 0x10ffff; code += code < 0x3000 ? 1 : 37) {
      if (code >= 0xd800 && code <= 0xdfff) continue;
      const bytes = encoder.encode(String.fromCodePoint(code));
      const found = sequences.filter((ranges) =>
        ranges.length === bytes.length &&
        ranges.every(([from, to], i) => bytes[i] >= from && bytes[i] <= to)
      );
      assertEquals(found.length, code >= first && code <= last ? 1 : 0, code.toString(16));
    }
  }
});

Deno.test("UTF-8: bytes that are none are refused at the first that cannot be, also of surrogates", () => {
  const automaton = new Automaton(grammarOf({ kind: "characters", ranges: [], negated: true }));
  for (const bytes of [[0x80], [0xc0], [0xed, 0xa0], [0xf4, 0x90], [0xf5], [0xe0, 0x80], [0xff]]) {
    assertEquals(automaton.after(automaton.start, Uint8Array.from(bytes)), undefined, `${bytes}`);
  }
  assert(matches(automaton, Uint8Array.of(0xf0, 0x9f, 0x98, 0x80)));
});

Deno.test("JSON: objects are accepted, what only looks like one is not", () => {
  const automaton = new Automaton(jsonObjectGrammar());
  const nested = (depth: number) => `{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`;
  const good = [
    "{}",
    '{"a":1}',
    '{"a": [1, -2.5e3, {"b": "é😀\\n\\u00e9"}], "": null}',
    nested(300),
  ];
  for (const text of good) {
    JSON.parse(text);
    assert(matches(automaton, text), text);
  }
  const bad = ["[]", '{"a":01}', "{a:1}", '{"a":1,}', '{"a":1}}', '{"a":"\n"}', '{"a":tru}', ""];
  for (const text of bad) assert(!matches(automaton, text), text);
  assert(!mayBegin(automaton, '{"a":.'));
  assert(mayBegin(automaton, '{"a":"\\u00'));
});

Deno.test("a rule that may begin with itself, that is missing or that never ends is refused by name", () => {
  const refused: [string, RegExp][] = [
    ['root ::= root "a" | "b"', /"root" is left-recursive/],
    ['root ::= one\none ::= "x"? two\ntwo ::= one | "y"', /"(one|two)" is left-recursive/],
    ['root ::= "" one\none ::= ("a" | root)', /is left-recursive/],
    ["root ::= other", /no rule "other"/],
    ['root ::= "a" root', /"root": it never ends/],
    ['start ::= "a"', /no rule root/],
  ];
  for (const [text, message] of refused) {
    const error = assertThrows(() => new Automaton(parseGbnf(text)), M40Error);
    assert(message.test(error.message), error.message);
    assertEquals(error.code, "invalid_request");
  }
});

Deno.test("a class without characters, of surrogates alone as well, is no way on, and rules that name it do not crash", () => {
  const ending: Expression = { kind: "literal", text: "c".repeat(300) };
  const empty: Expression[] = [
    { kind: "characters", ranges: [[0xd800, 0xdfff]] },
    { kind: "characters", ranges: [[0xdfff, 0xdfff], [0xd900, 0xd901]] },
    { kind: "characters", ranges: [[0, 0xd7ff], [0xe000, 0x10ffff]], negated: true },
    { kind: "characters", ranges: [] },
    parseRegex("[^\\s\\S]"),
    parseRegex("\\p{Surrogate}"),
  ];
  for (const none of empty) {
    const error = assertThrows(() => new Automaton(grammarOf(none)), M40Error);
    assert(/no text matches the rule "root"/.test(error.message), error.message);
    const rules = new Map<string, Expression>([
      // Too long to be put where it is named.
      ["never", { kind: "sequence", items: [none, ending] }],
      ["led", { kind: "sequence", items: [none, { kind: "rule", name: "ending" }] }],
      ["ending", ending],
    ]);
    for (const name of ["never", "led"]) {
      const named: Expression = { kind: "rule", name };
      const items: Expression[] = [{ kind: "literal", text: "a" }, named];
      const options: Expression[] = [
        named,
        { kind: "sequence", items },
        {
          kind: "sequence",
          items: [{ kind: "literal", text: "b" }, { kind: "repeat", item: named, least: 0 }],
        },
      ];
      const automaton = new Automaton({
        root: "root",
        rules: new Map([...rules, ["root", { kind: "choice", options }]]),
      });
      assert(matches(automaton, "b"));
      for (const text of ["a", "c", "bc", "\ufffd"]) assert(!mayBegin(automaton, text), text);
      for (const { frame } of automaton.start.items) automaton.behindPlace(frame);
    }
  }
});

Deno.test("hostile grammars end in an error or in a decision, and soon", () => {
  const of = (pattern: string) => new Automaton(grammarOf(parseRegex(pattern)));
  const options = (count: number) =>
    grammarOf({
      kind: "choice",
      options: Array.from({ length: count }, (_, i): Expression => ({
        kind: "literal",
        text: `option${i}`,
      })),
    });
  const doubling = ["root ::= r40", 'r0 ::= "a" | "b"'];
  for (let i = 1; i <= 40; i++) doubling.push(`r${i} ::= r${i - 1} r${i - 1}`);
  const attacks: [string, () => void][] = [
    ["nested counts", () => of("((((a{1,100}){1,100}){1,100}){1,100})")],
    ["counts of nothing", () => of("((){1000}){100000}")],
    ["nested empty loops", () => assert(matches(of("((((a*)*)*)*)*b"), "a".repeat(2000) + "b"))],
    ["a million alternatives", () => new Automaton(options(1_000_000))],
    [
      "exponential alternatives",
      () => assert(!matches(of("((a|ab)(c|bcd))*x"), "abcd".repeat(2000))),
    ],
    ["rules that double", () => void matches(new Automaton(parseGbnf(doubling.join("\n"))), "ab")],
    ["deep parentheses", () => parseGbnf("root ::= " + "(".repeat(100_000))],
    ["deep groups", () => parseRegex("(".repeat(100_000))],
    ["sets of states that explode", () => matches(of("(a?){2000}a{2000}"), "a".repeat(4000))],
    ["deep recursion", () => {
      const automaton = new Automaton(jsonObjectGrammar());
      assert(!matches(automaton, '{"a":' + "[".repeat(100_000)));
    }],
  ];
  for (const [name, attack] of attacks) {
    const started = performance.now();
    try {
      attack();
    } catch (error) {
      assert(error instanceof M40Error, `${name}: ${error}`);
      assertEquals(error.code, "invalid_request");
    }
    // A second where nothing else runs; tests share their processors. What grows as it should not takes hours.
    assert(performance.now() - started < 120_000, name);
  }
});

Deno.test("stacks of ambiguous rules stay small: two ways to the same rule are one place", () => {
  const automaton = new Automaton(parseGbnf(
    'root ::= one | two\none ::= "a" one "x" | "m"\ntwo ::= "a" two "y" | "m"',
  ));
  const text = "a".repeat(200) + "m";
  assert(matches(automaton, text + "x".repeat(200)));
  assert(matches(automaton, text + "y".repeat(200)));
  assert(!mayBegin(automaton, text + "xy"));
});

/** What a text takes of a grammar, in nodes, items and stacks that are looked at. */
function workOf(grammar: string, text: string): number {
  const automaton = new Automaton(parseGbnf(grammar));
  const most = 1e9;
  automaton.allowWork(most);
  mayBegin(automaton, text);
  return most - automaton.workLeft;
}

Deno.test("rules that begin with each other in two ways take work in proportion to their number, squared at most", () => {
  const rules = (count: number) =>
    ["root ::= r0"].concat(
      Array.from({ length: count }, (_, i) => `r${i} ::= r${i + 1} [a-z ]* | "x" r${i + 1}`),
      `r${count} ::= [a-z ]*`,
    ).join("\n");
  const few = workOf(rules(40), "xx");
  const more = workOf(rules(80), "xx");
  assert(more < 5 * few, `${few}, ${more}`);
  assert(workOf(rules(120), "xx") < 400_000);
});

Deno.test("one byte that takes too much is refused before its end, whatever may be done in all", () => {
  const count = 400;
  const others = (i: number) =>
    Array.from({ length: 40 }, (_, j) => `r${(i + 3 * j * j + 1) % count} "x${i % 37}_${j}"`);
  const rules = Array.from(
    { length: count },
    (_, i) => `r${i} ::= "a" (${others(i).join("|")}) | "y"`,
  );
  const root = `root ::= ${rules.map((_, i) => `r${i} "${i}"`).join("|")}`;
  const automaton = new Automaton(parseGbnf([root, ...rules].join("\n")));
  const most = 1e9;
  automaton.allowWork(most);
  assertThrows(() => mayBegin(automaton, "aaaa"), M40Error, "too ambiguous");
  assert(most - automaton.workLeft < 500_000, `${most - automaton.workLeft}`);
});

Deno.test("a repetition of thousands of rules is followed, in work that grows with their number", () => {
  const repeated = (count: number) => {
    const rules = Array.from({ length: count }, (_, i) => `r${i} ::= [a-z ]+ "${i}"`);
    return [`root ::= (${rules.map((_, i) => `r${i}`).join("|")})*`, ...rules].join("\n");
  };
  const few = workOf(repeated(300), "ab1ab");
  const many = workOf(repeated(3000), "ab1ab");
  assert(many < 15 * few, `${few}, ${many}`);
});

Deno.test("of the bytes that will likely follow no more are looked for where that takes much", () => {
  const names = Array.from({ length: 3000 }, (_, i) => `"property_${i}" [a-z]*`);
  const automaton = new Automaton(parseGbnf(`root ::= ${names.join(" | ")}`));
  const most = 1e9;
  automaton.allowWork(most);
  const bytes = automaton.likelyBytes(automaton.start, 128);
  assertEquals("property_".startsWith(new TextDecoder().decode(bytes)), true);
  assert(most - automaton.workLeft < 50_000, `${most - automaton.workLeft}`);
});
