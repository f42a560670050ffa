import { M40Error } from "../../errors.ts";
import { mayLead } from "../host_reach.ts";

/**
 * Where a redirect leads, if it may be followed: to http and https only, not from https to http, and
 * to this machine, its network or its link only from there, as a server elsewhere has no business with them.
 *
 * @throws {M40Error} `io`, with what is wrong about it.
 */
export async function checkRedirect(from: URL, location: string): Promise<URL> {
  const shown = JSON.stringify(location.slice(0, 200));
  const fail = (reason: string) =>
    new M40Error("io", `${from.origin} redirects to ${shown}, which is not followed: ${reason}`);
  if (!URL.canParse(location, from.href)) throw fail("it is not a URL");
  const to = new URL(location, from);
  if (to.protocol !== "http:" && to.protocol !== "https:") {
    throw fail(`wanted http: or https:, got ${to.protocol}`);
  }
  if (from.protocol === "https:" && to.protocol === "http:") {
    throw fail("what was asked for over TLS would come without it");
  }
  if (to.username !== "" || to.password !== "") throw fail("it has a user or a password");
  if (!await mayLead(from.hostname, to.hostname)) {
    throw fail("it leads to this machine or its network");
  }
  return to;
}
