export {
  cacheDirectory,
  configDirectory,
  modelsDirectory,
  NO_MODELS_DIRECTORY,
  requireModelsDirectory,
  stateDirectory,
} from "./folders.ts";
export { type ModelDefaults, recordDefaults } from "./model_defaults.ts";
export { DEMO_MODEL } from "./names.ts";
export { type Removed, removeModel } from "./remove.ts";
export { listModels, type ModelOrigin, resolveModel, type StoredModel } from "./store.ts";
export { hubModels } from "./caches/hugging_face.ts";
export { ollamaModels } from "./caches/ollama.ts";
export { download } from "./download/download.ts";
export { DownloadError } from "./download/errors.ts";
export { FileHash } from "./download/file_hash.ts";
export type { DownloadProgress, RemoteFile } from "./download/types.ts";
export { foreignEntries, removeIfThere, withReason } from "./files.ts";
export { localCompanion } from "./local_companion.ts";
export { lockModel } from "./model_lock.ts";
export {
  isModelName,
  modelFileName,
  parseFileName,
  parseNewModelName,
  PARTIAL_FOLDER,
  quoteName,
  recordFileName,
  splitFileName,
} from "./names.ts";
export { filesOf } from "./own.ts";
export {
  MAX_TEXT_LENGTH,
  type ModelRecord,
  type ParameterValue,
  parseParameters,
  readRecord,
  type RecordedFile,
  writeRecord,
} from "./record.ts";
export { findAlias } from "./sources/aliases.ts";
export {
  type Choice,
  type Extras,
  findSource,
  type HubReference,
  type PathReference,
  plainName,
  type Reference,
  remoteCompanion,
  remoteHead,
  type Source,
  type Variant,
} from "./sources/mod.ts";
export { parseReference } from "./sources/references.ts";
