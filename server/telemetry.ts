/** What of OpenTelemetry is asked for, by the variables that Deno's own export heeds. */
const wanted = /^(true|1)$/i.test(Deno.env.get("OTEL_DENO") ?? "");

/** Whether traces are exported. */
export const exportsTraces: boolean = wanted;

/**
 * Whether what the server says is exported as logs too. Deno exports what is written to its console; with
 * "replace" that is not printed, so that the lines which the server prints itself come but once.
 */
export const exportsLogs: boolean = wanted && Deno.env.get("OTEL_DENO_CONSOLE") === "replace";
