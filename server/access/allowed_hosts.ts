/**
 * Names that no stranger can lead to an address of his choice: local networks' own (RFC 6762, RFC 8375, ICANN's
 * internal).
 */
const LOCAL_NAMES = [".local", ".internal", ".home.arpa"];

/**
 * The hosts that a server answers to. The owner of a name can point it at any address, so that a browser takes the
 * server for a part of the owner's web page (DNS rebinding). So without other protection, only hosts are answered that
 * no stranger can point here: addresses, names of the local network, and those that the server is given.
 */
export class AllowedHosts {
  private readonly any: boolean;
  private readonly names: ReadonlySet<string>;
  private readonly local: boolean;

  /**
   * @param hostname The address that the server listens on. On a loopback address it answers to loopback names alone.
   * @param hasKey Whether requests need a key, which a web page of others does not have.
   * @param names Names that are answered too; `*` is all.
   */
  constructor(
    private readonly hostname: string,
    private readonly hasKey: boolean,
    names: readonly string[],
  ) {
    this.any = names.includes("*");
    this.names = new Set(names.map(complete));
    this.local = isLoopback(hostname);
  }

  /** Why a Host header's host is not answered; undefined where it is. */
  refusal(host: string): string | undefined {
    const name = complete(withoutPort(host));
    if (this.any || isLoopback(withoutPort(host)) || this.names.has(name)) return undefined;
    const shown = `"${host.slice(0, 100)}"`;
    if (this.local) {
      return `This server listens on ${this.hostname} for this machine alone, and the request is for the host ` +
        `${shown}. Use http://localhost, start the server with --allowed-host NAME, or with --host 0.0.0.0 and ` +
        "an API key.";
    }
    if (this.hasKey || isAddress(name) || isLocalName(name)) return undefined;
    return `This server has no API key, and the request is for the host ${shown}, a name that any web page could ` +
      "lead here. Use the server's address, or start it with --allowed-host NAME or an API key.";
  }
}

/**
 * Whether a name stands for this machine alone: localhost and the names below it (RFC 6761), which no
 * name server can lead elsewhere, 127.0.0.0/8, ::1. Names may end with the dot of a complete one.
 */
export function isLoopback(hostname: string): boolean {
  const name = complete(hostname);
  return /^([a-z0-9_-]+\.)*localhost$/.test(name) || name === "::1" || name === "[::1]" ||
    /^127(\.\d{1,3}){3}$/.test(name);
}

function isAddress(name: string): boolean {
  return name.startsWith("[") || /^\d{1,3}(\.\d{1,3}){3}$/.test(name);
}

/** This machine's own name, one without a dot, which no name server of the world has, or one of local networks. */
function isLocalName(name: string): boolean {
  return !name.includes(".") || LOCAL_NAMES.some((end) => name.endsWith(end)) ||
    name === complete(Deno.hostname());
}

/** A name in the one spelling that all spellings of it have: in lower case, without a dot at its end. */
export function complete(hostname: string): string {
  return hostname.toLowerCase().replace(/\.$/, "");
}

/** A Host header's name: without the port, an IPv6 address with its brackets. */
export function withoutPort(host: string): string {
  return host.replace(/:\d*$/, "");
}
