/**
 * Where models come from: what a name means, and which files are to be fetched for it.
 *
 * @module
 */
export { type Alias, aliases } from "./aliases.ts";
export { ask } from "./answers.ts";
export { findSource } from "./find_source.ts";
export { plainName } from "./plain_name.ts";
export {
  type HubReference,
  parseReference,
  type PathReference,
  type Reference,
} from "./references.ts";
export { remoteCompanion, remoteHead } from "./remote_head.ts";
export type { ListedFile, Variant } from "./quantisations.ts";
export type { Choice, Extras, Source } from "./source.ts";
