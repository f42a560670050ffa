import {
  type BUFFER_DESC,
  CACHE_DESC,
  type LIMITS,
  type StructOf,
  TENSOR_DESC,
} from "./structs.ts";

/** A weight's type (GGUF id) and shape [experts, rows, columns]. */
export interface TensorDesc extends Omit<TensorStruct, "first_row" | "whole_rows"> {
  /** Of a part of a weight: its first row in each expert's, and how many the whole weight has. */
  readonly part?: { readonly firstRow: number; readonly wholeRows: number };
}
type TensorStruct = StructOf<typeof TENSOR_DESC>;
type CacheStruct = StructOf<typeof CACHE_DESC>;

/** The shape of what sequences keep: of a KV cache, and of the slots of their states. */
export interface CacheDesc
  extends Readonly<Omit<CacheStruct, "n_states" | "n_slots" | "state_values">> {
  /** Floats of each state of a sequence; all of them lie in one slot. */
  readonly states: readonly number[];
  /** 0 where there are no states. */
  readonly slots: number;
}

/** A weight's description as it crosses. */
export function encodeTensorDesc({ part, ...desc }: TensorDesc): Uint8Array<ArrayBuffer> {
  return TENSOR_DESC.encode({
    ...desc,
    first_row: part?.firstRow ?? 0,
    whole_rows: part?.wholeRows ?? 0,
  });
}

/** The description as it crosses. */
export function encodeCacheDesc(desc: CacheDesc): Uint8Array<ArrayBuffer> {
  const { states, slots, ...kvBlocks } = desc;
  const fields = { n_states: states.length, n_slots: slots, state_values: states };
  return CACHE_DESC.encode({ ...kvBlocks, ...fields });
}

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
