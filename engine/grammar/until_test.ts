import { assert, assertEquals, assertThrows } from "@std/assert";
import { Automaton } from "./automaton.ts";
import type { Expression } from "./grammar.ts";
import { terminalBytes, tokenTerminal } from "./token_terminals.ts";
import { M40Error } from "../mod.ts";
import { grammarOf, matches, randomIntegers } from "../../tests/fixtures/grammar_texts.ts";

const encoder = new TextEncoder();
const until = (only: "text" | "anything", ...ends: string[]): Expression => ({
  kind: "until",
  ends: ends.map((end) => encoder.encode(end)),
  only,
});

Deno.test("what stands before an end is all that has no end in it and none that begins in it, tried for every text", () => {
  const random = randomIntegers(3);
  for (const end of ["a", "ab", "aa", "aba", "abab", "aabaa", "é", "</a>"]) {
    const letters = [...new Set([...end, "x"])];
    const free = new Automaton(grammarOf(until("text", end)));
    const ended = new Automaton(
      grammarOf({
        kind: "sequence",
        items: [until("text", end), { kind: "literal", text: end }],
      }),
    );
    for (let i = 0; i < 400; i++) {
      const text = Array.from({ length: random(8) }, () => letters[random(letters.length)]).join(
        "",
      );
      // With the end behind it, that is the first one.
      assertEquals(
        matches(free, text),
        (text + end).indexOf(end) === text.length,
        JSON.stringify([end, text]),
      );
      assertEquals(
        matches(ended, text),
        text.indexOf(end) >= 0 && text.indexOf(end) === text.length - end.length,
        JSON.stringify([end, text]),
      );
    }
  }
});

Deno.test("text before an end is whole characters; anything may have any bytes, but ends only between characters", () => {
  const text = new Automaton(grammarOf(until("text", "<")));
  const anything = new Automaton(grammarOf(until("anything", "<")));
  const cases: [number[], boolean, boolean][] = [
    [[], true, true],
    [[0x61], true, true],
    [[0xc3, 0xa9], true, true],
    [[0xf0, 0x9f, 0x98, 0x80], true, true],
    [[0xc3], false, false],
    [[0xc3, 0x61], false, true],
    [[0x80], false, true],
    [[0xed, 0xa0, 0x80], false, true],
    [[0xff, 0x80, 0x80, 0x81], false, true],
    [[0xf0, 0x9f, 0x98, 0x61], false, true],
  ];
  for (const [bytes, isText, isAnything] of cases) {
    const got = [text, anything].map((one) => matches(one, Uint8Array.from(bytes)));
    assertEquals(got, [isText, isAnything], String(bytes));
  }
});

Deno.test("several ends, control tokens among them, each end what is free", () => {
  const token = 151_657;
  const call = tokenTerminal(token);
  const free: Expression = {
    kind: "until",
    ends: [encoder.encode("<tool"), call],
    only: "anything",
  };
  const automaton = new Automaton(
    grammarOf({
      kind: "sequence",
      items: [free, {
        kind: "choice",
        options: [{ kind: "literal", text: "<tool>" }, { kind: "token", token }],
      }],
    }),
  );
  const bytes = (...parts: (string | number)[]) =>
    Uint8Array.from(
      parts.flatMap((part) => [
        ...(typeof part === "number" ? tokenTerminal(part) : encoder.encode(part)),
      ]),
    );
  assert(matches(automaton, bytes("abc", token)));
  assert(matches(automaton, bytes(5, "a<to", 7, "<tool>")));
  assert(!matches(automaton, bytes("abc", token, "d")));
  assert(!matches(automaton, bytes("<tool", token)));
  assert(!matches(automaton, bytes(token + 1)));
});

Deno.test("control tokens are bytes that no text has, each its own; what looks like one is none", () => {
  const seen = new Set<string>();
  for (const token of [0, 1, 127, 128, 16_383, 16_384, 151_657, 2 ** 21 - 1]) {
    const bytes = tokenTerminal(token);
    assert(bytes[0] === 0xff && bytes.every((byte) => byte >= 0x80));
    seen.add(bytes.join());
  }
  assertEquals(seen.size, 8);
  const vocabulary = {
    isControl: (token: number) => token === 1,
    tokenBytes: (token: number) => token === 2 ? Uint8Array.of(0xff) : Uint8Array.of(0x61),
  };
  assertEquals([0, 1, 2].map((token) => terminalBytes(vocabulary, token).length), [1, 4, 0]);
});

Deno.test("an end without a byte is refused", () => {
  assertThrows(() => new Automaton(grammarOf(until("text", ""))), M40Error, "at least one byte");
  assertThrows(() => new Automaton(grammarOf(until("text"))), M40Error, "at least one byte");
});
