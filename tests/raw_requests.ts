/** Random requests as bytes, right and wrong, and what the server's HTTP makes of them. */
import { HttpServer } from "../server/http/http_server.ts";
import { defaultLimits } from "../server/http/limits.ts";
import { latin1, type Message, type Parsed } from "./llhttp.ts";

/** Numbers below a limit, the same for the same seed. */
export function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 0x5bd1e995) + 0x3039) | 0;
    return ((state >>> 8) & 0xffff) % below;
  };
}

const TARGETS = [
  "/",
  "/a/b?c=d",
  "/%41",
  "//x",
  "/a|b",
  "http://h/x",
  "http://h",
  "*",
  "/a b",
  "a",
  "/\u00e9",
];
const FIELDS = [
  "X: a",
  "X:a",
  "X:  a \t",
  "X:",
  "X: a, b",
  "Accept: */*",
  "Y-z_1: \u00e9\u00ff",
  "Connection: close",
  "Connection: keep-alive",
  "connection: x , CLOSE",
  "Cookie: a=b; c",
  "Host: h",
  "X : a",
  " X: a",
  "X: a\r\n b",
  "X: a\0",
  "X: a\rb",
  "X\u00e9: a",
  ": a",
  "X",
  "@: a",
  "X: \x7f",
];
const LENGTHS = ["5", "05", "+5", "-1", "5,5", "5 ", "0x5", "", "1e1", "99999999999999999999"];
const CODINGS = [
  "chunked",
  "Chunked",
  "chunked, chunked",
  "gzip",
  "gzip, chunked",
  "identity",
  " chunked",
  "xchunked",
];

/** A request, mostly right. */
export function randomRequest(random: (below: number) => number): string {
  const one = <T>(of: readonly T[]): T => of[random(of.length)];
  /** The first most of the time. */
  const mostly = <T>(of: readonly T[], every = 12): T => random(every) === 0 ? one(of) : of[0];
  const method = mostly(
    ["POST", "GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "get", "SEARCH"],
    3,
  );
  const end = () => mostly(["\r\n", "\n", "\r", "\r\n\r\n", " \r\n"], 60);
  const version = mostly([
    "HTTP/1.1",
    "HTTP/1.0",
    "HTTP/1.2",
    "HTTP/2.0",
    "http/1.1",
    "HTTP/1.1 ",
    "HTTP/11",
  ], 20);
  const lines = [`${method}${mostly([" ", "  ", "\t"], 40)}${mostly(TARGETS, 3)} ${version}`];
  if (random(20) > 0) lines.push(mostly(["Host: h", "host:h", "Host: H:80", "Host: h/x"], 10));
  for (let i = random(4); i > 0; i--) {
    lines.push(FIELDS[random(random(4) === 0 ? FIELDS.length : 12)]);
  }
  const data = "12345";
  let body = "";
  const kind = random(4);
  if (kind === 1) {
    lines.push(`Content-Length: ${mostly(LENGTHS, 5)}`);
    body = mostly([data, "1234", "123456", ""], 12);
  } else if (kind > 1) {
    lines.push(`Transfer-Encoding: ${mostly(CODINGS, 8)}`);
    if (random(25) === 0) lines.push("Content-Length: 5");
    for (let i = random(3); i > 0; i--) {
      body += mostly(
        ["5", "05", "5;a=b", "5;a", "5;a;b=c", "5;", "4", "6", "+5", "0x5", "5 ", "", "g"],
        4,
      ) +
        end() + data + end();
    }
    body += mostly(["0", "00", "0;x=y", "0 "], 8) + end();
    if (random(5) === 0) {
      body += mostly(["X: a", "X:", "X", "X : a", "GET / HTTP/1.1", "X: a\0"], 2) + end();
    }
    body += end();
  }
  let text = lines.map((line) => line + end()).join("") + end() + body;
  for (let i = random(8) === 0 ? 1 + random(2) : 0; i > 0; i--) {
    const at = random(text.length);
    const piece = one(["\r\n", "\n", "\r", "\0", " ", ":", "0", "f", ";", "\t", "\xff", "", ""]);
    text = text.slice(0, at) + piece + text.slice(at + random(3));
  }
  return text;
}

/** A server that says what it was asked. */
export class EchoServer implements AsyncDisposable {
  private messages: Message[] = [];
  private readonly listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  private readonly server = new HttpServer(
    this.listener,
    async (request) => {
      const body = latin1(new Uint8Array(await request.arrayBuffer()));
      const { pathname, search } = new URL(request.url);
      this.messages.push({
        method: request.method,
        target: pathname + search,
        headers: Object.fromEntries(request.headers),
        body,
      });
      return new Response("ok");
    },
    { ...defaultLimits(100), lingerMs: 200 },
  );

  /** What it makes of bytes behind which a client ends. */
  async parse(bytes: Uint8Array): Promise<Parsed> {
    this.messages = [];
    using connection = await Deno.connect({ hostname: "127.0.0.1", port: this.listener.addr.port });
    await connection.write(bytes);
    // What is not complete is not waited for.
    await connection.closeWrite();
    let answer = "";
    const buffer = new Uint8Array(65536);
    for (let count; (count = await connection.read(buffer).catch(() => null)) !== null;) {
      answer += latin1(buffer.subarray(0, count));
    }
    const error = /HTTP\/1\.1 ([45]\d\d) /.exec(answer)?.[1];
    return error === undefined ? { messages: this.messages } : { messages: this.messages, error };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.close();
  }
}
