/**
 * Counts the functions and files of the project that one streamed chat runs, after others have warmed the caches: what
 * somebody reads who follows a request. The interpreter of the chat template, which is a language of its own, counts by
 * itself.
 *
 * `deno run -A tools/request_path.ts [--list]`
 *
 * @module
 */
import { Session } from "node:inspector";
import { fromFileUrl } from "@std/path";
import { Engine } from "../engine/mod.ts";
import { serve } from "../server/mod.ts";
import { appOf } from "../tests/fixtures/fixed_model.ts";

/** The functions of one file that ran. */
export interface FileOfPath {
  readonly file: string;
  /** Their names, each once; "" for one without a name. */
  readonly functions: readonly string[];
}

/** What the inspector's protocol says of a script's functions. */
interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly functionName: string;
      readonly ranges: readonly { readonly count: number }[];
    }[];
  }[];
}

const ROOT = new URL("../", import.meta.url).href;
const DEMO = fromFileUrl(new URL("demo_model/demo.gguf", import.meta.url));

/** Follows one streamed chat of eight tokens through a server in this process. */
export async function requestPath(): Promise<FileOfPath[]> {
  const engine = await Engine.load(DEMO, { device: "cpu", threads: 1 });
  const controller = new AbortController();
  const { port, finished } = serve(appOf({ engine, modelName: "demo" }), {
    hostname: "127.0.0.1",
    port: 0,
    signal: controller.signal,
  });
  const session = new Session();
  session.connect();
  try {
    // The first has its template parsed in the thread; the next finds out what it can show.
    for (let i = 0; i < 3; i++) await streamedChat(port);
    await ask(session, "Profiler.enable");
    await ask(session, "Profiler.startPreciseCoverage", { callCount: true, detailed: false });
    // Starting the profiler takes long. Timers that expire meanwhile are no part of the chat: the counts are reset.
    await new Promise((resolve) => setTimeout(resolve, 0));
    await ask(session, "Profiler.takePreciseCoverage");
    await streamedChat(port);
    const { result } = await ask(session, "Profiler.takePreciseCoverage") as Coverage;
    return result.flatMap(({ url, functions }) => {
      if (!/^(cli|engine|mcp|server)\//.test(url.replace(ROOT, ""))) return [];
      const ran = functions.filter(({ ranges }) => ranges[0].count > 0);
      if (ran.length === 0) return [];
      const names = ran.map(({ functionName }) => functionName);
      return [{ file: url.replace(ROOT, ""), functions: names }];
    });
  } finally {
    session.disconnect();
    controller.abort();
    await finished;
    await engine.close();
  }
}

function ask(session: Session, method: string, params: object = {}): Promise<unknown> {
  return new Promise((resolve, reject) => {
    session.post(method, params, (error: Error | null, result?: object) => {
      if (error) reject(error);
      else resolve(result);
    });
  });
}

async function streamedChat(port: number): Promise<void> {
  const messages = [{ role: "user", content: "Hello" }];
  const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    // Always the same tokens: one that is decoded for the first time takes functions of its own.
    body: JSON.stringify({ messages, stream: true, max_tokens: 8, temperature: 0 }),
  });
  const text = await response.text();
  if (!text.endsWith("data: [DONE]\n\n")) throw new Error(`the stream did not end well: ${text}`);
}

if (import.meta.main) {
  const all = await requestPath();
  if (Deno.args.includes("--list")) {
    for (const one of all) console.log(`${one.file}: ${one.functions.join(" ")}`);
  }
  const isLanguage = ({ file }: FileOfPath) => file.startsWith("engine/chat/jinja/");
  const count = (path: readonly FileOfPath[]) =>
    `${path.reduce((sum, one) => sum + one.functions.length, 0)} functions in ${path.length} files`;
  console.log(
    `a streamed chat runs ${count(all.filter((one) => !isLanguage(one)))}; ` +
      `the template's interpreter, ${count(all.filter(isLanguage))}`,
  );
}
