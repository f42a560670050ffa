import { createHash } from "node:crypto";
import type { Hono } from "hono";
import { z } from "zod";
import { findAlias, parseReference } from "../../engine/store/mod.ts";
import type { PullOptions } from "../../engine/store/pull/mod.ts";
import { readAnyType } from "../access/mod.ts";
import { eventStream } from "../answer/mod.ts";
import type { Models } from "../models/mod.ts";
import { boolean, parseBody, wants } from "../request/mod.ts";
import { requestSignal, type ServerContext, type ServerEnv } from "../context.ts";
import { invalid, unsupported } from "../errors.ts";
import { post } from "../route.ts";
import { NDJSON_TYPE } from "./dialect.ts";
import { namedModel, requireName } from "./fields.ts";
import { storeToChange, withoutFolder } from "./store_access.ts";

/** The body of `POST /api/pull`. */
export const PullRequest = z.object({
  ...namedModel,
  stream: boolean("Whether progress is reported, a line of JSON each; default true."),
  insecure: boolean("Not supported but for false."),
}, wants("a JSON object")).meta({ id: "OllamaPullRequest" });

/** The answer of `POST /api/pull`, and the lines of its stream. */
export const PullStatus = z.strictObject({
  status: z.string().describe("What is done; success in the last line."),
  digest: z.string().regex(/^sha256:[0-9a-f]{64}$/).optional().describe(
    "sha256: and 64 hexadecimal digits, which identify what is fetched: those of its source's name.",
  ),
  total: z.int().min(0).optional().describe("Bytes in all, where that is known."),
  completed: z.int().min(0).optional().describe("Bytes that are there."),
}).meta({ id: "OllamaPullStatus" });
type PullStatus = z.output<typeof PullStatus>;

const SUCCESS: PullStatus = { status: "success" };

/** `POST /api/pull`: as `m40 pull`, from Hugging Face and Ollama's library. */
export function pullRoute(app: Hono<ServerEnv>, server: ServerContext): void {
  post(app, "/api/pull", async (c) => {
    const json = await readAnyType(c, server);
    if (!server.storeChanges && await isServed(server.models, json)) return alreadyThere(json);
    storeToChange(c, server);
    const body = parseBody(PullRequest, json);
    if (body.insecure) {
      throw unsupported(
        "insecure",
        "insecure is not supported: sources are asked by HTTPS. Leave it out.",
      );
    }
    const source = sourceOf(requireName(body));
    const left = new AbortController();
    const signal = AbortSignal.any([requestSignal(c.req.raw, c.env), left.signal]);
    if (body.stream === false) {
      await pullQuietly(source, { signal });
      return c.json(SUCCESS);
    }
    const pace = { commentMs: server.commentMs, halfClosed: c.env.halfClosed };
    return eventStream(progressOf(source, signal), () => left.abort(), pace, c.get("dialect"));
  });
}

/**
 * Whether a pull is of a model that is served already. Where nothing is to be changed on disk, it is done: Codex pulls
 * a model that the list has with a tag alone, before it asks it.
 */
async function isServed(models: Models, json: unknown): Promise<boolean> {
  const { data } = PullRequest.safeParse(json);
  const asked = data?.name || data?.model;
  if (!asked) return false;
  try {
    await models.nameOf(asked);
    return true;
  } catch {
    return false;
  }
}

function alreadyThere(json: unknown): Response {
  const whole = (json as { stream?: unknown }).stream === false;
  return new Response(JSON.stringify(SUCCESS) + (whole ? "" : "\n"), {
    headers: { "content-type": whole ? "application/json" : NDJSON_TYPE },
  });
}

/**
 * What `m40 pull` takes for a name of Ollama's: an alias of m40's, else a model of Ollama's library.
 *
 * @throws {HttpError | M40Error} 400 for what is neither of Hugging Face nor of Ollama's registry. A path would be the
 * server's, and a URL could be one that the server alone can reach.
 */
function sourceOf(asked: string): string {
  const known =
    /^(ollama:|hf:|(www\.)?(hf\.co|huggingface\.co|ollama\.com|registry\.ollama\.ai)\/)/i;
  const source = known.test(asked) || findAlias(asked) !== undefined ? asked : `ollama:${asked}`;
  const { kind } = parseReference(source);
  if (kind === "hub" || kind === "ollama") return source;
  throw invalid(
    "model",
    "model: wanted the name of a model of Ollama's library, or hf.co/OWNER/REPOSITORY[:QUANT].",
  );
}

async function pullQuietly(source: string, options: PullOptions): Promise<void> {
  // Here, not above: most servers are never asked to fetch anything.
  const { pull } = await import("../../engine/store/pull/mod.ts");
  try {
    await pull(source, options);
  } catch (error) {
    throw withoutFolder(error);
  }
}

/** How a pull goes, as JSON. Progress that a slow client has not read yet is replaced by the newest. */
async function* progressOf(source: string, signal: AbortSignal): AsyncGenerator<string> {
  const reports: PullStatus[] = [{ status: "pulling manifest" }];
  let progress: PullStatus | undefined;
  let head: PullStatus = { status: "pulling" };
  let over = false;
  let wake = () => {};
  const report = (status: PullStatus) => {
    reports.push(status);
    wake();
  };
  const work = pullQuietly(source, {
    signal,
    onNote: (status) => report({ status }),
    onStart: ({ name, source, bytes }) => {
      head = { status: `pulling ${name}`, digest: digestOf(source), total: bytes, completed: 0 };
      report(head);
    },
    onProgress: ({ doneBytes, totalBytes }) => {
      progress = { ...head, total: totalBytes ?? head.total, completed: doneBytes };
      wake();
    },
  });
  const done = work.finally(() => {
    over = true;
    wake();
  });
  // It is awaited below, after all reports.
  done.catch(() => {});
  while (!over || reports.length > 0 || progress !== undefined) {
    const next = reports.shift() ?? progress;
    if (next === undefined) {
      await new Promise<void>((resolve) => wake = resolve);
      continue;
    }
    if (next === progress) progress = undefined;
    yield JSON.stringify(next);
  }
  await done;
  yield JSON.stringify(SUCCESS);
}

/** Identifies a source, in the form of a hash: programs cut digits out of it, whatever it is. */
function digestOf(source: string): string {
  return `sha256:${createHash("sha256").update(source).digest("hex")}`;
}
