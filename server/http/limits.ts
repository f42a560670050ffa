/** How much a client may take of the server's connections, memory and time. Times in milliseconds. */
export interface HttpLimits {
  /** Connections that are open at the same time. */
  connections: number;
  /** From a new connection, or the first byte of a further request, to the end of the request's head. */
  headMs: number;
  /** What a request's body may take in any case. */
  bodyMs: number;
  /** A body that takes longer must have come with so many bytes a second. */
  bodyBytesPerSecond: number;
  /** How long a connection may stay open between two requests. */
  keepAliveMs: number;
  /** How long a client may read nothing of its answer, and how long it may keep the server waiting in any case. */
  writeMs: number;
  /** A client that keeps the server waiting for longer must have read so many bytes a second meanwhile. */
  writeBytesPerSecond: number;
  /** Bytes that all bodies may have together which have come in part. */
  bodiesBytes: number;
  /** How long a client may take to notice that its connection was ended. */
  lingerMs: number;
}

/** The longest head of a request, in bytes: request line and headers. */
export const MAX_HEAD_BYTES = 16 * 1024;

/** The most headers of a request. */
export const MAX_HEADERS = 100;

/** The most connections where the system allows them and nobody says otherwise. */
const MAX_CONNECTIONS = 1024;

/** Descriptors that are left for everything but connections: files, libraries, refused connections. */
const RESERVED_DESCRIPTORS = 32;

/** The limits where nobody says otherwise. */
export function defaultLimits(connections = defaultConnections()): HttpLimits {
  return {
    connections,
    headMs: 10_000,
    bodyMs: 30_000,
    bodyBytesPerSecond: 16 * 1024,
    // Longer than the minute for which load balancers keep theirs: so it is they that close first, and
    // no request meets a connection that is being closed.
    keepAliveMs: 75_000,
    writeMs: 60_000,
    writeBytesPerSecond: 4 * 1024,
    bodiesBytes: 128 * 2 ** 20,
    lingerMs: 2_000,
  };
}

/**
 * As many connections as there are descriptors for, 1024 at most and 8 at least. Where the system does
 * not say how many there are, 1024: connections for which none is left wait to be accepted.
 */
export function defaultConnections(): number {
  const descriptors = descriptorLimit();
  if (descriptors === undefined) return MAX_CONNECTIONS;
  const free = descriptors - openDescriptors() - RESERVED_DESCRIPTORS;
  return Math.max(8, Math.min(MAX_CONNECTIONS, free));
}

/** How many descriptors this process may have; undefined where that is not known or has no limit. */
function descriptorLimit(): number | undefined {
  try {
    const limits = Deno.readTextFileSync("/proc/self/limits");
    const soft = /^Max open files +(\d+)/m.exec(limits)?.[1];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}

function openDescriptors(): number {
  try {
    return [...Deno.readDirSync("/proc/self/fd")].length;
  } catch {
    return 0;
  }
}
