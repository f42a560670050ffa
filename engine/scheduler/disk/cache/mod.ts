/**
 * The door of this room: what the rest of the house may use of it.
 *
 * @module
 */
export { SYSTEM_FILES } from "./files.ts";
export { describeOrigin, identityOf, type Origin } from "./identity.ts";
export { type PageName, prefixHash, type PrefixKey, prefixKey, STATE_GROUP } from "./page_name.ts";
export { currentUse, PageStore, type PageStoreStatus } from "./page_store.ts";
