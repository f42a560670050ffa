/**
 * A server whose answers are what a test says, for answers that no small model gives: long ones, hostile ones, calls of
 * tools. Everything but chat completions is the real server's behind it.
 *
 * @module
 */
import type { TestServer } from "./server_fixture.ts";

/** What an event of an answer adds. */
export interface ScriptedDelta {
  content?: string;
  reasoning_content?: string;
  tool_calls?: unknown[];
}

export interface ScriptedServer extends AsyncDisposable {
  url: string;
  /** The bodies of the chat completions that were asked for. */
  // deno-lint-ignore no-explicit-any
  asked: any[];
  /** Is gone from one moment to the next, answers that run included. */
  vanish(): Promise<void>;
}

/** Answers each chat completion with the next script, the last one again and again. */
export function scriptedServer(
  real: TestServer,
  scripts: readonly (Iterable<ScriptedDelta> | AsyncIterable<ScriptedDelta>)[],
): ScriptedServer {
  const asked: unknown[] = [];
  const gone = new AbortController();
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {}, signal: gone.signal },
    async (request) => {
      const { pathname, search } = new URL(request.url);
      if (pathname === "/v1/chat/completions") {
        asked.push(await request.json());
        const script = scripts[Math.min(asked.length, scripts.length) - 1];
        return new Response(eventsOf(script), { headers: { "Content-Type": "text/event-stream" } });
      }
      const headers = new Headers(request.headers);
      // The page's origin is this server, not the one behind it.
      headers.delete("origin");
      headers.delete("host");
      const body = request.body === null ? undefined : await request.arrayBuffer();
      return await fetch(real.url + pathname + search, { method: request.method, headers, body });
    },
  );
  const vanish = async () => {
    gone.abort();
    await server.finished;
  };
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    asked,
    vanish,
    [Symbol.asyncDispose]: vanish,
  };
}

function eventsOf(
  script: Iterable<ScriptedDelta> | AsyncIterable<ScriptedDelta>,
): ReadableStream<Uint8Array> {
  async function* events() {
    let calls = false;
    for await (const delta of script) {
      calls ||= delta.tool_calls !== undefined;
      yield event({ choices: [{ index: 0, delta, finish_reason: null }] });
    }
    const finish_reason = calls ? "tool_calls" : "stop";
    yield event({ choices: [{ index: 0, delta: {}, finish_reason }] });
    yield event({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 9 } });
    yield new TextEncoder().encode("data: [DONE]\n\n");
  }
  return ReadableStream.from(events());
}

function event(body: unknown): Uint8Array {
  return new TextEncoder().encode(`data: ${JSON.stringify(body)}\n\n`);
}

/** A text in pieces of so many characters. */
export function* pieces(text: string, length = 7): Generator<ScriptedDelta> {
  for (let at = 0; at < text.length; at += length) yield { content: text.slice(at, at + length) };
}
