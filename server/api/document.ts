import { z } from "zod";
import { othersTurn } from "../../engine/turns.ts";
import { ErrorBody } from "../errors.ts";
import { VERSION } from "../version.ts";
import type { Operation } from "../operation.ts";
import { OPERATIONS } from "./operations.ts";

/** A JSON schema, as far as it is looked at here. */
export interface Schema {
  readonly $ref?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

/** A description of the API in OpenAPI 3.1, as far as it is looked at here. */
export interface ApiDocument {
  readonly openapi: "3.1.0";
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly securitySchemes: object;
  };
}

const SCHEMAS = "#/components/schemas/";

/**
 * Describes what the server answers. Others have their turn of the event loop after each schema: all of them together
 * take about a tenth of a second.
 *
 * @param needsKey Whether requests must bring a key.
 */
export async function describeApi(needsKey: boolean): Promise<ApiDocument> {
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of OPERATIONS) {
    paths[operation.path] ??= {};
    paths[operation.path][operation.method.toLowerCase()] = describeOperation(operation);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "m40",
      version: VERSION,
      description:
        "A language model behind OpenAI's API for text. A field that is null counts as absent; a field that is " +
        "not known is accepted.",
    },
    servers: [{ url: "/" }],
    security: needsKey ? [{ key: [] }, { header: [] }] : [],
    paths,
    components: {
      schemas: await describeSchemas(),
      securitySchemes: {
        key: { type: "http", scheme: "bearer" },
        header: { type: "apiKey", in: "header", name: "x-api-key" },
      },
    },
  };
}

function describeOperation(operation: Operation): object {
  const { summary, description, parameters = {}, body, error = ErrorBody, open } = operation;
  return {
    summary,
    description,
    operationId: operationId(operation),
    parameters: Object.entries(parameters).map(([name, description]) => ({
      name,
      in: "path",
      required: true,
      description,
      schema: { type: "string" },
    })),
    ...(body === undefined ? {} : {
      requestBody: { required: true, content: { "application/json": { schema: refTo(body) } } },
    }),
    responses: {
      "200": { description: "The answer.", content: contentOf(operation) },
      default: {
        description: "What went wrong.",
        content: { "application/json": { schema: refTo(error) } },
      },
    },
    ...(open ? { security: [] } : {}),
  };
}

/** `post_v1_chat_completions` */
function operationId({ method, path }: Operation): string {
  return `${method.toLowerCase()}${path.replaceAll(/[^a-z0-9]+/gi, "_").replace(/_$/, "")}`;
}

function contentOf({ answer, events, eventsType = "text/event-stream" }: Operation): object {
  if (typeof answer === "string") return { [answer]: {} };
  const json = { "application/json": { schema: refTo(answer) } };
  if (events === undefined) return json;
  const schema = events.length === 1 ? refTo(events[0]) : { anyOf: events.map(refTo) };
  return { ...json, [eventsType]: { schema } };
}

function refTo(schema: z.ZodType): Schema {
  return { $ref: SCHEMAS + idOf(schema) };
}

/** @throws {Error} for a schema without an id, which is a mistake of the program. */
function idOf(schema: z.ZodType): string {
  const id = schema.meta()?.id;
  if (id === undefined) throw new Error("a schema of an operation has no id");
  return id;
}

/** The schemas of requests, as they may be sent, and of answers, as they are. */
async function describeSchemas(): Promise<Record<string, Schema>> {
  const requests = OPERATIONS.flatMap(({ body }) => body ?? []);
  const answers = OPERATIONS.flatMap(({ answer, events = [] }) =>
    typeof answer === "string" ? events : [answer, ...events]
  );
  const errors = OPERATIONS.flatMap(({ error }) => error ?? []);
  return {
    ...await schemasOf(requests, "input"),
    ...await schemasOf([...answers, ...errors, ErrorBody], "output"),
  };
}

async function schemasOf(
  roots: readonly z.ZodType[],
  io: "input" | "output",
): Promise<Record<string, Schema>> {
  const found: Record<string, Schema> = {};
  for (const root of roots) {
    // A part of an earlier one, or the same again.
    if (idOf(root) in found) continue;
    await othersTurn();
    const { $defs = {} } = z.toJSONSchema(root, { io, unrepresentable: "any" });
    for (const [name, schema] of Object.entries($defs)) {
      // Schemas are kept once here, and not repeated in each that names them.
      const text = JSON.stringify(schema).replaceAll('"#/$defs/', `"${SCHEMAS}`);
      found[name] ??= JSON.parse(text, withoutSafeBounds);
    }
  }
  return found;
}

/** Leaves out that an integer is one that JavaScript can count to. */
function withoutSafeBounds(key: string, value: unknown): unknown {
  const bound = key === "maximum" ? Number.MAX_SAFE_INTEGER : Number.MIN_SAFE_INTEGER;
  return (key === "maximum" || key === "minimum") && value === bound ? undefined : value;
}
