/** Whether a host is, by its name alone, this machine or one of its network. */
export function isInternal(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "").toLowerCase();
  if (/(^|\.)(localhost|local|internal|home\.arpa)$/.test(host)) return true;
  if (host.includes(":")) return isInternalV6(host);
  // URLs have every way of writing an IPv4 address made into this one.
  const parts = /^(\d+)\.(\d+)\.\d+\.\d+$/.exec(host)?.slice(1).map(Number);
  // A name without a dot is one of this network.
  return parts === undefined ? !host.includes(".") : isInternalV4(parts[0], parts[1]);
}

function isInternalV4(a: number, b: number): boolean {
  return a === 0 || a === 10 || a === 127 || (a === 100 && b >= 64 && b < 128) ||
    (a === 169 && b === 254) || (a === 172 && b >= 16 && b < 32) || (a === 192 && b === 168) ||
    a >= 224;
}

function isInternalV6(host: string): boolean {
  const mapped = /^::(?:ffff:)?([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(host);
  if (mapped) {
    const high = parseInt(mapped[1], 16);
    return isInternalV4(high >> 8, high & 0xff);
  }
  return host === "::" || host === "::1" || /^f[cdef]/.test(host);
}
