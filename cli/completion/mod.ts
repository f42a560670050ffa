/**
 * The door of this room: what the rest of the house may use of it.
 *
 * @module
 */
export { bashCompletion } from "./bash.ts";
export { describeCommands, type DescribedCommand } from "./described.ts";
export { fishCompletion } from "./fish.ts";
export { zshCompletion } from "./zsh.ts";
