import { HttpError } from "../../../server/errors.ts";
import { HeadScanner, parseHead } from "../../../server/http/head.ts";
import type { FuzzTarget } from "../target.ts";

const SEEDS = [
  "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
  "POST /v1/chat/completions?x=%20 HTTP/1.1\r\nHost: 127.0.0.1:11434\r\nContent-Type: application/json\r\n" +
  "Content-Length: 12\r\nConnection: keep-alive, close\r\nExpect: 100-continue\r\n\r\n",
  "PUT http://[::1]:80/a HTTP/1.0\r\nTransfer-Encoding: chunked\r\nAuthorization: Bearer x\r\n\r\n",
  'OPTIONS * HTTP/1.1\r\nHost: a.example\r\nIf-None-Match: W/"a", "b"\r\nUpgrade: h2c\r\n\r\n',
];

/** Heads of HTTP requests: where one ends, and what it says. */
export const HTTP_HEAD: FuzzTarget = {
  name: "http-head",
  within: ["/server/http/"],
  dictionary: [
    ...["\r\n", "\n", "\r\n\r\n", ":", " ", "\t", ",", ";", "HTTP/1.1", "HTTP/1.0", "HTTP/2.0"],
    ...[
      "Host: ",
      "Content-Length: ",
      "Transfer-Encoding: ",
      "chunked",
      "identity",
      "gzip",
      "close",
    ],
    ...["Connection: ", "keep-alive", "Expect: 100-continue", "http://", "GET ", "*", "\0", "\x80"],
  ],
  maxBytes: 20 * 1024,
  seeds: () => SEEDS.map((text) => new TextEncoder().encode(text)),
  run(input) {
    const scanned = scan(input);
    // Where packets end changes nothing.
    if (scan(input, input.length >> 1) !== scanned) {
      throw new Error("a head that came in two packets ends elsewhere");
    }
    if (scanned === undefined || scanned === "refused") return;
    try {
      checkHead(parseHead(input.subarray(0, scanned)));
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
    }
  },
};

/** Where the head ends, when its first `first` bytes arrive before the others. */
function scan(input: Uint8Array, first = 0): number | undefined | "refused" {
  const scanner = new HeadScanner();
  try {
    const early = first === 0 ? undefined : scanner.scan(input.subarray(0, first));
    return early ?? scanner.scan(input);
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    return "refused";
  }
}

/** What every request that is taken must be. */
function checkHead({ headers }: ReturnType<typeof parseHead>): void {
  for (const [name, value] of headers) {
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name) || /[\0\r\n]/.test(value)) {
      throw new Error(`a header was taken that is none: ${JSON.stringify([name, value])}`);
    }
  }
  if (
    headers.get("content-length") !== undefined && headers.get("transfer-encoding") !== undefined
  ) {
    throw new Error("a request was taken whose length is said in two ways");
  }
}
