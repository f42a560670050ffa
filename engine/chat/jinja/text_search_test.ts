import { assertEquals, assertThrows } from "@std/assert";
import { LIMITS, TemplateLimitError } from "./budget.ts";
import { JinjaTemplate } from "./template.ts";
import { firstPlace, lastPlace } from "./text_search.ts";

/** Nearly stands at each place of a text of one letter alone. */
const nearly = (length: number) => "a".repeat(length) + "b" + "a".repeat(length);

Deno.test("a search ends within a rendering's time, however much of what is looked for stands there", () => {
  const given = { text: "a".repeat(400_000), wanted: nearly(100_000) };
  const limits = { ...LIMITS, milliseconds: 50, mostMilliseconds: 500 };
  for (
    const expression of [
      "wanted in text",
      "text.find(wanted)",
      "text.rfind(wanted)",
      "text.count(wanted)",
      "text.split(wanted)",
      "text | replace(wanted, '')",
    ]
  ) {
    const template = new JinjaTemplate(`{{ ${expression} }}`);
    assertThrows(() => template.render(given, { limits }), TemplateLimitError, "ms", expression);
  }
});

Deno.test("a text is found where it stands, at any place of one that is searched in parts", () => {
  const wanted = `c${nearly(50_000)}c`;
  // As many places as are looked at in one go, one more, and so on.
  for (const before of [0, 1, 1340, 1341, 1342, 1343, 2684, 4027]) {
    const text = "d".repeat(before) + wanted + "d".repeat(1500) + wanted + "d".repeat(before);
    assertEquals(firstPlace(undefined, text, wanted), before);
    const second = text.length - before - wanted.length;
    assertEquals(firstPlace(undefined, text, wanted, before + 1), second);
    assertEquals(lastPlace(undefined, text, wanted), second);
    assertEquals(firstPlace(undefined, text, wanted, second + 1), -1);
    assertEquals(firstPlace(undefined, text, `${wanted}e`), -1);
    assertEquals(lastPlace(undefined, text, `${wanted}e`), -1);
  }
});
