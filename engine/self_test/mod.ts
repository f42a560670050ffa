export { runSelfTest, type SelfTest } from "./check_device.ts";
export { measureCopies } from "./copies.ts";
export { underLoad } from "./load.ts";
