// A server of one tool whose schema and results have what JavaScript's JSON loses. As a program it speaks over
// standard input and output; `serveHttp` speaks over HTTP, in three ways.

/** Bounds that a double has not all digits of, and keys that are integers and stand behind others. */
export const SCHEMA =
  '{"type":"object","properties":{"b":{"type":"integer","minimum":9007199254740993,"maximum":12345678901234567890},' +
  '"10":{"type":"number","minimum":1.0},"9":{"const":-0.0}},"required":["b","10","9"]}';
/** What a call answers. */
export const DATA = '{"b":1234567890123456789,"10":1.0,"9":[1e400,-0]}';

const TOOL = `{"name":"count","description":"Counts","inputSchema":${SCHEMA}}`;
/** The progress token is a number that the SDK checks: it stays a number of JavaScript. */
const RESULTS: Readonly<Record<string, string>> = {
  initialize: '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},' +
    '"serverInfo":{"name":"exact","version":"1"}}',
  "tools/list": `{"tools":[${TOOL}],"_meta":{"progressToken":7.0}}`,
  "tools/call": `{"content":[],"structuredContent":${DATA}}`,
};

/** The answer to a request, as JSON; undefined to what wants none. */
function answerTo(request: string): string | undefined {
  const { id, method } = JSON.parse(request);
  if (id === undefined) return undefined;
  // The id as a client may spell it, and JSON allows.
  return `{"jsonrpc":"2.0","id":${id}.0,"result":${RESULTS[method]}}`;
}

/** A server over HTTP, with a path for each way: `/json`, `/events` and, older, `/sse`. */
export function serveHttp(): Deno.HttpServer<Deno.NetAddr> {
  let older: ReadableStreamDefaultController<Uint8Array>;
  const event = (data: string) => new TextEncoder().encode(`data: ${data}\r\n\r\n`);
  return Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    if (request.method === "GET" && pathname === "/sse") {
      const body = new ReadableStream({
        start(controller) {
          older = controller;
          older.enqueue(new TextEncoder().encode("event: endpoint\ndata: /messages\n\n"));
        },
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    }
    if (request.method !== "POST" || pathname === "/sse") {
      return new Response(null, { status: 405 });
    }
    const answer = answerTo(await request.text());
    if (pathname === "/messages" && answer !== undefined) older.enqueue(event(answer));
    if (pathname === "/messages" || answer === undefined) {
      return new Response(null, { status: 202 });
    }
    if (pathname === "/json") {
      return new Response(answer, { headers: { "content-type": "application/json" } });
    }
    // In pieces: an event comes in as many as the network likes.
    const bytes = event(answer);
    const body = ReadableStream.from([bytes.subarray(0, 99), bytes.subarray(99)]);
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  });
}

if (import.meta.main) {
  let rest = "";
  for await (const text of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      const answer = answerTo(line);
      if (answer !== undefined) console.log(answer);
    }
  }
}
