import type { Hono } from "hono";
import { z } from "zod";
import type { ModelRecord } from "../../engine/store/mod.ts";
import { readAnyType } from "../access/mod.ts";
import type { Models } from "../models/mod.ts";
import { ignored, parseBody, wants } from "../request/mod.ts";
import type { ServerContext, ServerEnv } from "../context.ts";
import { HttpError } from "../errors.ts";
import { post } from "../route.ts";
import { Details, type Headers, modifiedAt, placedModels } from "./details.ts";
import { namedModel, requireName } from "./fields.ts";
import { ownName } from "./names.ts";

/** The body of `POST /api/show`. */
export const ShowRequest = z.object({
  ...namedModel,
  verbose: ignored("Whether lists are shown too."),
}, wants("a JSON object")).meta({ id: "OllamaShowRequest" });

/** The answer of `POST /api/show`. */
export const Shown = z.strictObject({
  license: z.string().optional().describe("Where the file says."),
  modelfile: z.string().describe("What of a Modelfile is known of it."),
  parameters: z.string().describe("What came with it, a line each; may be empty."),
  template: z.string().describe("Its chat template, in Jinja; may be empty."),
  system: z.string().optional().describe("The system message that came with it."),
  details: Details,
  model_info: z.record(z.string(), z.unknown()).describe(
    "The metadata of its file; null instead of lists.",
  ),
  capabilities: z.array(z.enum(["completion", "embedding", "insert", "thinking", "tools"]))
    .describe(
      "What it can do here: embedding is named where its file says how; insert is to fill in the middle.",
    ),
  modified_at: z.iso.datetime(),
}).meta({ id: "OllamaShown" });
type Shown = z.output<typeof Shown>;

/** `POST /api/show`: what a model is. */
export function showRoute(app: Hono<ServerEnv>, server: ServerContext, headers: Headers): void {
  const { models } = server;
  post(app, "/api/show", async (c) => {
    const body = parseBody(ShowRequest, await readAnyType(c, server));
    const name = await ownName(models, requireName(body));
    const model = (await placedModels(models)).find((one) => one.name === name) ?? { name };
    const facts = await headers.of(model);
    if (facts === undefined) {
      throw new HttpError(
        400,
        "invalid_model",
        `The file of the model "${name}" cannot be read.`,
      );
    }
    const { record } = await models.catalogue?.find(name) ?? {};
    // A model whose template knows no tools gets a description of them in words.
    const chats = facts.template !== undefined || isChat(models.loaded(), name);
    const { details, info, template = "", license, embeds, fillsIn, thinks } = facts;
    return c.json(
      {
        license,
        ...modelfileOf(name, record),
        template,
        system: record?.system,
        details,
        model_info: info,
        capabilities: [
          "completion",
          ...embeds ? ["embedding" as const] : [],
          ...fillsIn ? ["insert" as const] : [],
          ...thinks ? ["thinking" as const] : [],
          ...chats ? ["tools" as const] : [],
        ],
        modified_at: await modifiedAt(model, server.created),
      } satisfies Shown,
    );
  });
}

/** Whether a model in memory has a template, which the server may have been given. */
function isChat(loaded: ReturnType<Models["loaded"]>, name: string): boolean {
  return loaded.some((one) => one.name === name && one.engine?.chat !== undefined);
}

/** What came with a model, as a Modelfile says it. */
function modelfileOf(
  name: string,
  record: ModelRecord | undefined,
): Pick<Shown, "modelfile" | "parameters"> {
  const lines = Object.entries(record?.parameters ?? {}).flatMap(([key, value]) =>
    (Array.isArray(value) ? value : [value]).map((one) =>
      `${key.padEnd(30)} ${typeof one === "string" ? JSON.stringify(one) : one}`
    )
  );
  const system = record?.system === undefined ? [] : [`SYSTEM """${record.system}"""`];
  const messages = (record?.messages ?? [])
    .map(({ role, content }) => `MESSAGE ${role} """${content}"""`);
  const parameters = lines.map((line) => `PARAMETER ${line.replace(/ +/, " ")}`);
  return {
    modelfile: [`FROM ${name}`, ...system, ...parameters, ...messages].join("\n") + "\n",
    parameters: lines.join("\n"),
  };
}
