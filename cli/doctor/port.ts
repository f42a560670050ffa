import { type Finding, findingsOf } from "./finding.ts";

/** How long the listening program may take to identify itself, in milliseconds. */
const TIMEOUT_MS = 2000;

/**
 * Whether the port of `m40 serve` is free, and which program has it. The address is not repeated: a report may be
 * posted.
 */
export async function portFindings(hostname: string, port: number): Promise<Finding[]> {
  const { fine, toDo } = findingsOf("port", { port });
  try {
    Deno.listen({ hostname, port }).close();
    return [fine("free", `Port ${port} is free for m40 serve.`)];
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) return [await whoListens(hostname, port)];
    if (error instanceof Deno.errors.PermissionDenied) {
      const says = `This user may not listen on port ${port}.`;
      return [toDo("privileged", says, "Take a port from 1024 on: --port.")];
    }
    return [toDo(
      "no_address",
      `Nothing can listen on port ${port} at that address: this machine does not have it.`,
      "Name one of this machine's addresses: --host.",
    )];
  }
}

async function whoListens(hostname: string, port: number): Promise<Finding> {
  const { fine, toDo } = findingsOf("port", { port });
  const everywhere = hostname === "0.0.0.0" || hostname === "::" ? "127.0.0.1" : hostname;
  const address = everywhere.includes(":") ? `[${everywhere}]` : everywhere;
  const answer = await ask(`http://${address}:${port}/health`);
  if (
    answer === undefined || !("status" in answer && ("running" in answer || "reason" in answer))
  ) {
    const likely = port === 11434 ? ": Ollama, most likely" : "";
    return toDo(
      "taken",
      `Another program listens on port ${port}${likely}.`,
      "End it, or give m40 serve another port: --port 8080.",
    );
  }
  const serves = `m40 serves on port ${port}`;
  return answer.status === "failed"
    ? toDo(
      "server_failed",
      `${serves}, and its device has failed.`,
      "Its log says why; start it again.",
    )
    : fine("serving", `${serves}.`, "`m40 ps` shows what it does.");
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
