/**
 * What a model is, as data: operations over buffers and weights. The fields are those of the records
 * in cuda/include/m40.h, where each operation is defined.
 *
 * @module
 */
import { NONE, OP, OpKind, OPS, type StructOf } from "../device/mod.ts";
import { WEIGHT_FIELDS } from "./operations.generated.ts";

type Ops = typeof OPS;

/**
 * One operation. Buffers are indices into a program's buffers, weights indices into
 * its weights, either NONE where absent.
 */
export type Operation = {
  [K in keyof Ops]: { readonly kind: K } & Readonly<StructOf<Ops[K]>>;
}[keyof Ops];

/**
 * Encodes operations as records of m40_op.
 *
 * @param tensors The library's index of each weight, in the order of the weights; where absent the
 * records name no tensors, which is enough to ask what memory they take.
 */
export function encodeOperations(
  operations: readonly Operation[],
  tensors?: ArrayLike<number>,
): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(operations.length * OP.bytes);
  const view = new DataView(bytes.buffer);
  const tensor = (weight: number) =>
    weight === NONE || tensors === undefined ? NONE : tensors[weight];
  operations.forEach((operation, i) => {
    const { kind, ...fields } = operation;
    const values: Record<string, unknown> = { ...fields };
    for (const name of WEIGHT_FIELDS[kind] ?? []) {
      const value = values[name] as number | readonly number[];
      values[name] = typeof value === "number" ? tensor(value) : value.map(tensor);
    }
    OP.write(view, i * OP.bytes, { kind: OpKind[kind] });
    // deno-lint-ignore no-explicit-any -- the kind says which struct the fields are of
    (OPS[kind] as any).write(view, i * OP.bytes + OP.fields.payload.offset, values);
  });
  return bytes;
}
