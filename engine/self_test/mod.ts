/**
 * The door of this room: what the rest of the house may use of it.
 *
 * @module
 */
export { runSelfTest, type SelfTest } from "./check_device.ts";
export { measureCopies } from "./copies.ts";
export { underLoad } from "./load.ts";
