/** Tools that tests offer to models, whatever the dialect, and what calls of them may be. */
import { assert, assertEquals } from "@std/assert";

/** A tool with parameters that all have to be there. */
export const WEATHER = {
  name: "weather",
  description: "What the weather is.",
  parameters: {
    type: "object" as const,
    properties: {
      city: { enum: ["Paris", "Rome"] },
      days: { type: "integer", minimum: 1, maximum: 9 },
    },
    required: ["city", "days"],
    additionalProperties: false,
  },
};

/** A tool without parameters. */
export const TIME = {
  name: "time",
  parameters: { type: "object" as const, properties: {}, additionalProperties: false },
};

/** Checks that a call is one of these tools', with arguments that fit it. */
export function checkCall(name: string, given: unknown): void {
  if (name === TIME.name) return assertEquals(given, {});
  const { city, days, ...rest } = given as { city: string; days: number };
  assert(WEATHER.parameters.properties.city.enum.includes(city), city);
  assert(Number.isInteger(days) && days >= 1 && days <= 9, `${days}`);
  assertEquals([name, rest], [WEATHER.name, {}]);
}
