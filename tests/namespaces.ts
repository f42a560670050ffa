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

  /** Makes so many; none where this is not permitted, which is said. */
  static async make(count: number): Promise<Namespaces> {
    const namespaces = new Namespaces();
    try {
      for (let i = 0; i < count; i++) await namespaces.add(i);
    } catch (error) {
      console.log(`without network namespaces: ${error instanceof Error ? error.message : error}`);
      await namespaces[Symbol.asyncDispose]();
    }
    return namespaces;
  }

  private async add(i: number): Promise<void> {
    const name = `m40-test-${Deno.pid}-${i}`;
    const link = `m40t${Deno.pid % 100_000}h${i}`;
    const peer = `m40t${Deno.pid % 100_000}n${i}`;
    // Addresses for examples (RFC 5737), four of them a link.
    const address = (last: number) => `198.51.100.${4 * i + last}`;
    await ip("netns", "add", name);
    this.all.push({ name, peer, address: address(2) });
    await ip("link", "add", link, "type", "veth", "peer", "name", peer, "netns", name);
    await ip("address", "add", `${address(1)}/30`, "dev", link);
    await ip("link", "set", link, "up");
    await ip("-n", name, "address", "add", `${address(2)}/30`, "dev", peer);
    await ip("-n", name, "link", "set", peer, "up");
    await ip("-n", name, "link", "set", "lo", "up");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { name } of this.all.splice(0)) await ip("netns", "delete", name);
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
