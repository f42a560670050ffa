/**
 * The door of this room: what the rest of the house may use of it.
 *
 * @module
 */
export { SideThread } from "./side_thread.ts";
