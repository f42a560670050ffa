/**
 * HAProxy's agent check: it connects to a port of its own and reads a line that says whether a server is up
 * and how much it can take. It is sent nothing, so that nothing of a client has to be checked.
 *
 * @module
 */
import { busy } from "./models/busy.ts";
import type { Models } from "./models/models.ts";
import { listen } from "./listen.ts";

/** How long it is waited when the system has no descriptor for a connection, in milliseconds. */
const SHORTAGE_MS = 100;

const ENCODER = new TextEncoder();

/** A port that answers agent checks. */
export interface AgentCheck extends Disposable {
  /** The port it listens on. */
  readonly port: number;
}

/**
 * The line for HAProxy: `up` with a weight, the share in percent of its requests that run and do not wait;
 * `down` when the server takes no new requests, which leaves those be that it has. Not `drain`: that would
 * hold after a restart, until somebody lifts it.
 *
 * @param draining Whether the server was told to end.
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
 * @param line What they are told.
 * @throws {M40Error} `io` when the address cannot be listened on.
 */
export function serveAgentCheck(hostname: string, port: number, line: () => string): AgentCheck {
  const listener = listen(hostname, port, "--agent-port");
  let closed = false;
  const accept = async () => {
    while (!closed) {
      try {
        using connection = await listener.accept();
        // So few bytes that the system takes them whether the other side reads or not.
        await connection.write(ENCODER.encode(line()));
      } catch {
        // One that left before it was told, or a shortage of descriptors, which passes.
        if (!closed) await new Promise((resolve) => setTimeout(resolve, SHORTAGE_MS));
      }
    }
  };
  accept();
  return {
    port: listener.addr.port,
    [Symbol.dispose]() {
      closed = true;
      listener.close();
    },
  };
}
