export { ClosedOutput, standardError, standardOutput } from "./output_stream.ts";
export { cannotExport, exportsTraces } from "./telemetry.ts";
