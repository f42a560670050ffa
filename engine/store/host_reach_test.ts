import "../../tests/fixtures/own_environment.ts";
import { assertEquals, assertRejects } from "@std/assert";
import { mayLead, reachOf } from "./host_reach.ts";
import { DownloadError } from "./download/errors.ts";
import { Folder } from "../../tests/fixtures/download_fixture.ts";
import { FaultServer } from "../../tests/fixtures/fault_server.ts";
import { TemporaryEnvironment } from "../../tests/fixtures/temporary.ts";

// Where a server that files are fetched from may send us: not to where it is not itself.

/** As URLs write them, which is how they come. */
const HOSTS = {
  public: [
    "huggingface.co",
    "9.9.9.9",
    "[2606:4700::1111]",
    "[::ffff:9.9.9.9]",
    "[64:ff9b::9.9.9.9]",
    "172.32.0.1",
    "100.128.0.1",
    "169.253.1.1",
  ],
  network: [
    "10.1.2.3",
    "172.31.255.255",
    "192.168.0.1",
    "100.64.0.1",
    "198.18.0.1",
    "router",
    "printer.local",
    "wiki.internal",
    "wiki.internal.",
    "[fd12:3456::1]",
    "[::ffff:10.0.0.1]",
    "[64:ff9b::10.0.0.1]",
    "[2002:0a00:0001::]",
    "[fec0::1]",
    "[ff02::1]",
    "239.1.1.1",
  ],
  machine: [
    "localhost",
    "a.localhost",
    "LOCALHOST.",
    "127.0.0.1",
    "127.9.9.9",
    "0.0.0.0",
    "2130706433",
    "0x7f.1",
    "017700000001",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::127.0.0.1]",
    "[::ffff:0:127.0.0.1]",
  ],
  link: [
    "169.254.169.254",
    "2852039166",
    "0xa9fea9fe",
    "[::ffff:169.254.169.254]",
    "[::ffff:a9fe:a9fe]",
    "[64:ff9b::a9fe:a9fe]",
    "[2002:a9fe:a9fe::]",
    "[fe80::1]",
    "[febf::1]",
    "[fd00:ec2::254]",
    "100.100.100.200",
    "168.63.129.16",
    "metadata.google.internal",
    "metadata",
    "instance-data.ec2.internal",
  ],
} as const;

const hostOf = (host: string) => new URL(`http://${host}/`).hostname;

Deno.test("reach: every way of writing an address is where it leads", () => {
  for (const [reach, hosts] of Object.entries(HOSTS)) {
    for (const host of hosts) assertEquals(reachOf(hostOf(host)), reach, host);
  }
});

Deno.test("reach: a redirect leads inside only from there", async () => {
  const none = () => Promise.resolve([]);
  for (const from of Object.keys(HOSTS) as (keyof typeof HOSTS)[]) {
    for (const to of Object.keys(HOSTS) as (keyof typeof HOSTS)[]) {
      for (const host of HOSTS[to]) {
        const may = await mayLead(hostOf(HOSTS[from][1]), hostOf(host), none);
        assertEquals(may, to === "public" || from === to, `${HOSTS[from][1]} to ${host}`);
      }
    }
  }
});

Deno.test("reach: a name is where its addresses are", async () => {
  using _environment = new TemporaryEnvironment({
    HTTPS_PROXY: undefined,
    https_proxy: undefined,
    HTTP_PROXY: undefined,
    http_proxy: undefined,
    ALL_PROXY: undefined,
    all_proxy: undefined,
  });

  const names: Record<string, string[]> = {
    "inside.example": ["9.9.9.9", "169.254.169.254"],
    "lan.example": ["10.0.0.4"],
    "six.example": ["fe80::1"],
    "outside.example": ["9.9.9.9"],
  };
  const look = (name: string) => Promise.resolve(names[name] ?? []);
  for (const name of ["inside.example", "lan.example", "six.example"]) {
    assertEquals(await mayLead("outside.example", name, look), false, name);
    assertEquals(await mayLead("127.0.0.1", name, look), false, name);
  }
  assertEquals(await mayLead("127.0.0.1", "outside.example", look), true);
  assertEquals(await mayLead("lan.example", "10.0.0.9", look), true);
  assertEquals(await mayLead("lan.example", "127.0.0.1", look), false);
  // Behind a proxy names are not resolved here.
  Deno.env.set("HTTPS_PROXY", "http://proxy.example:3128");
  assertEquals(await mayLead("outside.example", "lan.example", look), true);
});

Deno.test("redirects: a mirror on this machine does not lead to the link or the network", async () => {
  for (const target of ["169.254.169.254/latest", "10.0.0.1/f", "[::ffff:169.254.169.254]/"]) {
    await using folder = await Folder.make();
    await using server: FaultServer = new FaultServer(() => ({
      status: 302,
      headers: { Location: `http://${target}` },
    }));
    await assertRejects(
      () => folder.get({ url: server.url("/f") }),
      DownloadError,
      "which is none of a server's business elsewhere; not followed",
    );
  }
});
