export { apiKeyOf } from "./api_key.ts";
export {
  type Argument,
  type Command,
  command,
  flag,
  type Option,
  option,
  type Options,
  type OptionValues,
  repeatable,
} from "./command.ts";
export { DISK_CACHE_OPTIONS, diskCacheOf } from "./disk_cache.ts";
export { findCommand } from "./find_command.ts";
export { MCP_OPTIONS, OpeningMcp, readMcpOptions } from "./mcp_options.ts";
export { parseLine } from "./parse.ts";
export { startNoPrograms } from "./permissions.ts";
export { PROGRAM_OPTIONS } from "./program.ts";
export {
  ANSWER_OPTIONS,
  answerDefaults,
  answerRequest,
  SAMPLING_OPTIONS,
  samplingOf,
} from "./sampling_options.ts";
export { commandUsage, optionHelp, programUsage } from "./usage.ts";
export {
  card,
  choice,
  type Completes,
  device,
  devices,
  FILES,
  hostName,
  integer,
  integers,
  jsonObject,
  keepAlive,
  MODELS,
  number,
  origin,
  override,
  text,
  tokenIds,
} from "./values.ts";
