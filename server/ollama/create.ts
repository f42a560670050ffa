import type { Hono } from "hono";
import { z } from "zod";
import { parseNewModelName, type StoredModel } from "../../engine/store/mod.ts";
import { createModel, type Creation, parseCreation } from "../../engine/store/pull/mod.ts";
import { readAnyType } from "../access/mod.ts";
import { eventStream } from "../answer/mod.ts";
import { eitherName } from "../models/mod.ts";
import { boolean, object, parseBody, string, wants, wrongField } from "../request/mod.ts";
import type { ServerContext, ServerEnv } from "../context.ts";
import { type HttpError, unsupported } from "../errors.ts";
import { post } from "../route.ts";
import type { Headers } from "./details.ts";
import { namedModel, refused, refuseUnsupported, requireName } from "./fields.ts";
import { storeToChange, withoutFolder } from "./store_access.ts";

/** What of the API is not done, and what to do. */
const REFUSED = {
  files: "Files are not taken from clients: put them into the models directory, or pull a model.",
  adapters: "Adapters are not known here. Leave it out.",
  license: "The license in a model's file is shown. Leave it out.",
  messages: "Leave it out, and send such messages with each request.",
  quantize: "Models are not quantised here: pull one that is.",
  quantization: "Models are not quantised here: pull one that is.",
  modelfile: "Send what is in it as from, system and parameters.",
  path: "Requests may not open paths. Send from, system and parameters.",
} as const;

/** The body of `POST /api/create`. */
export const CreateRequest = z.object({
  ...namedModel,
  from: string("A stored model, the built-in one or one in another program's cache."),
  system: string("The system message of conversations that bring none; empty is as absent."),
  template: string(
    "Only as /api/show shows that of the model that it is made from, which changes nothing; others are refused.",
  ),
  parameters: object("Defaults of sampling, stop and num_ctx, by their names in a Modelfile."),
  stream: boolean("Whether progress is reported, a line of JSON each; default true."),
  ...Object.fromEntries(
    Object.keys(REFUSED).map((field) => [field, refused("Not supported: absent or empty.")]),
  ) as Record<keyof typeof REFUSED, ReturnType<typeof refused>>,
}, wants("a JSON object")).meta({ id: "OllamaCreateRequest" });
type Body = z.output<typeof CreateRequest>;

/** The answer of `POST /api/create`, and the lines of its stream. */
export const CreateStatus = z.strictObject({
  status: z.string().describe("What is done; success in the last line."),
}).meta({ id: "OllamaCreateStatus" });
type CreateStatus = z.output<typeof CreateStatus>;

/** `POST /api/create`: a model with a system message and parameters of its own, out of another one's files. */
export function createRoute(app: Hono<ServerEnv>, server: ServerContext, headers: Headers): void {
  let before: Promise<void> = Promise.resolve();
  // One after the other: two of the same name would find each other's files locked.
  const inTurn = (work: () => Promise<void>) => {
    const done = before.then(work);
    before = done.catch(() => {});
    return done;
  };
  post(app, "/api/create", async (c) => {
    const catalogue = storeToChange(c, server);
    const body = parseBody(CreateRequest, await readAnyType(c, server));
    refuseUnsupported(body, REFUSED);
    const { name } = parseNewModelName(requireName(body));
    if (!body.from) throw wrongField("from", "the name of a model", body.from);
    const from = await eitherName(body.from, (name) => catalogue.findInStore(name));
    // A name of the server's own would hide the model.
    await catalogue.findInStore(name).catch(passNotFound);
    const creation = parseCreation(body.system || undefined, parametersOf(body));
    await checkTemplate(body, from, headers);
    const work = () => inTurn(() => create(server, name, from, creation));
    if (body.stream === false) {
      await work();
      return c.json({ status: "success" } satisfies CreateStatus);
    }
    const pace = { commentMs: server.commentMs, halfClosed: c.env.halfClosed };
    // What was started is finished, even without a reader: a copy is there whole or not at all.
    return eventStream(progressOf(work), () => {}, pace, c.get("dialect"));
  });
}

async function create(
  { models }: ServerContext,
  name: string,
  from: StoredModel,
  creation: Creation,
): Promise<void> {
  try {
    await createModel(name, from, creation);
  } catch (error) {
    throw withoutFolder(error);
  }
  // One in memory has what it was loaded with.
  if (models.loaded().some((one) => one.name === name)) await models.unload(name);
}

async function* progressOf(work: () => Promise<void>): AsyncGenerator<string> {
  const line = (status: string) => JSON.stringify({ status } satisfies CreateStatus);
  yield line("reading model metadata");
  const done = work();
  done.catch(() => {});
  yield line("writing model");
  await done;
  yield line("success");
}

/** Integers beyond 2^53 come as bigints; no parameter but a seed may be one, and none as large. */
function parametersOf({ parameters }: Body): Record<string, unknown> | undefined {
  if (parameters == null) return undefined;
  const entries = Object.entries(parameters);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, typeof value === "bigint" ? Number(value) : value]),
  );
}

/**
 * Templates of Ollama's are written in Go's language, which m40 does not read: prompts are made by the Jinja of the
 * model's file. One that is shown of the model changes nothing, so that what was read can be sent back.
 *
 * @throws {HttpError} 400 for any other.
 */
async function checkTemplate(
  { template }: Body,
  from: StoredModel,
  headers: Headers,
): Promise<void> {
  if (!template || template === from.record?.template) return;
  const facts = await headers.of(from);
  if (template.trim() === facts?.template?.trim()) return;
  throw unsupported(
    "template",
    "template: another one than the model's own is not supported: Ollama's are written in Go's template language, " +
      "which m40 does not read. Leave it out; a template in Jinja is given to a model in m40.toml (chat-template), " +
      "or with m40 serve --chat-template.",
  );
}

function passNotFound(error: unknown): void {
  const { code } = error as HttpError;
  if (code !== "model_not_found") throw error;
}
