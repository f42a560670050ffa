/**
 * Accepts connections whatever becomes of single ones. An error of accepting does not say whether it is of
 * one connection or of the listener: systems and runtimes report many for a client that left too early. So
 * after some in a row the listener itself is tried, by a connection to it.
 *
 * @module
 */
import { delay } from "@std/async/delay";
import { M40Error } from "../../engine/errors.ts";

/** Errors of accepting a connection for which the system has no room at the moment. */
const SHORTAGES: ReadonlySet<string> = new Set(["EMFILE", "ENFILE", "ENOBUFS", "ENOMEM"]);

/** Failures in a row after which the listener is tried. */
const DOUBTFUL = 16;

/** Refused tries in a row after which it is lost. */
const LOST = 3;

/** How long it is waited after a shortage, in milliseconds: a descriptor is free some time after it was closed. */
const SHORTAGE_MS = 20;

/** How long it is waited after so many failures, in milliseconds, so that the event loop does other work. */
const DOUBT_MS = 1;

/** How long it is waited after the first try, in milliseconds; each refusal doubles it. */
const TRY_MS = 50;

/** How long a connection of this process's own may wait to be accepted, in milliseconds. */
const TRIED_MS = 30_000;

/** What {@link acceptConnections} needs of a listener. */
export interface Acceptor {
  readonly addr: Deno.Addr;
  accept(): Promise<Deno.TcpConn>;
}

/** What becomes of connections. */
export interface Accepting {
  /** Takes a connection; the next one is accepted when it has resolved. */
  accepted(connection: Deno.TcpConn): void | Promise<void>;
  /** Whether nobody wants connections any more. */
  closed(): boolean;
  /** The system has no room for a connection: others are to make room. */
  shortage?(): void;
}

/**
 * Accepts connections until nobody wants them.
 *
 * @throws {M40Error} `io` when none can ever be accepted again.
 */
export async function acceptConnections(
  listener: Acceptor,
  { accepted, closed, shortage }: Accepting,
): Promise<void> {
  let failures = 0;
  let trial: Trial | undefined;
  try {
    while (!closed()) {
      let connection: Deno.TcpConn;
      try {
        connection = await listener.accept();
      } catch (error) {
        if (closed()) return;
        const code = error instanceof Error && "code" in error ? String(error.code) : "";
        if (SHORTAGES.has(code)) {
          shortage?.();
          await delay(SHORTAGE_MS);
        } else if (++failures % DOUBTFUL === 0) {
          trial ??= new Trial(listener.addr);
          if (trial.lost) {
            throw new M40Error(
              "io",
              `The server cannot accept connections any more: ${error}. Start it again.`,
            );
          }
          await delay(DOUBT_MS);
        }
        continue;
      }
      failures = 0;
      trial?.end();
      trial = undefined;
      await accepted(connection);
    }
  } finally {
    trial?.end();
  }
}

/**
 * Tries whether a listener still listens: connects to it again and again, until that succeeds, or was refused
 * often enough, or somebody ends it.
 */
class Trial {
  /** Whether the listener is lost: the system refuses connections to it, or accepts none of them. */
  lost = false;
  private ended = false;
  private connection?: Deno.Conn;
  private timer?: number;

  constructor(addr: Deno.Addr) {
    this.run(addr as Deno.NetAddr);
  }

  end(): void {
    this.ended = true;
    clearTimeout(this.timer);
    this.connection?.close();
    this.connection = undefined;
  }

  private async run({ hostname, port }: Deno.NetAddr): Promise<void> {
    for (let refused = 0; !this.ended; await delay(TRY_MS * 2 ** refused)) {
      try {
        const connection = await Deno.connect({ hostname: ownAddress(hostname), port });
        if (this.ended) return connection.close();
        // It stays open, for the listener to accept: that ends the doubt.
        this.connection = connection;
        this.timer = setTimeout(() => this.lost = true, TRIED_MS);
        return;
      } catch (error) {
        refused = error instanceof Deno.errors.ConnectionRefused ? refused + 1 : 0;
        this.lost = refused >= LOST;
        if (this.lost) return;
      }
    }
  }
}

/** The address at which this machine reaches what listens on an address. */
function ownAddress(hostname: string): string {
  if (hostname === "0.0.0.0") return "127.0.0.1";
  return hostname === "::" ? "::1" : hostname;
}
