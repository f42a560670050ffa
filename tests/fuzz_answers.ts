/** What mutated bodies are answered with, whatever the dialect. */
import { assert } from "@std/assert";
import type { Check } from "./fuzz_bodies.ts";
import type { TestServer } from "./server_fixture.ts";

/** A dialect's answers. */
export interface FuzzedDialect {
  /** The statuses of refusals. */
  readonly refusals: readonly number[];
  /** Characters of a refusal's message at most, whatever was sent; default 999. */
  readonly mostCharacters?: number;
  /** Checks the shape of a refusal; gives its message. */
  readonly readRefusal: (response: Response, status: number) => Promise<string>;
  /** Checks an answer whose status is 200. */
  readonly readAnswer: (response: Response, path: string, server: TestServer) => Promise<void>;
}

/** Sends bodies and checks that the answers are such that a client of a dialect can live with them. */
export function checkOf(dialect: FuzzedDialect): Check {
  const { refusals, mostCharacters = 999, readRefusal, readAnswer } = dialect;
  return async (server, path, body) => {
    // Not a measure of speed: an answer that never comes is a failure and no test that hangs.
    const response = await server.post(path, "", { body, signal: AbortSignal.timeout(120_000) });
    const { status } = response;
    if (status === 200) {
      await readAnswer(response, path, server);
      return status;
    }
    assert(refusals.includes(status), `${status}: ${await response.clone().text()}`);
    const message = await readRefusal(response, status);
    assert(message.length <= mostCharacters, `an error is short whatever was sent: ${message}`);
    return status;
  };
}

/** Whether an answer is a stream of server-sent events. */
export function isEventStream(response: Response): boolean {
  return response.headers.get("content-type") === "text/event-stream";
}
