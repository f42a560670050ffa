/** Requests whose cost this benchmark measures, and short ways to write them down. */

/** A request. */
export interface Input {
  readonly name: string;
  readonly path: string;
  /** Its text, made when it is sent. */
  readonly body: () => string;
}

/** A little less than the longest body that a server reads. */
export const MOST = 4 * 2 ** 20 - 4096;

/** What a function makes of each index. */
export const times = <T>(count: number, of: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => of(index));
export const repeat = <T>(count: number, value: T): T[] => new Array<T>(count).fill(value);
export const ids = (count: number, id = 5) => `[${repeat(count, id).join()}]`;
export const words = (length: number) => "the quick brown fox jumps. ".repeat(length / 27 | 0);

/** A body of JSON. */
export const post = (path: string, what: string, fields: Record<string, unknown>): Input => ({
  name: `${path} ${what}`.trim(),
  path,
  body: () => JSON.stringify(fields),
});
/** A completion's body as text. */
export const text = (what: string, body: () => string): Input => ({
  name: `JSON: ${what}`,
  path: "/v1/completions",
  body,
});
export const chat = (name: string, fields: Record<string, unknown>): Input => ({
  ...post("/v1/chat/completions", "", {
    messages: [{ role: "user", content: "Hi" }],
    max_tokens: 2,
    ...fields,
  }),
  name,
});
export const completion = (name: string, fields: Record<string, unknown>): Input => ({
  ...post("/v1/completions", "", { prompt: "Hi", max_tokens: 2, ...fields }),
  name,
});

export const properties = (count: number, of: unknown = { type: "string" }) =>
  Object.fromEntries(times(count, (i) => [`property_${i}`, of]));
export const nestedSchema = (levels: number) =>
  repeat(levels, 0).reduce<unknown>(
    (inner) => ({ type: "object", properties: { a: inner } }),
    { type: "string" },
  );
export const tool = (name: string, parameters: unknown) => ({
  type: "function",
  function: { name, description: "x", parameters },
});
