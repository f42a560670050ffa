/**
 * HAProxy's agent check: it connects to a port of its own and reads a line that says whether a server is up
 * and how much it can take. It is sent nothing, so that nothing of a client has to be checked.
 *
 * @module
 */
import { delay } from "@std/async/delay";
import { acceptConnections, listen } from "../http/mod.ts";
import { busy, type Models } from "../models/mod.ts";

/** How long it is waited before a listener that is lost is opened again, in milliseconds. */
const REOPEN_MS = 1000;

const ENCODER = new TextEncoder();

/** A port that answers agent checks. */
export interface AgentCheck extends Disposable {
  /** The port it listens on. */
  readonly port: number;
}

/**
 * The line for HAProxy: `up` with a weight, the percentage of requests that run and do not wait; `down` when the server
 * takes no new requests, which does not affect running ones. Not `drain`: that would hold after a restart, until an
 * operator lifts it.
 *
 * @param draining Whether the server was asked to end.
 */
export function agentLine(models: Models, draining: boolean): string {
  if (draining) return "down #draining\n";
  if (models.failure() !== undefined) return "down #failed\n";
  const { running, waiting } = busy(models);
  const share = waiting === 0 ? 1 : running / (running + waiting);
  return `up ${Math.max(1, Math.round(share * 100))}%\n`;
}

/**
 * Answers agent checks until it is disposed of.
 *
 * @param port 0 takes any that is free.
 * @param line The answer that they get.
 * @throws {M40Error} `io` when the address cannot be listened on.
 */
export function serveAgentCheck(hostname: string, port: number, line: () => string): AgentCheck {
  let listener = listen(hostname, port, "--agent-port");
  const address = listener.addr;
  let closed = false;
  const accept = async () => {
    while (!closed) {
      try {
        await acceptConnections(listener, { accepted: answer, closed: () => closed });
      } catch {
        // Requests are served without agent checks too: they may come back.
        listener.close();
        await delay(REOPEN_MS);
        if (!closed) listener = listen(hostname, address.port, "--agent-port");
      }
    }
  };
  const answer = async (connection: Deno.TcpConn) => {
    using _ended = connection;
    try {
      // So few bytes that the system takes them whether the other side reads or not.
      await connection.write(ENCODER.encode(line()));
    } catch {
      // It left before its answer.
    }
  };
  accept();
  return {
    port: address.port,
    [Symbol.dispose]() {
      closed = true;
      listener.close();
    },
  };
}
