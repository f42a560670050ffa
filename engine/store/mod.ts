export { cacheDirectory, modelsDirectory, stateDirectory } from "./folders.ts";
export { nearest } from "./nearest.ts";
export { DEMO_MODEL, listModels, resolveModel, type StoredModel } from "./store.ts";
