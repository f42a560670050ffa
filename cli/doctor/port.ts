import type { Finding } from "./finding.ts";

/** How long the listening program may take to identify itself, in milliseconds. */
const TIMEOUT_MS = 2000;

/**
 * Whether the port of `m40 serve` is free, and which program has it. The address is not repeated: a report may be
 * posted.
 */
export async function portFindings(hostname: string, port: number): Promise<Finding[]> {
  const values = { port };
  try {
    Deno.listen({ hostname, port }).close();
    return [{
      area: "port",
      name: "free",
      level: "fine",
      says: `Port ${port} is free for m40 serve.`,
      values,
    }];
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) return [await whoListens(hostname, port)];
    const privileged = error instanceof Deno.errors.PermissionDenied;
    return [{
      area: "port",
      name: privileged ? "privileged" : "no_address",
      level: "to_do",
      says: privileged
        ? `This user may not listen on port ${port}.`
        : `Nothing can listen on port ${port} at that address: this machine does not have it.`,
      advice: privileged
        ? "Take a port from 1024 on: --port."
        : "Name one of this machine's addresses: --host.",
      values,
    }];
  }
}

async function whoListens(hostname: string, port: number): Promise<Finding> {
  const base = { area: "port" as const, values: { port } };
  const everywhere = hostname === "0.0.0.0" || hostname === "::" ? "127.0.0.1" : hostname;
  const address = everywhere.includes(":") ? `[${everywhere}]` : everywhere;
  const answer = await ask(`http://${address}:${port}/health`);
  if (answer !== undefined && "status" in answer && ("running" in answer || "reason" in answer)) {
    const failed = answer.status === "failed";
    return {
      ...base,
      name: failed ? "server_failed" : "serving",
      level: failed ? "to_do" : "fine",
      says: `m40 serves on port ${port}${failed ? ", and its device has failed" : ""}.`,
      advice: failed ? "Its log says why; start it again." : "`m40 ps` shows what it does.",
    };
  }
  return {
    ...base,
    name: "taken",
    level: "to_do",
    says: `Another program listens on port ${port}${
      port === 11434 ? ": Ollama, most likely" : ""
    }.`,
    advice: "End it, or give m40 serve another port: --port 8080.",
  };
}

async function ask(url: string): Promise<Record<string, unknown> | undefined> {
  try {
    const response = await fetch(url, {
      signal: AbortSignal.timeout(TIMEOUT_MS),
      redirect: "manual",
    });
    const text = await response.text();
    const value = text.length < 10_000 ? JSON.parse(text) : undefined;
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
