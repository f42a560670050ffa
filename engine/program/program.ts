import type { BufferDesc } from "../device/descriptions.ts";
import type { Operation } from "./operation.ts";
import type { Weight } from "./weight_table.ts";

/** What a model is: operations over buffers and weights, before any of it is on a device. */
export interface Program {
  readonly operations: readonly Operation[];
  readonly buffers: readonly BufferDesc[];
  readonly weights: readonly Weight[];
}
