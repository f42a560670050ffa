import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { StopStrings } from "./stop_strings.ts";

/** What comes out when `pieces` are pushed one by one. */
function run(stops: string[], pieces: string[]): { text: string; stopped: boolean } {
  const matcher = new StopStrings(stops);
  let text = "";
  for (const piece of pieces) {
    text += matcher.push(piece);
    if (matcher.met !== undefined) return { text, stopped: true };
  }
  return { text: text + matcher.flush(), stopped: false };
}

Deno.test("a stop string that crosses the borders of pieces ends the text before it", () => {
  assertEquals(run(["END"], ["one E", "N", "D two"]), { text: "one ", stopped: true });
});

Deno.test("the reported stop string is the first in the text, and of several at one position the first listed", () => {
  const met = (stops: string[], ...pieces: string[]) => {
    const matcher = new StopStrings(stops);
    return pieces.map((piece) => matcher.met ?? (matcher.push(piece), matcher.met)).at(-1);
  };
  assertEquals(met(["END", "nd"], "an", "d the END"), "nd");
  assertEquals(met(["ab", "a"], "x", "ab"), "ab");
  assertEquals(met(["ab", "a"], "xa", "b"), "a");
  assertEquals(met(["ab"], "xa", "c"), undefined);
});

Deno.test("text that only looked like a stop string is given out in full", () => {
  assertEquals(run(["END."], ["one EN", "D two"]), { text: "one END two", stopped: false });
});

Deno.test("nothing that might start a stop string is given out early", () => {
  const matcher = new StopStrings(["\n\nUser:"]);
  assertEquals(matcher.push("Hello\n"), "Hello");
  assertEquals(matcher.push("\n"), "");
  assertEquals(matcher.push("Bye"), "\n\nBye");
});

Deno.test("however a text is cut into pieces, the same comes out", () => {
  const word = fc.string({ minLength: 1, maxLength: 3, unit: fc.constantFrom("a", "b", "é") });
  const cuts = fc.array(fc.string({ unit: fc.constantFrom("a", "b", "é", "c"), maxLength: 4 }));
  fc.assert(fc.property(fc.array(word, { minLength: 1, maxLength: 3 }), cuts, (stops, pieces) => {
    const whole = pieces.join("");
    const found = stops.map((stop) => whole.indexOf(stop)).filter((at) => at >= 0);
    const got = run(stops, pieces);
    assertEquals(got.stopped, found.length > 0);
    if (!got.stopped) assertEquals(got.text, whole);
    else assertEquals(whole.startsWith(got.text), true);
    if (stops.length === 1 && got.stopped) assertEquals(got.text, whole.slice(0, found[0]));
  }));
});
