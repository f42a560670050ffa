export { auditMetadata, type AuditOptions, unknownKeysWarning } from "./audit/mod.ts";
export { joinAdvice, piecesOf, wholeOf } from "./cut_pieces.ts";
export {
  assertModel,
  type Companion,
  CompanionError,
  PEEK_BYTES,
  peekCompanion,
} from "./file_kind.ts";
export { readGgufHead, type RemoteHead } from "./head.ts";
export { Metadata, type MetadataEntry, NestedArray, quoteKey } from "./metadata.ts";
export { translateOllama } from "./ollama/mod.ts";
export { type Override, OVERRIDE_WANTED, parseOverride } from "./override.ts";
export { endsLikePart, joinFileName, MAX_PARTS, type Part, splitFileName } from "./part_names.ts";
export { checkPart, joinParts } from "./parts.ts";
export {
  assertNotCut,
  assertUnchanged,
  type Gguf,
  type GgufTensor,
  readGguf,
  type ReadGgufOptions,
} from "./reader.ts";
export { StringArray } from "./string_array.ts";
export {
  GGML_TYPES,
  SUPPORTED_TYPE_NAMES,
  type TensorType,
  tensorTypeByName,
  unsupportedTensor,
} from "./types.ts";
