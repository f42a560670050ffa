import { assert, assertEquals, assertThrows } from "@std/assert";
import { Automaton } from "./automaton.ts";
import { parseRegex } from "./regex.ts";
import { M40Error } from "../mod.ts";
import { grammarOf, matches, randomIntegers } from "../../tests/fixtures/grammar_texts.ts";

const CASES = Number(Deno.env.get("M40_FUZZ_CASES") ?? 300);

const PATTERNS = [
  "",
  "abc",
  "a|b|",
  "^a(b|c)*d$",
  "^a$|^b$",
  "(?:a|b){2,3}",
  "(?<first>a)b?",
  "a{0}b{1,}c{2}",
  "a*?b+?c??",
  ".",
  ".+b",
  "[a-c]+[^a-c]",
  "[^]a[\\]\\-^]",
  "[]|a",
  "[\\d_]+[\\w-]*",
  "\\d+\\D\\w\\W\\s\\S",
  "\\u00e9\\x41\\u{1F600}\\uD83D\\uDE00?",
  "\\.\\*\\/\\(\\)\\[",
  "\\t\\n\\r\\f\\v\\0",
  "[\\b]a",
  "\\p{Lu}\\p{L}*",
  "[\\p{Nd}x]\\P{L}",
  "(((a|b)|c)|)d",
  "a-b]*".replace("]", "\\]"),
];
const CHARACTERS = [..."abcdxAZ09_-. \n\té😀]*\\"];

Deno.test("regular expressions match the texts that ECMAScript's do", () => {
  const random = randomIntegers(3);
  for (const pattern of PATTERNS) {
    const automaton = new Automaton(grammarOf(parseRegex(pattern)));
    const expected = new RegExp(`^(?:${pattern})$`, "u");
    const searching = new Automaton(grammarOf(parseRegex(pattern, { search: true })));
    const found = new RegExp(pattern, "u");
    for (let i = 0; i < CASES; i++) {
      const text = Array.from({ length: random(6) }, () => CHARACTERS[random(CHARACTERS.length)])
        .join("");
      const shown = `/${pattern}/ ${JSON.stringify(text)}`;
      assertEquals(matches(automaton, text), expected.test(text), shown);
      assertEquals(matches(searching, text), found.test(text), `anywhere: ${shown}`);
    }
  }
});

Deno.test("regular expressions that people constrain answers with", () => {
  const vectors: [string, string[], string[]][] = [
    ["\\d{4}-\\d{2}-\\d{2}", ["2024-02-29"], ["2024-2-29", "x2024-02-29"]],
    ["\\w+@\\w+\\.com\\n", ["a_1@b.com\n"], ["a@b.org\n", "a@b.com"]],
    ["((25[0-5]|(2[0-4]|1\\d|[1-9]|)\\d)\\.?\\b){4}".replace("\\b", ""), ["10.0.0.255"], [
      "10.0.0.256x",
    ]],
    ["(?P<year>19|20)\\d\\d", ["1999", "2024"], ["2124"]],
    ['{"a": \\d}', ['{"a": 1}'], ['{"a": x}']],
    ["[\\u4e00-\\u9fff]{2}", ["日本"], ["日", "ab"]],
    ["(red|green|blue)( (red|green|blue)){0,2}", ["red", "blue red green"], ["red blue red blue"]],
  ];
  for (const [pattern, good, bad] of vectors) {
    const automaton = new Automaton(grammarOf(parseRegex(pattern)));
    for (const text of good) assert(matches(automaton, text), `${pattern} refused ${text}`);
    for (const text of bad) assert(!matches(automaton, text), `${pattern} accepted ${text}`);
  }
});

Deno.test("what is not regular, or wrong, is refused by its name and place", () => {
  const refused: [string, string][] = [
    ["a(?=b)", "column 2: lookahead"],
    ["a(?!b)", "column 2: negative lookahead"],
    ["(?<=a)b", "column 1: lookbehind"],
    ["(?<!a)b", "column 1: negative lookbehind"],
    ["(a)\\1", "column 4: a backreference"],
    ["(?<x>a)\\k<x>", "column 8: a backreference"],
    ["(?P<x>a)(?P=x)", "column 9: a backreference"],
    ["\\bword", "column 1: the assertion \\b"],
    ["(?i)a", "column 1: a group with options"],
    ["(?>a)", "column 1: an atomic group"],
    ["(?R)", "column 1: recursion"],
    ["a++", "column 3: a possessive quantifier"],
    ["a**", "column 3: got two quantifiers"],
    ["a{1,2}{3}", "column 7: got a repetition"],
    ["*a", "column 1: got *"],
    ["a^b", "column 2: got the anchor ^"],
    ["(a$)b", "column 3: got the anchor $"],
    ["(a", "column 1: got no )"],
    ["a)", "column 2: got )"],
    ["[a", "column 1: got no ]"],
    ["[b-a]", "column 2: a range"],
    ["[\\d-z]", "column 2: a range"],
    ["[[:alpha:]]", "column 4: a POSIX class"],
    ["\\q", "column 1: there is no escape \\q"],
    ["\\p{Nonsense}", "column 1: wanted a Unicode property"],
    ["a{3,1}", "column 2: a repetition has a larger"],
    ["a{,3}", "column 2: {,n}"],
    ["a{1000000}", "column 2: a repetition of more"],
    ["\\ud800", "column 1: there is no escape"],
  ];
  for (const [pattern, message] of refused) {
    const error = assertThrows(() => parseRegex(pattern), M40Error, undefined, pattern);
    assert(error.message.includes(message), `${pattern}: ${error.message}`);
    assertEquals(error.param, "regex");
  }
});
