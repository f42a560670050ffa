/** What tests of Ollama's dialect share. */
import { assert, assertEquals } from "@std/assert";

// deno-lint-ignore no-explicit-any
type Json = any;

/** The lines of a stream; each is JSON, and the last one ends with a line break too. */
export async function readLines(response: Response): Promise<Json[]> {
  const text = await response.text();
  assertEquals(response.status, 200, text);
  assertEquals(response.headers.get("content-type"), "application/x-ndjson");
  const lines = text.split("\n");
  assertEquals(lines.pop()?.trim(), "", text);
  return lines.map((line) => JSON.parse(line));
}

/** Checks that an answer is an error in Ollama's shape, and gives what it says. */
export async function readOllamaError(response: Response, status: number): Promise<string> {
  const text = await response.text();
  assertEquals(response.status, status, text);
  const { error, ...rest } = JSON.parse(text);
  assertEquals(rest, {});
  assert(typeof error === "string" && error.length > 10, text);
  return error;
}
