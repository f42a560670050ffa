import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { ToolCallPiece } from "../mod.ts";
import { TOOL_FORMATS } from "./formats.ts";
import { ScannedCalls } from "./scanned_calls.ts";
import { type Sample, sampleName, SAMPLES, TOOLS } from "../../../tests/fixtures/tool_samples.ts";

interface Answer {
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly arguments: string }[];
  readonly pieces: readonly ToolCallPiece[];
}

/** What a reader makes of texts that come one after the other. */
function read(reader: ScannedCalls, texts: readonly string[], ends = true): Answer {
  const outputs = texts.map((text) => reader.push(text));
  if (ends) outputs.push(reader.flush());
  const pieces = outputs.flatMap(({ toolCalls }) => toolCalls);
  const calls: { name: string; arguments: string }[] = [];
  for (const { index, name, arguments: text } of pieces) {
    if (name !== undefined) {
      assertEquals(index, calls.length, "calls are numbered in their order");
      calls.push({ name, arguments: "" });
    }
    assertEquals(index, calls.length - 1, "pieces are of the last call");
    calls[index].arguments += text;
  }
  return { text: outputs.map(({ text }) => text).join(""), calls, pieces };
}

const readerOf = ({ format }: Sample) => new ScannedCalls(format.read, TOOLS);
const parsed = (calls: Answer["calls"]) =>
  calls.map(({ name, arguments: text }) => ({ name, arguments: JSON.parse(text) }));

for (const sample of SAMPLES) {
  const { text, calls } = sample;
  const characters = [...text];

  Deno.test(`${sampleName(sample)}: calls are read, whole and by the character alike`, () => {
    const whole = read(readerOf(sample), [text]);
    assertEquals(parsed(whole.calls), calls);
    assertEquals(whole.text, "");
    const single = read(readerOf(sample), characters);
    assertEquals(single.calls, whole.calls);
    assertEquals(single.text, "");
    for (const length of [2, 3, 7, 16]) {
      const parts = text.match(new RegExp(`[^]{1,${length}}`, "gu"))!;
      assertEquals(read(readerOf(sample), parts).calls, whole.calls);
    }
  });

  Deno.test(`${sampleName(sample)}: arguments come before the call is over`, () => {
    const longest = Math.max(...calls.map((call) => JSON.stringify(call.arguments).length));
    if (longest < 20) return;
    const { pieces } = read(readerOf(sample), characters);
    assert(pieces.filter((piece) => piece.arguments !== "").length > 5);
  });

  Deno.test(`${sampleName(sample)}: an answer that is cut has the start of its calls`, () => {
    const whole = read(readerOf(sample), [text]);
    for (let length = 0; length < characters.length; length++) {
      const cut = read(readerOf(sample), [characters.slice(0, length).join("")]);
      assertEquals(cut.text, "", `${length} characters`);
      for (const [i, call] of cut.calls.entries()) {
        assertEquals(call.name, whole.calls[i].name);
        assert(whole.calls[i].arguments.startsWith(call.arguments), `${length} characters`);
        if (i < cut.calls.length - 1) assertEquals(call, whole.calls[i]);
      }
    }
  });

  Deno.test(`${sampleName(sample)}: what is no call behind an opener is content`, () => {
    const opener = sample.format.openers(TOOLS).find((opener) => text.startsWith(opener))!;
    for (const rest of [" is what calls begin with.", "\n\n1 < 2 [x] {y} (z)"]) {
      const texts = [...opener + rest];
      const said = read(readerOf(sample), texts);
      assertEquals(said.calls, []);
      assertEquals(said.text, opener + rest);
    }
  });
}

Deno.test("what stands behind calls is content, but for white space", () => {
  for (const sample of SAMPLES) {
    const quiet = read(readerOf(sample), [...`${sample.text} \n`]);
    assertEquals(quiet.text, "", sampleName(sample));
    const said = read(readerOf(sample), [...`${sample.text}\nThat is all.`]);
    assertEquals(parsed(said.calls), sample.calls);
    assertEquals(said.text.trim(), "That is all.", sampleName(sample));
  }
});

Deno.test("readers make the same of any text however it comes, and fail on none", () => {
  for (const format of TOOL_FORMATS) {
    const texts = SAMPLES.filter((sample) => sample.format === format).map(({ text }) => text);
    // Pieces of calls in any order, with what belongs to none of them between.
    const parts = texts.flatMap((text) => text.match(/[\w.]+|\s+|<[^<>]*>|[^]/gu) ?? []);
    const fragment = fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...parts, '"', "{", "}") },
      { weight: 1, arbitrary: fc.string({ unit: "grapheme", maxLength: 4 }) },
      { weight: 1, arbitrary: fc.constantFrom("\\", "'", "\\u12", "[".repeat(300), "{a:", "<") },
    );
    const text = fc.tuple(
      fc.constantFrom("", ...format.openers(TOOLS), ...texts),
      fc.nat(200),
      fc.array(fragment, { maxLength: 12 }),
    ).map(([begin, length, rest]) => begin.slice(0, length) + rest.join(""));
    fc.assert(
      fc.property(text, (text) => {
        const whole = read(new ScannedCalls(format.read, TOOLS), [text]);
        const single = read(new ScannedCalls(format.read, TOOLS), [...text]);
        assertEquals(single.calls, whole.calls);
        assertEquals(single.text, whole.text);
      }),
      { numRuns: 150, seed: 5 },
    );
  }
});
