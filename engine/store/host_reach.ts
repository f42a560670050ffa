import { lookup } from "node:dns/promises";
import { within } from "../within.ts";

/**
 * Where an address leads: out of here, into the network of this machine, to this machine itself, or to its link, where
 * clouds give a machine its keys.
 */
export type Reach = "public" | "network" | "machine" | "link";

/** Where a cloud gives a machine its keys, in addition to addresses of the link. */
const METADATA = [
  "100.100.100.200",
  "168.63.129.16",
  "192.0.0.192",
  "fd00:ec2:0:0:0:0:0:254",
  "fd20:ce:0:0:0:0:0:254",
];

/** How long the addresses of a name are waited for, in milliseconds. */
const LOOKUP_MS = 3000;

/** Where a host of a URL leads, by its name or address alone. */
export function reachOf(hostname: string): Reach {
  const host = hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "").toLowerCase();
  if (host.includes(":")) return reachOfV6(groupsOf(host));
  // URLs have every way of writing an IPv4 address made into this one.
  if (/^\d+\.\d+\.\d+\.\d+$/.test(host)) return reachOfV4(host.split(".").map(Number));
  if (/(^|\.)localhost$/.test(host)) return "machine";
  if (/^(metadata|instance-data)(\.|$)/.test(host)) return "link";
  if (/\.(local|internal|home\.arpa)$/.test(host)) return "network";
  // A name without a dot is one of this network.
  return host.includes(".") ? "public" : "network";
}

/**
 * Whether a server may send us from one host to another: anywhere outside, and inside only where it is itself. Names
 * are looked up, unless a proxy does that; one that has no address counts by itself. The fetching code looks a name up
 * again and may get another address then: no more than a name's owner can do to any program.
 *
 * @param look Gives the addresses of a name; none where there are none.
 */
export async function mayLead(
  from: string,
  to: string,
  look: (name: string) => Promise<string[]> = addressesOf,
): Promise<boolean> {
  if (from === to) return true;
  const inside = (await reachesOf(to, look)).filter((reach) => reach !== "public");
  if (inside.length === 0) return true;
  const own = await reachesOf(from, look);
  return inside.every((reach) => own.includes(reach));
}

async function reachesOf(
  hostname: string,
  look: (name: string) => Promise<string[]>,
): Promise<Reach[]> {
  const byName = reachOf(hostname);
  const isAddress = hostname.startsWith("[") || /^[\d.]+$/.test(hostname);
  if (isAddress || byName === "machine" || hasProxy()) return [byName];
  return [byName, ...(await look(hostname)).map((address) => reachOf(address))];
}

async function addressesOf(hostname: string): Promise<string[]> {
  const found = lookup(hostname, { all: true }).then(
    // A zone, as in fe80::1%eth0, makes no difference.
    (all) => all.map(({ address }) => address.split("%", 1)[0]),
    () => [],
  );
  return await within(LOOKUP_MS, found) ?? [];
}

/** Whether another program (a proxy) looks names up. */
function hasProxy(): boolean {
  const names = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"];
  return names.some((name) => Deno.env.get(name) || Deno.env.get(name.toLowerCase()));
}

function reachOfV4([a, b, c, d]: number[]): Reach {
  if (a === 0 || a === 127) return "machine";
  if ((a === 169 && b === 254) || METADATA.includes([a, b, c, d].join("."))) return "link";
  const network = a === 10 || (a === 100 && b >= 64 && b < 128) ||
    (a === 172 && b >= 16 && b < 32) || (a === 192 && b === 168) ||
    (a === 192 && b === 0 && c === 0) || (a === 198 && (b === 18 || b === 19)) || a >= 224;
  return network ? "network" : "public";
}

function reachOfV6(groups: number[]): Reach {
  const v4 = [groups[6] >> 8, groups[6] & 0xff, groups[7] >> 8, groups[7] & 0xff];
  const begin = groups.slice(0, 6).map((group) => group.toString(16)).join(":");
  if (begin === "0:0:0:0:0:0") return groups[6] === 0 && groups[7] < 2 ? "machine" : reachOfV4(v4);
  // Mapped, and as translators of addresses write them.
  if (["0:0:0:0:0:ffff", "0:0:0:0:ffff:0", "64:ff9b:0:0:0:0"].includes(begin)) return reachOfV4(v4);
  const [first, second, third] = groups;
  if (first === 0x2002) return reachOfV4([second >> 8, second & 0xff, third >> 8, third & 0xff]);
  if (METADATA.includes(groups.map((group) => group.toString(16)).join(":"))) return "link";
  if ((first & 0xffc0) === 0xfe80) return "link";
  // Of one's own (fc00::/7), of a site (fec0::/10), to many (ff00::/8).
  const network = (first & 0xfe00) === 0xfc00 || first >= 0xfec0;
  return network ? "network" : "public";
}

/** The eight numbers of an IPv6 address. */
function groupsOf(address: string): number[] {
  // A URL writes the last two of some as hexadecimal numbers as well.
  const plain = URL.parse(`http://[${address}]/`)?.hostname.slice(1, -1) ?? "::";
  const [begin, end] = plain.split("::").map((part) => part === "" ? [] : part.split(":"));
  const missing = end === undefined ? 0 : 8 - begin.length - end.length;
  return [...begin, ...new Array(missing).fill("0"), ...end ?? []].map((group) =>
    parseInt(group, 16)
  );
}
