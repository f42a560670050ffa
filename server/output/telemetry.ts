/**
 * What of OpenTelemetry is exported, by the variables that Deno's own export heeds. A program that was compiled
 * without OTEL_DENO exports nothing, whatever they are when it runs.
 *
 * @module
 */

const asked = /^(true|1)$/i.test(Deno.env.get("OTEL_DENO") ?? "");

/** Whether traces are exported. */
export const exportsTraces: boolean = asked && runtimeExports();

/** Whether an export is asked for that this program cannot make. */
export const cannotExport: boolean = asked && !exportsTraces;

/**
 * Whether what the server says is exported as logs too. Deno exports what is written to its console; with
 * "replace" that is not printed, so that the lines which the server prints itself come but once.
 */
export const exportsLogs: boolean = exportsTraces &&
  Deno.env.get("OTEL_DENO_CONSOLE") === "replace";

/** Whether spans can be made. One that is never ended goes nowhere. */
function runtimeExports(): boolean {
  try {
    Deno.telemetry.tracerProvider.getTracer("m40").startSpan("probe");
    return true;
  } catch {
    return false;
  }
}
