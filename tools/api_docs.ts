/**
 * Writes the second half of docs/api.md, every operation and every field, out of the schemas that check
 * requests and answers: `deno task api-docs`. What stands above the mark is written by hand.
 *
 * @module
 */
import { fromFileUrl } from "@std/path";
import { describeApi } from "../server/api/document.ts";
import {
  inAnswer,
  inRequest,
  type Presence,
  type SchemaField,
  schemaFields,
} from "../server/api/schema_fields.ts";
import type { Operation } from "../server/operation.ts";
import { OPERATIONS } from "../server/api/operations.ts";

/** What stands between what is written by hand and what is not. */
const MARK = "<!-- From here on written by `deno task api-docs`. -->";
const PAGE = fromFileUrl(new URL("../docs/api.md", import.meta.url));

/** The page as it has to be, with what is written by hand out of the page as it is. */
export async function apiPage(page: string): Promise<string> {
  const at = page.indexOf(MARK);
  if (at < 0) throw new Error(`docs/api.md has no line ${MARK}`);
  const written = OPERATIONS.map(operationText).join("\n\n");
  return await formatted(`${page.slice(0, at)}${MARK}\n\n${written}\n`);
}

function operationText(operation: Operation): string {
  const { method, path, summary, description, body, answer, events = [], open } = operation;
  const parts = [
    `## ${method} ${path}`,
    `${summary}. ${description}${open ? " It needs no key." : ""}`,
  ];
  if (body !== undefined) parts.push("Request:", fieldsText(fieldsOf(body), inRequest));
  if (typeof answer === "string") parts.push(`Answer: \`${answer}\`.`);
  else {
    const fields = fieldsOf(answer);
    if (fields.length > 0) parts.push("Answer:", fieldsText(fields, inAnswer));
  }
  for (const event of events) {
    if (event !== answer) parts.push("Event of a stream:", fieldsText(fieldsOf(event), inAnswer));
  }
  return parts.join("\n\n");
}

const { schemas } = (await describeApi(false)).components;

function fieldsOf(schema: NonNullable<Operation["body"]>): SchemaField[] {
  return schemaFields(schemas[schema.meta()!.id!], schemas);
}

function fieldsText(fields: readonly SchemaField[], presence: Presence, indent = ""): string {
  return fields.map(({ name, type, required, description, fields }) => {
    const kind = type + presence(required);
    const line = `${indent}- \`${name}\` (${kind})${description === "" ? "" : `: ${description}`}`;
    return fields.length === 0 ? line : `${line}\n${fieldsText(fields, presence, indent + "  ")}`;
  }).join("\n");
}

/** The text as `deno fmt` has it. */
async function formatted(text: string): Promise<string> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["fmt", "--ext", "md", "-"],
    cwd: fromFileUrl(new URL("..", import.meta.url)),
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(text));
  await writer.close();
  const { success, stdout, stderr } = await child.output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

if (import.meta.main) {
  await Deno.writeTextFile(PAGE, await apiPage(await Deno.readTextFile(PAGE)));
}
