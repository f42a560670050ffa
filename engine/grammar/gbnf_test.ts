import { assert, assertEquals, assertThrows } from "@std/assert";
import { Automaton } from "./automaton.ts";
import { grammarOfSchema } from "./json_schema/mod.ts";
import { parseGbnf } from "./gbnf.ts";
import { M40Error } from "../mod.ts";
import { matches } from "../../tests/fixtures/grammar_texts.ts";

/** Grammars, and texts that match and that do not. */
const VECTORS: [name: string, grammar: string, good: string[], bad: string[]][] = [
  ["a text", 'root ::= "yes"', ["yes"], ["ye", "yess", ""]],
  ["alternatives", 'root ::= "yes" | "no"', ["yes", "no"], ["yesno"]],
  ["an empty alternative", 'root ::= "a" |', ["a", ""], ["aa"]],
  ["comments and empty lines", '# one\n\nroot ::= "a" # two\n\n# "b"\n', ["a"], ["b"]],
  [
    "alternatives on lines of their own",
    'root ::= "a"\n  | "b"\n  | other\nother ::= "c"',
    ["a", "b", "c"],
    ["d"],
  ],
  ["groups over lines", 'root ::= (\n "a"\n ("," "a")*\n)?', ["", "a", "a,a,a"], ["a,", ","]],
  ["lines that Windows ends", 'root ::= one\r\none ::= "a"\r\n', ["a"], ["\r"]],
  ["classes", "root ::= [a-cx_] [^a-c\\n]", ["ad", "_é", "x😀"], ["aa", "a\n", "d"]],
  ["a class with a hyphen and brackets", "root ::= [-+\\[\\]]+", ["-+[]"], ["a"]],
  ["escapes", 'root ::= "\\x41\\u00e9\\U0001F600\\n\\t\\"\\\\"', ['Aé😀\n\t"\\'], ["A"]],
  ["any character", "root ::= . .", ["a\n", "é😀"], ["a", "abc"]],
  ["repetitions", 'root ::= "a"* "b"+ "c"?', ["b", "aabbc"], ["a", "bcc"]],
  ["a count", 'root ::= "ab"{2}', ["abab"], ["ab", "ababab", "abb"]],
  ["counts", 'root ::= [0-9]{2,} "-" [0-9]{0,3} "." "x"{1,2}', ["12-.x", "123-456.xx"], [
    "1-.x",
    "12-1234.x",
  ]],
  ["a repetition of a repetition", 'root ::= ("a" "b"?){2}{2}', ["aaaa", "abaaab"], ["aaa"]],
  ["recursion", 'root ::= "(" root ")" | "x"', ["x", "((x))"], ["((x)", "(x))"]],
  ["names with hyphens and digits", 'root ::= a-1 b_2\na-1 ::= "a"\nb_2 ::= "b"', ["ab"], ["a"]],
  [
    "arithmetic",
    'root ::= (expr "=" ws term "\\n")+\nexpr ::= term ([-+*/] term)*\n' +
    'term ::= ident | num | "(" ws expr ")" ws\nident ::= [a-z] [a-z0-9_]* ws\nnum ::= [0-9]+ ws\n' +
    "ws ::= [ \\t\\n]*",
    ["1+2 = 3\n", "(a+b1)*(3 -4 )= x\n1=1\n"],
    ["1+ = 3\n", "(1=2\n", "1=2"],
  ],
  [
    "moves of chess",
    'root ::= "1. " move " " move "\\n" ([1-9] [0-9]? ". " move " " move "\\n")+\n' +
    'move ::= (pawn | nonpawn | castle) [+#]?\nnonpawn ::= [NBKQR] [a-h]? [1-8]? "x"? [a-h] [1-8]\n' +
    'pawn ::= ([a-h] "x")? [a-h] [1-8] ("=" [NBKQR])?\ncastle ::= "O-O" "-O"?',
    ["1. e4 e5\n2. Nf3 Nc6\n", "1. d4 d5\n2. O-O-O exd8=Q+\n"],
    ["1. e4 e5\n", "1. e9 e5\n2. Nf3 Nc6\n"],
  ],
  [
    "Japanese",
    "root ::= jp+ ([ \\t\\n] jp+)*\njp ::= hiragana | katakana | [、-〿] | [一-鿿]\n" +
    "hiragana ::= [ぁ-ゟ]\nkatakana ::= [ァ-ヿ]",
    ["こんにちは", "日本語 テスト。"],
    ["hello", "日本語 "],
  ],
  [
    "a list",
    'root ::= item+\nitem ::= "- " [^\\r\\n\\x0b\\x0c\\x85\\u2028\\u2029]+ "\\n"',
    ["- one\n- zwei é\n"],
    ["- one", "one\n", "- \n"],
  ],
];

for (const [name, grammar, good, bad] of VECTORS) {
  Deno.test(`GBNF: ${name}`, () => {
    const automaton = new Automaton(parseGbnf(grammar));
    for (const text of good) assert(matches(automaton, text), `refused ${JSON.stringify(text)}`);
    for (const text of bad) assert(!matches(automaton, text), `accepted ${JSON.stringify(text)}`);
  });
}

Deno.test("GBNF: errors name line and column", () => {
  const refused: [string, string][] = [
    ['root ::= ("a"', "line 1, column 14: got the end; wanted )"],
    ['root ::= "a', 'line 1, column 12: got the end; wanted "'],
    ["root ::= [a", "line 1, column 12: got the end; wanted ]"],
    ["root ::= [z-a]", "line 1, column 11: a range"],
    ['root ::= "\\q"', "line 1, column 11: there is no escape \\q"],
    ['root ::= "\\ud800"', "line 1, column 11: \\u wants 4"],
    ['root ::= "a"{3,1}', "line 1, column 13: a repetition has a larger"],
    ['root ::= "a"{x}', "line 1, column 13: wanted a repetition"],
    ['root ::= "a"{1000000}', "line 1, column 13: a repetition of more"],
    ['root ::= "é" %', 'line 1, column 14: got "%"; wanted a new line'],
    ['root ::= "a"\nroot ::= "b"', "line 2, column 1: the rule root is there twice"],
    ['root ::= "a"\n\n= "b"', 'line 3, column 1: got "="; wanted the name'],
    ['root := "a"', 'line 1, column 6: got ":"; wanted ::='],
    ["root ::= <think>", "line 1, column 10: tokens in a grammar"],
  ];
  for (const [grammar, message] of refused) {
    const error = assertThrows(() => parseGbnf(grammar), M40Error);
    assert(error.message.includes(message), error.message);
    assertEquals(error.param, "grammar");
  }
});

Deno.test("GBNF, expressions, JSON Schema: an error is short, however long the names in it are", () => {
  const long = "x".repeat(5000);
  const makers = [
    () => parseGbnf(`root ::= "a"\n${long}`),
    () => new Automaton(parseGbnf(`root ::= ${long}`)),
    () => grammarOfSchema({ $ref: long }),
    () => grammarOfSchema({ type: long }),
    () => grammarOfSchema({ properties: { [long]: { type: long } } }),
    () => grammarOfSchema({ [long]: 1, pattern: long + "(" }),
  ];
  for (const make of makers) {
    const { message } = assertThrows(make, M40Error);
    assert(message.length < 1000, `${message.length} characters`);
  }
});
