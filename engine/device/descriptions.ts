import type { BUFFER_DESC, CACHE_DESC, LIMITS, StructOf, TENSOR_DESC } from "./structs.ts";

/** A weight's type (GGUF id) and shape [experts, rows, columns]. */
export type TensorDesc = StructOf<typeof TENSOR_DESC>;
/** The shape of a KV cache. */
export type CacheDesc = StructOf<typeof CACHE_DESC>;
/** The largest step that a program will be asked for. */
export type Limits = StructOf<typeof LIMITS>;
/** A buffer of a program: see m40_buffer_desc. */
export type BufferDesc = StructOf<typeof BUFFER_DESC>;

/** What a program is on a device, as it crosses. */
export interface Records {
  readonly limits: Limits;
  readonly buffers: readonly BufferDesc[];
  /** Operations of 128 bytes each, see m40_op. */
  readonly ops: Uint8Array<ArrayBuffer>;
}
