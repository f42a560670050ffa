export {
  cacheDirectory,
  configDirectory,
  modelsDirectory,
  NO_MODELS_DIRECTORY,
  stateDirectory,
} from "./folders.ts";
export { type ModelDefaults, recordDefaults } from "./model_defaults.ts";
export { nearest } from "./nearest.ts";
export { DEMO_MODEL } from "./names.ts";
export { type Removed, removeModel } from "./remove.ts";
export { listModels, type ModelOrigin, resolveModel, type StoredModel } from "./store.ts";
