import { HttpError } from "../../../server/errors.ts";
import { Incoming, RequestBody } from "../../../server/http/incoming.ts";
import type { FuzzTarget } from "../target.ts";

const SEEDS = [
  "5\r\nhello\r\n0\r\n\r\n",
  'A;name=value\r\n0123456789\r\n1 ; x="y"\r\nz\r\n0\r\nX-Trailer: a\r\nY: b\r\n\r\n',
  "000000000003\r\nabc\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
  "ffffffffffff\r\nabc",
];

/** What is read of a body: its bytes and what is left behind it, or that it is refused. */
type Outcome = { readonly body: string; readonly left: number } | "refused";

/** Bodies of requests in chunks, in one packet and in several. */
export const HTTP_CHUNKS: FuzzTarget = {
  name: "http-chunks",
  within: ["/server/http/"],
  dictionary: [
    "\r\n",
    "\n",
    "0\r\n\r\n",
    ";",
    "=",
    '"',
    "1\r\n",
    "ffffffff\r\n",
    "X: y\r\n",
    " ",
    "0",
  ],
  maxBytes: 8 * 1024,
  seeds: () => SEEDS.map((text) => new TextEncoder().encode(text)),
  async run(input) {
    const whole = await read(input, input.length);
    const cut = await read(input, 1 + input.length % 7);
    if (JSON.stringify(whole) !== JSON.stringify(cut)) {
      throw new Error(`in one packet ${JSON.stringify(whole)}, in several ${JSON.stringify(cut)}`);
    }
  },
};

/** Reads a body whose packets have `packet` bytes each. */
async function read(input: Uint8Array, packet: number): Promise<Outcome> {
  let at = 0;
  const source = {
    read(into: Uint8Array): Promise<number | null> {
      const piece = input.subarray(at, at + Math.min(packet, into.length));
      into.set(piece);
      at += piece.length;
      return Promise.resolve(piece.length === 0 ? null : piece.length);
    },
  };
  const incoming = new Incoming(source, () => {}, () => {});
  const body = new RequestBody(incoming, { kind: "chunked" });
  try {
    let text = "";
    for (let piece; (piece = await body.read()) !== undefined;) {
      text += String.fromCharCode(...piece);
    }
    while (await incoming.more());
    return { body: text, left: incoming.bytes.length };
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    return "refused";
  }
}
