export { PULL_OPTION, storedOrPulled } from "./missing_model.ts";
export {
  ALONE,
  CHAT_OPTIONS,
  chatTemplate,
  DEVICE_OPTIONS,
  type ExtraOptions,
  loadModel,
  loadStored,
  MODEL_ARGUMENT,
  MODEL_OPTIONS,
  OVERRIDE_OPTIONS,
  sayFallback,
  sayObserverError,
  TOKENIZER_OPTIONS,
} from "./model_options.ts";
export { pullShown } from "./pull_shown.ts";
export { SERVE_OPTIONS, type ServeOptions } from "./serving_options.ts";
