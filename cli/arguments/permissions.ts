/**
 * Gives up the permission to start programs, which the executable has for MCP servers alone. Its own process for the
 * device is started by the kernel library. From a checkout, permissions are those that it is run with.
 */
export function startNoPrograms(): void {
  if (Deno.build.standalone) Deno.permissions.revokeSync({ name: "run" });
}
