/**
 * What strangers send to stall a server: each is cheap to send, within the limit of a body, and known to have cost
 * much, or likely to.
 *
 * @module
 */

/** A request. */
export interface Input {
  readonly name: string;
  readonly path: string;
  /** Its text, made when it is sent. */
  readonly body: () => string;
}

/** A little less than the longest body that a server reads. */
const MOST = 4 * 2 ** 20 - 4096;

const ids = (count: number, id = 5) => `[${new Array(count).fill(id).join()}]`;
const words = (length: number) => "the quick brown fox jumps. ".repeat(length / 27 | 0);
const json = (value: unknown) => () => JSON.stringify(value);

const chat = (name: string, fields: Record<string, unknown>): Input => ({
  name,
  path: "/v1/chat/completions",
  body: json({ messages: [{ role: "user", content: "Hi" }], max_tokens: 2, ...fields }),
});
const completion = (name: string, fields: Record<string, unknown>): Input => ({
  name,
  path: "/v1/completions",
  body: json({ prompt: "Hi", max_tokens: 2, ...fields }),
});
const schema = (name: string, schema: unknown): Input =>
  completion(`schema: ${name}`, { json_schema: schema, max_tokens: 24 });
const regex = (name: string, regex: string): Input =>
  completion(`regex: ${name}`, { regex, max_tokens: 24 });
const grammar = (name: string, grammar: string): Input =>
  completion(`GBNF: ${name}`, { grammar, max_tokens: 24 });

const properties = (count: number, of: unknown = { type: "string" }) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`property_${i}`, of]));
const nestedSchema = (levels: number) =>
  Array.from({ length: levels }).reduce<unknown>(
    (inner) => ({ type: "object", properties: { a: inner } }),
    { type: "string" },
  );
const tool = (name: string, parameters: unknown) => ({
  type: "function",
  function: { name, description: "x", parameters },
});

const SCHEMAS: readonly Input[] = [
  schema("1,500 optional properties", { type: "object", properties: properties(1500) }),
  schema("1,500 optional properties of other names", {
    type: "object",
    properties: Object.fromEntries(
      Array.from({ length: 1500 }, (_, i) => [`${(7919 * i + 13) % 99_991}x${i}`, {}]),
    ),
  }),
  schema("an array of an enum of 5,000 texts", {
    type: "array",
    items: { enum: Array.from({ length: 5000 }, (_, i) => `value ${i}`) },
  }),
  schema("3,000 required properties", {
    type: "object",
    properties: properties(3000),
    required: Object.keys(properties(3000)),
  }),
  schema("an enum of 20,000 texts", {
    enum: Array.from({ length: 20_000 }, (_, i) => `value ${i}`),
  }),
  schema("an enum of 100,000 numbers", { enum: Array.from({ length: 100_000 }, (_, i) => i) }),
  schema("an enum of one text of 3 MB", { enum: ["x".repeat(3_000_000)] }),
  schema("a constant nested 200 deep", {
    const: Array.from({ length: 200 }).reduce<unknown>((inner) => [inner], 1),
  }),
  schema("anyOf of 200 objects", {
    anyOf: Array.from({ length: 200 }, (_, i) => ({ properties: properties(i % 20) })),
  }),
  schema("allOf of anyOf, 16 by 16", {
    allOf: Array.from({ length: 2 }, (_, i) => ({
      anyOf: Array.from({ length: 16 }, (_, j) => ({
        properties: { [`a${i}${j}`]: { type: "integer", minimum: j } },
      })),
    })),
  }),
  schema("nested 200 deep", nestedSchema(200)),
  schema("a pattern of counts", { type: "string", pattern: "^((a{1,40}){1,40}){1,40}$" }),
  schema("a pattern with a long maxLength", {
    type: "string",
    pattern: "^[a-z]+(-[a-z0-9]+)*$",
    maxLength: 2000,
  }),
  schema("patterns met with patterns", {
    allOf: Array.from({ length: 12 }, (_, i) => ({ type: "string", pattern: `[a-z]{${i}}.*x` })),
  }),
  schema("a number between many digits", {
    type: "number",
    minimum: -1.123456789012345e-200,
    maximum: 9.87654321e250,
  }),
  schema("an integer of many digits", { type: "integer", minimum: 123456789, multipleOf: 1 }),
  schema("2,048 items", {
    type: "array",
    maxItems: 2048,
    minItems: 2000,
    items: { type: "object" },
  }),
  schema("refs to refs", {
    $ref: "#/$defs/d0",
    $defs: Object.fromEntries(
      Array.from({ length: 1000 }, (_, i) => [`d${i}`, { $ref: `#/$defs/d${(i + 1) % 1000}` }]),
    ),
  }),
  schema("refs that branch", {
    $ref: "#/$defs/d0",
    $defs: Object.fromEntries(
      Array.from({ length: 60 }, (_, i) => [
        `d${i}`,
        { anyOf: [{ $ref: `#/$defs/d${i + 1}` }, { items: { $ref: `#/$defs/d${i + 1}` } }] },
      ]).concat([["d60", { type: "null" }]] as [string, never][]),
    ),
  }),
  schema("not of much", {
    not: { anyOf: [{ enum: Array.from({ length: 5000 }, (_, i) => `${i}`) }] },
  }),
  schema("4 MB of descriptions", {
    type: "object",
    properties: { a: { type: "string", description: "x".repeat(MOST - 1000) } },
  }),
  schema("patternProperties", {
    type: "object",
    patternProperties: Object.fromEntries(
      Array.from({ length: 60 }, (_, i) => [`^a${i}.*b`, { type: "string" }]),
    ),
  }),
  chat("tools: 120 of 8 enums of 300", {
    tools: Array.from({ length: 120 }, (_, i) =>
      tool(`tool_${i}`, {
        type: "object",
        properties: properties(8, {
          enum: Array.from({ length: 300 }, (_, j) => `value ${i} ${j}`),
        }),
      })),
  }),
  chat("tools: one with 1,500 optional properties", {
    tools: [tool("a", { type: "object", properties: properties(1500) })],
    tool_choice: "required",
  }),
  chat("tools: 2,000 of them", {
    tools: Array.from({ length: 2000 }, (_, i) => tool(`tool_${i}`, { type: "object" })),
  }),
];

const nestedCount = (item: string, levels: number, count: string) =>
  Array.from({ length: levels }).reduce<string>((inner) => `(${inner})${count}`, item);

const EXPRESSIONS: readonly Input[] = [
  regex("((a{1,100}){1,100}){1,100}", "((a{1,100}){1,100}){1,100}"),
  regex("(a|b|ab)* 100 deep", `${"(".repeat(100)}a|b${")*".repeat(100)}`),
  regex(".{1,2000}.{1,2000}", ".{1,2000}.{1,2000}"),
  regex("(.*a){20}", "(.*a){20}"),
  regex("[unicode]{2000}", "\\p{L}{1,2000}"),
  regex("many classes", "[a-z\\d\\p{Greek}]?".repeat(3000)),
  regex("100 KB of letters", "a".repeat(100_000)),
  regex("4 MB of letters", "a".repeat(MOST - 100)),
  regex(
    "alternatives of 10,000 words",
    Array.from({ length: 10_000 }, (_, i) => `w${i}`).join("|"),
  ),
  regex("parentheses 100,000 deep", "(".repeat(100_000) + "a" + ")".repeat(100_000)),
  grammar("4 MB of one text", `root ::= "${"x".repeat(MOST - 100)}"`),
  grammar(
    "50,000 rules",
    "root ::= r0\n" +
      Array.from({ length: 50_000 }, (_, i) => `r${i} ::= "a" r${i + 1} | "b"`).join("\n") +
      '\nr50000 ::= "c"',
  ),
  grammar("counts of counts", 'root ::= ((("a"{1,100}){1,100}){1,100}){1,100}'),
  grammar("a rule that is ambiguous", 'root ::= a\na ::= a a a a | "a" | ""'),
  grammar("ambiguous to the right", 'root ::= a a a a a a a a\na ::= "a" a | "a" a a | "a" | ""'),
  grammar("nested 50,000 deep", `root ::= ${"(".repeat(50_000)}"a"${")".repeat(50_000)}`),
  grammar("100,000 alternatives", `root ::= ${new Array(100_000).fill('"ab"').join(" | ")}`),
  grammar("large classes", `root ::= ${new Array(3000).fill("[^a-z\\u1000-\\u5000]").join(" ")}`),
  grammar("{2,3} nested 9 times", `root ::= ${nestedCount("[a-z ]", 9, "{2,3}")}`),
  grammar("{0,3} nested 8 times", `root ::= ${nestedCount("[a-z ]?", 8, "{0,3}")}`),
  grammar("ambiguous everywhere", 'root ::= a a a\na ::= [a-z ] a | [a-z ] a a | [^0] | ""'),
  grammar(
    "900 rules that begin with each other, in two ways",
    "root ::= r0\n" +
      Array.from({ length: 900 }, (_, i) => `r${i} ::= r${i + 1} [a-z ]* | "x" r${i + 1}`)
        .join("\n") +
      "\nr900 ::= [a-z ]*",
  ),
  grammar(
    "3,000 rules of any letters",
    `root ::= (${Array.from({ length: 3000 }, (_, i) => `r${i}`).join("|")})*\n` +
      Array.from({ length: 3000 }, (_, i) => `r${i} ::= [a-z ]+ "${i}" r${(7 * i + 1) % 3000}?`)
        .join("\n"),
  ),
  grammar(
    "3,000 rules that may be empty",
    "root ::= r0\n" +
      Array.from({ length: 3000 }, (_, i) => `r${i} ::= [a-z ]* r${i + 1}?`).join("\n") +
      "\nr3000 ::= [a-z ]*",
  ),
  grammar(
    "20,000 alternatives that begin alike",
    `root ::= (${Array.from({ length: 20_000 }, (_, i) => `"a" [a-z] "${i}"`).join("|")})*`,
  ),
  regex("(.{0,50}){0,50}", "(.{0,50}){0,50}"),
  regex("(.{1,30}x?){300}", "(.{1,30}x?){300}"),
  regex(".*a.{1000}", ".*a.{1000}"),
  completion("choice of 100,000 texts", {
    choice: Array.from({ length: 100_000 }, (_, i) => `text ${i * 7919}`),
  }),
  completion("choice of two texts of 2 MB", { choice: ["a".repeat(2e6), "b".repeat(2e6)] }),
];

const nested = (open: string, close: string, levels: number) =>
  `${open.repeat(levels)}1${close.repeat(levels)}`;

const BODIES: readonly Input[] = [
  {
    name: "JSON: arrays 2 million deep",
    path: "/v1/completions",
    body: () => `{"prompt":${nested("[", "]", 2_000_000)}}`,
  },
  {
    name: "JSON: objects 800,000 deep",
    path: "/v1/completions",
    body: () => `{"prompt":"a","metadata":${nested('{"a":', "}", 600_000)}}`,
  },
  {
    name: "JSON: arrays 9,000 deep",
    path: "/v1/completions",
    body: () => `{"prompt":"a","json_schema":${nested("[", "]", 9000)}}`,
  },
  {
    name: "JSON: 2 million numbers in an unknown field",
    path: "/v1/completions",
    body: () => `{"prompt":"a","x":${ids(2_000_000, 1)}}`,
  },
  {
    name: "JSON: numbers with more digits than a double has",
    path: "/v1/completions",
    body: () =>
      `{"prompt":"a","x":${
        ids(400_000, 1.5).replaceAll("1.5", "12345678901234567")
          .slice(0, MOST - 100).replace(/,\d*$/, "")
      }]}`,
  },
  {
    name: "JSON: 400,000 keys",
    path: "/v1/completions",
    body: () => `{"prompt":"a",${Array.from({ length: 300_000 }, (_, i) => `"k${i}":1`).join()}}`,
  },
  {
    name: "JSON: 300,000 keys that are numbers",
    path: "/v1/completions",
    body: () =>
      `{"prompt":"a","x":{${
        Array.from({ length: 300_000 }, (_, i) => `"${300_000 - i}":1`).join()
      }}}`,
  },
  {
    name: "JSON: 4 MB of escapes",
    path: "/v1/completions",
    body: () => `{"prompt":"${"\\u0041".repeat(MOST / 6 - 20 | 0)}"}`,
  },
  {
    name: "JSON: 4 MB of backslashes",
    path: "/v1/completions",
    body: () => `{"prompt":"${"\\\\".repeat(MOST / 2 - 20 | 0)}"}`,
  },
  { name: "JSON: 4 MB of blanks", path: "/v1/completions", body: () => " ".repeat(MOST) },
  {
    name: "JSON: 4 MB that end too early",
    path: "/v1/completions",
    body: () => `{"prompt":"a","x":${ids(2_000_000, 1).slice(0, -1)}`,
  },
  {
    name: "JSON: a seed of 19 digits among seeds",
    path: "/v1/completions",
    body: () =>
      `{"prompt":"a","seed":1234567890123456789,"x":[${
        new Array(180_000).fill('{"seed": 123456789}').join()
      }]}`,
  },
];

const TOKENS: readonly Input[] = [
  {
    name: "/detokenize of 10^6 ids",
    path: "/detokenize",
    body: () => `{"tokens":${ids(1_000_000)}}`,
  },
  {
    name: "/detokenize of 2 x 10^6 ids",
    path: "/detokenize",
    body: () => `{"tokens":${ids(2_000_000)}}`,
  },
  {
    name: "/detokenize of 10^6 ids that are none",
    path: "/detokenize",
    body: () => `{"tokens":${ids(500_000, 999999)}}`,
  },
  { name: "/tokenize of 4 MB", path: "/tokenize", body: json({ content: words(MOST - 100) }) },
  {
    name: "/tokenize of 4 MB with pieces",
    path: "/tokenize",
    body: json({ content: words(MOST - 100), with_pieces: true }),
  },
  {
    name: "/tokenize of 4 MB without a blank, with pieces",
    path: "/tokenize",
    body: json({ content: "x1~".repeat(MOST / 3 - 100 | 0), with_pieces: true }),
  },
  {
    name: "/tokenize of 1 million emoji with pieces",
    path: "/tokenize",
    body: json({ content: "👩".repeat(MOST / 4 - 100 | 0), with_pieces: true }),
  },
  {
    name: "/tokenize of 4 MB of special tokens",
    path: "/tokenize",
    body: json({ content: "<s>".repeat(MOST / 3 - 100 | 0) }),
  },
  {
    name: "/tokenize of 4 MB of blanks",
    path: "/tokenize",
    body: json({ content: " ".repeat(MOST - 100) }),
  },
  completion("a prompt of 4 MB", { prompt: words(MOST - 100) }),
  completion("a prompt of 10^6 ids", { prompt: new Array(1_000_000).fill(5) }),
  completion("a prompt of ids that are none", { prompt: new Array(500_000).fill(99999) }),
  completion("100,000 prompts", { prompt: new Array(100_000).fill("a") }),
  completion("300 prompts of 10 KB", { prompt: new Array(300).fill(words(10_000)) }),
  {
    name: "/v1/embeddings of 100,000 texts",
    path: "/v1/embeddings",
    body: json({ input: new Array(100_000).fill("a b c") }),
  },
  {
    name: "/v1/embeddings of 2,000 texts",
    path: "/v1/embeddings",
    body: json({ input: new Array(2000).fill(words(1800)) }),
  },
  {
    name: "/v1/embeddings of 4 MB",
    path: "/v1/embeddings",
    body: json({ input: words(MOST - 100) }),
  },
  {
    name: "/api/embed of 4 MB, cut",
    path: "/api/embed",
    body: json({ input: words(MOST - 100), truncate: true }),
  },
  {
    name: "/api/embed of 2,000 texts, cut",
    path: "/api/embed",
    body: json({ input: new Array(2000).fill(words(1800)), truncate: true }),
  },
  {
    name: "/infill of 4 MB",
    path: "/infill",
    body: json({ input_prefix: words(2e6 - 100), input_suffix: words(2e6) }),
  },
  {
    name: "/infill of 1,000 files",
    path: "/infill",
    body: json({
      input_prefix: "a",
      input_suffix: "b",
      input_extra: new Array(1000).fill({ filename: "a", text: words(3000) }),
    }),
  },
];

const INFILL: readonly Input[] = [
  {
    name: "/infill of 4 MB, all of it a suffix",
    path: "/infill",
    body: json({ input_prefix: "a", input_suffix: words(MOST - 200) }),
  },
  {
    name: "/infill of 20,000 short files",
    path: "/infill",
    body: json({
      input_prefix: "a",
      input_suffix: "b",
      input_extra: new Array(20_000).fill({ filename: "a", text: words(120) }),
    }),
  },
  completion("a suffix of 4 MB", { prompt: "a", suffix: words(MOST - 200) }),
  completion("16 prompts with a suffix of 200 KB", {
    prompt: new Array(16).fill("a"),
    suffix: words(200_000),
  }),
  {
    name: "/api/generate with a suffix of 4 MB",
    path: "/api/generate",
    body: json({ prompt: "a", suffix: words(MOST - 200), stream: false }),
  },
  {
    name: "/rerank of 100,000 texts",
    path: "/rerank",
    body: json({ query: "a", documents: new Array(100_000).fill("a b c") }),
  },
  {
    name: "/rerank of 4 MB",
    path: "/rerank",
    body: json({ query: "a", documents: [words(MOST - 200)] }),
  },
  {
    name: "/tokenize of 4 MB of one letter",
    path: "/tokenize",
    body: json({ content: "a".repeat(MOST - 100) }),
  },
  {
    name: "/tokenize of 4 MB as vLLM asks",
    path: "/tokenize",
    body: json({ prompt: words(MOST - 100) }),
  },
];

const many = (count: number, length: number) =>
  Array.from({ length: count }, (_, i) => ({
    role: i % 2 === 0 ? "user" : "assistant",
    content: words(length),
  }));

const CONVERSATIONS: readonly Input[] = [
  chat("chat: one message of 4 MB", { messages: many(1, MOST - 200) }),
  chat("chat: 50,000 messages", {
    messages: Array.from({ length: 50_001 }, (_, i) => ({
      role: i % 2 ? "assistant" : "user",
      content: "a b",
    })),
  }),
  chat("chat: 100,000 parts", {
    messages: [{ role: "user", content: new Array(100_000).fill({ type: "text", text: "a" }) }],
  }),
  chat("chat: 20,000 calls of tools", {
    messages: [
      { role: "user", content: "a" },
      {
        role: "assistant",
        content: null,
        tool_calls: Array.from({ length: 20_000 }, (_, i) => ({
          id: `c${i}`,
          type: "function",
          function: { name: "f", arguments: '{"a":1}' },
        })),
      },
      ...Array.from({ length: 10_000 }, (_, i) => ({
        role: "tool",
        tool_call_id: `c${i}`,
        content: "b",
      })),
    ],
    tools: [tool("f", { type: "object" })],
  }),
  chat("chat: 4 MB of arguments", {
    messages: [
      { role: "user", content: "a" },
      {
        role: "assistant",
        content: null,
        tool_calls: [{
          id: "c",
          type: "function",
          function: { name: "f", arguments: `{"a":${ids(1_500_000, 1)}}` },
        }],
      },
      { role: "tool", tool_call_id: "c", content: "b" },
    ],
  }),
  chat("chat: an image of 4 MB in base64", {
    messages: [{
      role: "user",
      content: [{
        type: "image_url",
        image_url: { url: `data:image/png;base64,${"A".repeat(MOST - 300)}` },
      }],
    }],
  }),
  chat("chat: 5,000 tools in the history and 500 that may be called", {
    messages: [
      { role: "user", content: "a" },
      ...Array.from({ length: 5000 }, (_, i) => [
        {
          role: "assistant",
          content: null,
          tool_calls: [{
            id: `c${i}`,
            type: "function",
            function: { name: "f", arguments: `{"a":${ids(60, 1)}}` },
          }],
        },
        { role: "tool", tool_call_id: `c${i}`, content: words(200) },
      ]).flat(),
    ],
    tools: Array.from({ length: 500 }, (_, i) => tool(`tool_${i}`, { type: "object" })),
  }),
  chat("chat: 4 MB of descriptions of tools", {
    tools: Array.from(
      { length: 100 },
      (_, i) =>
        tool(`tool_${i}`, { type: "object", properties: { a: { description: words(40_000) } } }),
    ),
  }),
  chat("chat: a schema nested 900 deep in tools", { tools: [tool("a", nestedSchema(450))] }),
  {
    name: "/v1/messages with 2,000 tools",
    path: "/v1/messages",
    body: json({
      max_tokens: 2,
      messages: many(1, 20),
      tools: Array.from({ length: 2000 }, (_, i) => ({
        name: `tool_${i}`,
        input_schema: { type: "object", properties: properties(20) },
      })),
    }),
  },
  {
    name: "/v1/messages of 20,000 results of tools",
    path: "/v1/messages",
    body: json({
      max_tokens: 2,
      messages: [
        { role: "user", content: "a" },
        {
          role: "assistant",
          content: Array.from({ length: 20_000 }, (_, i) => ({
            type: "tool_use",
            id: `c${i}`,
            name: "f",
            input: { a: i },
          })),
        },
        {
          role: "user",
          content: Array.from({ length: 20_000 }, (_, i) => ({
            type: "tool_result",
            tool_use_id: `c${i}`,
            content: "b",
          })),
        },
      ],
    }),
  },
  {
    name: "/v1/responses of 20,000 calls and what they gave",
    path: "/v1/responses",
    body: json({
      max_output_tokens: 16,
      input: Array.from({ length: 10_000 }, (_, i) => [
        { type: "function_call", call_id: `c${i}`, name: "f", arguments: '{"a":1}' },
        { type: "function_call_output", call_id: `c${i}`, output: "b" },
      ]).flat(),
    }),
  },
  {
    name: "/v1/responses with 2,000 tools",
    path: "/v1/responses",
    body: json({
      max_output_tokens: 16,
      input: "a",
      tools: Array.from({ length: 2000 }, (_, i) => ({
        type: "function",
        name: `tool_${i}`,
        parameters: { type: "object", properties: properties(20) },
      })),
    }),
  },
  {
    name: "/api/chat with 2,000 tools",
    path: "/api/chat",
    body: json({
      messages: many(1, 20),
      stream: false,
      tools: Array.from(
        { length: 2000 },
        (_, i) => tool(`tool_${i}`, { type: "object", properties: properties(20) }),
      ),
    }),
  },
  {
    name: "/apply-template of 4 MB",
    path: "/apply-template",
    body: json({ messages: many(400, 10_000) }),
  },
  {
    name: "/apply-template of 50,000 messages",
    path: "/apply-template",
    body: json({ messages: many(50_000, 27) }),
  },
  {
    name: "/v1/messages of 4 MB",
    path: "/v1/messages",
    body: json({ max_tokens: 2, messages: many(401, 10_000) }),
  },
  {
    name: "/v1/messages/count_tokens of 4 MB",
    path: "/v1/messages/count_tokens",
    body: json({ messages: many(401, 10_000) }),
  },
  {
    name: "/v1/messages of 100,000 blocks",
    path: "/v1/messages",
    body: json({
      max_tokens: 2,
      messages: [{ role: "user", content: new Array(90_000).fill({ type: "text", text: "a" }) }],
    }),
  },
  {
    name: "/v1/responses of 50,000 items",
    path: "/v1/responses",
    body: json({
      max_output_tokens: 16,
      input: new Array(50_000).fill({ role: "user", content: "a" }),
    }),
  },
  {
    name: "/v1/responses of 4 MB, kept",
    path: "/v1/responses",
    body: json({ max_output_tokens: 16, store: true, input: words(MOST - 200) }),
  },
  {
    name: "/api/chat of 50,000 messages",
    path: "/api/chat",
    body: json({ messages: many(50_000, 27) }),
  },
  {
    name: "/api/generate of 4 MB",
    path: "/api/generate",
    body: json({ prompt: words(MOST - 200), stream: false }),
  },
  {
    name: "/api/generate with a context of 10^6 ids",
    path: "/api/generate",
    body: json({ prompt: "a", context: new Array(1_000_000).fill(5), stream: false }),
  },
];

const FIELDS: readonly Input[] = [
  completion("n of 128", { n: 128, max_tokens: 4 }),
  completion("n of 10^9", { n: 1e9 }),
  completion("logprobs of 20, n of 32, 64 tokens", {
    n: 32,
    logprobs: 20,
    max_tokens: 64,
    ignore_eos: true,
  }),
  completion("stop of 100,000 texts", { stop: new Array(100_000).fill("abc") }),
  completion("stop of 16 texts of 200 KB", {
    stop: Array.from({ length: 16 }, (_, i) => `${i}` + "x".repeat(200_000)),
    max_tokens: 64,
  }),
  completion("logit_bias of 200,000 tokens", {
    logit_bias: Object.fromEntries(Array.from({ length: 200_000 }, (_, i) => [i, 1])),
  }),
  completion("logit_bias as 200,000 pairs", {
    logit_bias: Array.from({ length: 200_000 }, (_, i) => [i, 1]),
  }),
  completion("dry_sequence_breakers of 100,000 texts", {
    dry_multiplier: 1,
    dry_sequence_breakers: new Array(100_000).fill("ab"),
  }),
  completion("an unknown model of 4 MB", { model: "m".repeat(MOST - 200) }),
  completion("a wrong field of 4 MB", { temperature: "t".repeat(MOST - 200) }),
  completion("keep_alive of 3 MB of digits", { keep_alive: "1".repeat(100_000) + "x" }),
  chat("metadata of 200,000 pairs", { metadata: properties(200_000, "a") }),
  chat("a tool_choice of 4 MB", { tool_choice: "x".repeat(MOST - 300) }),
  {
    name: "/api/show of a name of 4 MB",
    path: "/api/show",
    body: json({ model: "m".repeat(MOST - 100) }),
  },
  { name: "/api/show", path: "/api/show", body: json({ model: "demo", verbose: true }) },
  {
    name: "/api/create of a template of 4 MB",
    path: "/api/create",
    body: json({ model: "x", from: "demo", template: "{{ x }}".repeat(MOST / 7 - 100 | 0) }),
  },
  {
    name: "/api/pull of slashes",
    path: "/api/pull",
    body: json({ model: `hf.co/a${"/".repeat(MOST - 100)}b` }),
  },
  {
    name: "/m40/mcp/call of 4 MB",
    path: "/m40/mcp/call",
    body: json({ name: "a", arguments: "{".repeat(MOST - 100) }),
  },
];

const kvBlock = (path: string): Input => ({ name: `GET ${path}`, path, body: () => "" });

/** All that is known. */
export const INPUTS: readonly Input[] = [
  ...["/openapi.json", "/docs", "/metrics", "/slots", "/v1/models", "/api/tags", "/"].map(kvBlock),
  ...BODIES,
  ...TOKENS,
  ...INFILL,
  ...CONVERSATIONS,
  ...FIELDS,
  ...EXPRESSIONS,
  ...SCHEMAS,
];
