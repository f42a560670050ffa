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
export {
  headedTable,
  note,
  printable,
  style,
  visible,
  warn,
  write,
  writeError,
  writeJson,
} from "./terminal.ts";
export { TransferProgress } from "./transfer_progress.ts";
