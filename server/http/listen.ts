import { M40Error } from "../../engine/errors.ts";

/**
 * Listens on an address.
 *
 * @param port 0 takes any that is free.
 * @param option The option that says which port it is.
 * @throws {M40Error} `io` when it cannot be listened on, with what to do.
 */
export function listen(hostname: string, port: number, option = "--port"): Deno.TcpListener {
  try {
    return Deno.listen({ hostname, port });
  } catch (error) {
    const where = `${hostname}:${port}`;
    if (error instanceof Deno.errors.AddrInUse) {
      throw new M40Error(
        "io",
        `The port is in use: ${where}. Stop the program that listens there, or choose another port with ${option}.`,
        "port",
      );
    }
    if (error instanceof Deno.errors.PermissionDenied) {
      throw new M40Error(
        "io",
        `Listening on ${where} is not permitted. Ports below 1024 are the system's; choose another with ${option}.`,
        "port",
      );
    }
    if (error instanceof Deno.errors.AddrNotAvailable) {
      throw new M40Error(
        "io",
        `This machine has no address ${hostname}. Use 127.0.0.1 for this machine alone, or 0.0.0.0 for every network.`,
        "host",
      );
    }
    const reason = error instanceof Error ? error.message : String(error);
    throw new M40Error("io", `Cannot listen on ${where}: ${reason}.`, "host");
  }
}
