/**
 * What the benchmarks of constrained output use: the tools of an agent that writes code, calls as a model writes them,
 * and a schema that requires such a call.
 *
 * @module
 */

const text = (description: string, more = {}) => ({ type: "string", description, ...more });
const count = (description: string, minimum: number, maximum: number) => ({
  type: "integer",
  description,
  minimum,
  maximum,
});
const flag = (description: string) => ({ type: "boolean", description });
const list = (items: unknown, more = {}) => ({ type: "array", items, ...more });
const object = (properties: Record<string, unknown>, required = Object.keys(properties)) => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});

/** Names of tools, and the schemas of their arguments. */
export const AGENT_TOOLS: Readonly<Record<string, unknown>> = {
  read_file: object({
    path: text("The file's absolute path"),
    first_line: count("Where to begin", 1, 1_000_000),
    line_count: count("How many lines to read", 1, 2000),
  }, ["path"]),
  write_file: object({
    path: text("The file's absolute path"),
    content: text("All of its new content"),
    create_folders: flag("Whether folders on the way are made"),
  }),
  edit_file: object({
    path: text("The file's absolute path"),
    edits: list(
      object({
        old_text: text("Text that is there once", { minLength: 1 }),
        new_text: text("What comes in its place"),
        replace_all: flag("Whether it may be there several times"),
      }, ["old_text", "new_text"]),
      { minItems: 1, maxItems: 50 },
    ),
  }),
  search_text: object({
    pattern: text("A regular expression"),
    directory: text("Where to look"),
    case_sensitive: flag("Whether case matters"),
    file_types: list({ enum: ["ts", "js", "py", "rs", "go", "c", "cpp", "md", "json"] }),
    context_lines: count("Lines around each hit", 0, 20),
    output: { enum: ["content", "files_with_matches", "count"] },
  }, ["pattern", "directory", "output"]),
  list_directory: object({
    path: text("An absolute path"),
    depth: count("How deep to go", 1, 10),
    ignore: list(text("A glob"), { maxItems: 20 }),
  }, ["path"]),
  run_command: object({
    command: text("A line for a shell"),
    working_directory: text("Where it runs"),
    timeout_seconds: count("When it is ended", 1, 600),
    environment: { type: "object", additionalProperties: { type: "string" } },
    background: flag("Whether not to wait for it"),
  }, ["command", "timeout_seconds"]),
  fetch_kv_block: object({
    url: text("What to fetch", { format: "uri" }),
    question: text("What to look for in it"),
    headers: list(object({ name: text("Its name"), value: text("Its value") })),
  }, ["url", "question"]),
  update_plan: object({
    explanation: text("Why it changes"),
    steps: list(
      object({
        title: text("What is to be done"),
        status: { enum: ["pending", "in_progress", "completed", "cancelled"] },
        priority: { enum: ["low", "medium", "high"] },
      }),
      { minItems: 1, maxItems: 30 },
    ),
  }, ["steps"]),
  ask_user: object({
    question: text("What to ask"),
    options: list(object({ label: text("In a few words"), description: text("What it means") }), {
      minItems: 2,
      maxItems: 4,
    }),
    multiple: flag("Whether several may be chosen"),
  }),
};

/** What an answer must be that is a call of one of the tools. */
export const CALL_SCHEMA: Readonly<Record<string, unknown>> = {
  anyOf: Object.entries(AGENT_TOOLS).map(([name, schema]) =>
    object({ name: { const: name }, arguments: schema })
  ),
};

const call = (name: string, args: unknown) => ({ name, arguments: args });

/** Calls that follow the schema, of 30 to 120 tokens each. */
export const AGENT_CALLS: readonly unknown[] = [
  call("read_file", { path: "/home/ada/engine/src/scheduler.ts", first_line: 120, line_count: 80 }),
  call("search_text", {
    pattern: "class \\w+Scheduler",
    directory: "/home/ada/engine",
    case_sensitive: true,
    file_types: ["ts", "md"],
    context_lines: 3,
    output: "content",
  }),
  call("edit_file", {
    path: "/home/ada/engine/src/pages.ts",
    edits: [{
      old_text: "return this.pages.length;",
      new_text: "return this.pages.length - this.free.length;",
      replace_all: false,
    }],
  }),
  call("run_command", {
    command: "npm test -- --filter scheduler",
    working_directory: "/home/ada/engine",
    timeout_seconds: 300,
    background: false,
  }),
  call("update_plan", {
    explanation: "The tests show where it fails.",
    steps: [
      { title: "Find the KV block that is lost", status: "completed", priority: "high" },
      { title: "Give it back when a sequence ends", status: "in_progress", priority: "high" },
      { title: "Write a test for it", status: "pending", priority: "medium" },
    ],
  }),
  call("list_directory", { path: "/home/ada/engine/tests", depth: 2, ignore: ["node_modules"] }),
  call("write_file", {
    path: "/home/ada/engine/tests/pages.test.ts",
    content: 'import { test } from "./suite.ts";\n\ntest("KV blocks come back", () => {});\n',
    create_folders: false,
  }),
  call("fetch_kv_block", {
    url: "https://example.org/docs/paging.html",
    question: "How are unused KV blocks evicted?",
    headers: [{ name: "Accept", value: "text/html" }],
  }),
  call("ask_user", {
    question: "Which of the two shall I keep?",
    options: [
      { label: "The old one", description: "Slower, but every test passes" },
      { label: "The new one", description: "Faster; two tests have to change" },
    ],
    multiple: false,
  }),
];

/** A value of JSON as models write it: a blank behind commas and colons. */
export function spacedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spacedJson).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, one]) =>
    `${JSON.stringify(key)}: ${spacedJson(one)}`
  );
  return `{${members.join(", ")}}`;
}
