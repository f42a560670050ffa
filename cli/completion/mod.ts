export { bashCompletion } from "./bash.ts";
export { describeCommands, type DescribedCommand } from "./described.ts";
export { fishCompletion } from "./fish.ts";
export { zshCompletion } from "./zsh.ts";
