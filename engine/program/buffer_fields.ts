import { NONE } from "../device/mod.ts";
import type { Operation } from "./operation.ts";
import { type Access, BUFFER_FIELDS } from "./operations.generated.ts";

/** The buffers of an operation, and what it does to each. */
export function buffersOf(operation: Operation): { buffer: number; access: Access }[] {
  const values = operation as unknown as Record<string, number>;
  return Object.entries(BUFFER_FIELDS[operation.kind])
    .map(([field, access]) => ({ buffer: values[field], access }))
    .filter(({ buffer }) => buffer !== NONE);
}
