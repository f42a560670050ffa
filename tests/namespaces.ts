/**
 * Network namespaces: machines of their own, as far as addresses, ports and links go.
 *
 * @module
 */

/** A namespace with a link to this machine. */
export interface Namespace {
  readonly name: string;
  /** Its address, which this machine reaches. */
  readonly address: string;
  /** The name of its end of the link. */
  readonly peer: string;
}

/** Namespaces that are removed in the end. */
export class Namespaces implements AsyncDisposable {
  readonly all: Namespace[] = [];

  /** Makes so many; none where this is not permitted or they are not reached, which is said. */
  static async make(count: number): Promise<Namespaces> {
    const namespaces = new Namespaces();
    try {
      for (let i = 0; i < count; i++) await namespaces.add();
    } catch (error) {
      console.log(`without network namespaces: ${error instanceof Error ? error.message : error}`);
      await namespaces[Symbol.asyncDispose]();
    }
    return namespaces;
  }

  private async add(): Promise<void> {
    const id = crypto.randomUUID().slice(0, 8);
    const name = `m40-test-${id}`;
    const [link, peer] = [`m40h${id}`, `m40n${id}`];
    const [own, address] = unusedAddresses();
    await ip("netns", "add", name);
    this.all.push({ name, peer, address });
    await ip("link", "add", link, "type", "veth", "peer", "name", peer, "netns", name);
    await ip("address", "add", `${own}/30`, "dev", link);
    await ip("link", "set", link, "up");
    await ip("-n", name, "address", "add", `${address}/30`, "dev", peer);
    await ip("-n", name, "link", "set", peer, "up");
    await ip("-n", name, "link", "set", "lo", "up");
    await reached(address);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { name } of this.all.splice(0)) await ip("netns", "delete", name);
  }
}

/**
 * Both addresses of a /30 that no link of this machine has: a run of tests that was killed leaves its links, and of two
 * links with one network the elder gets the packets. They are of those for measurements of networks (RFC 2544).
 */
function unusedAddresses(): [own: string, other: string] {
  const used = Deno.networkInterfaces().map(({ address }) => address);
  while (true) {
    const network = Math.floor(Math.random() * 2 ** 15) * 4;
    const address = (last: number) =>
      `198.${18 + (network >> 16)}.${(network >> 8) & 255}.${(network & 255) + last}`;
    if (!used.includes(address(1)) && !used.includes(address(2))) return [address(1), address(2)];
  }
}

/** Throws unless an address answers, if only that nobody listens there. */
async function reached(hostname: string): Promise<void> {
  try {
    (await Deno.connect({ hostname, port: 1, signal: AbortSignal.timeout(5000) })).close();
  } catch (error) {
    if (!(error instanceof Deno.errors.ConnectionRefused)) throw error;
  }
}

/**
 * Takes a namespace off the net without a word, or puts it back.
 *
 * Its own end of the link goes down: without this machine's end, what is for it would take the default route, where
 * others may answer.
 */
export function setLink({ name, peer }: Namespace, state: "up" | "down"): Promise<void> {
  return ip("-n", name, "link", "set", peer, state);
}

async function ip(...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command("ip", { args }).output();
  if (!success) throw new Error(`ip ${args.join(" ")}: ${new TextDecoder().decode(stderr).trim()}`);
}
