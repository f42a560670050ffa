/**
 * The door of this room: what the rest of the house may use of it.
 *
 * @module
 */
export {
  formatBytes,
  formatCount,
  formatRowShare,
  formatTable,
  shortestFloat32,
} from "./format.ts";
export { readStdin } from "./input.ts";
export { Progress } from "./progress.ts";
export { askLine, askNow } from "./prompt.ts";
export { EndSignals, HeldInterrupt } from "./signals.ts";
export { note, printable, style, visible, write, writeError } from "./terminal.ts";
export { TransferProgress } from "./transfer_progress.ts";
