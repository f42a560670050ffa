/**
 * The door of this room: what the rest of the house may use of it.
 *
 * @module
 */
export { ClosedOutput, standardError, standardOutput } from "./output_stream.ts";
export { cannotExport, exportsTraces } from "./telemetry.ts";
