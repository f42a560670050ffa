export { SYSTEM_FILES } from "./files.ts";
export { describeOrigin, identityOf, type Origin } from "./identity.ts";
export {
  type KvBlockName,
  prefixHash,
  type PrefixKey,
  prefixKey,
  STATE_GROUP,
} from "./kv_block_name.ts";
export { currentUse, KvBlockStore, type KvBlockStoreStatus } from "./kv_block_store.ts";
