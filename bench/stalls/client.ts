/**
 * A thread that sends requests, so that what a client does is not in the server's event loop.
 *
 * @module
 */
import { INPUTS } from "./inputs.ts";

/** Which input, and where it is sent. */
export interface Order {
  readonly url: string;
  readonly index: number;
}

/** What came of it. */
export interface Outcome {
  readonly status: number | string;
  readonly bytes: number;
}

/** What this thread has of a worker's. */
interface Port {
  onmessage: ((event: MessageEvent<Order | "end">) => void) | null;
  postMessage(outcome: Outcome | "ready"): void;
  close(): void;
}

const port = self as unknown as Port;

port.onmessage = async ({ data }) => {
  if (data === "end") return port.close();
  port.postMessage(await send(data));
};
port.postMessage("ready");

async function send({ url, index }: Order): Promise<Outcome> {
  const { path, body } = INPUTS[index];
  const text = body();
  const init = text === ""
    ? {}
    : { method: "POST", body: text, headers: { "Content-Type": "application/json" } };
  try {
    const response = await fetch(url + path, { ...init, signal: AbortSignal.timeout(60_000) });
    let bytes = 0;
    for await (const chunk of response.body ?? []) bytes += chunk.length;
    return { status: response.status, bytes };
  } catch (error) {
    return { status: (error as Error).name, bytes: 0 };
  }
}
