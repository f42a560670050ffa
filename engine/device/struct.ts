/**
 * C structs as data: a struct is a list of named fields, laid out by the rules of the System V x86-64
 * and AArch64 ABIs (each field at a multiple of its own alignment, the whole padded to the largest).
 *
 * @module
 */

type Scalar = keyof typeof SCALARS;

/** A scalar, an array of scalars, or a zero-terminated UTF-8 text of at most that many bytes. */
export type FieldType = Scalar | readonly [Scalar, number] | readonly ["text", number];

/** Bytes of each, and how a view has it. */
const SCALARS = {
  u32: { bytes: 4, get: "getUint32", set: "setUint32" },
  i32: { bytes: 4, get: "getInt32", set: "setInt32" },
  f32: { bytes: 4, get: "getFloat32", set: "setFloat32" },
  u64: { bytes: 8 },
} as const;

type FieldValue<T extends FieldType> = T extends "u64" ? bigint
  : T extends Scalar ? number
  : T extends readonly ["text", number] ? string
  : readonly number[];

/** The values of a struct by field name. */
export type StructValue<F extends Record<string, FieldType>> = {
  -readonly [K in keyof F]: FieldValue<F[K]>;
};

/** Where a field stands, in bytes from the struct's start. */
export interface FieldLayout {
  readonly type: FieldType;
  readonly offset: number;
  readonly bytes: number;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A struct of the C header: its name there and the layout of its fields. */
export class Struct<F extends Record<string, FieldType>> {
  readonly fields: { readonly [K in keyof F]: FieldLayout };
  /** Where its fields start, in words of 32 bits: for what is written and read by hand, for every token. */
  readonly words: { readonly [K in keyof F]: number };
  /** Size with padding, in bytes. */
  readonly bytes: number;

  /**
   * @param name The struct's name in m40.h.
   * @param types Its fields, in their order there.
   */
  constructor(readonly name: string, types: F) {
    let offset = 0;
    let alignment = 1;
    const fields: Record<string, FieldLayout> = {};
    const words: Record<string, number> = {};
    for (const [field, type] of Object.entries(types)) {
      const [element, count] = typeof type === "string" ? [type, 1] : type;
      const elementBytes = element === "text" ? 1 : SCALARS[element].bytes;
      offset = Math.ceil(offset / elementBytes) * elementBytes;
      fields[field] = { type, offset, bytes: elementBytes * count };
      words[field] = offset / 4;
      offset += elementBytes * count;
      alignment = Math.max(alignment, elementBytes);
    }
    this.fields = fields as { [K in keyof F]: FieldLayout };
    this.words = words as { [K in keyof F]: number };
    this.bytes = Math.ceil(offset / alignment) * alignment;
  }

  /** Writes fields at `offset` bytes into `view`; fields that are not named keep what is there. */
  write(view: DataView, offset: number, values: Partial<StructValue<F>>): void {
    for (const [name, value] of Object.entries(values)) {
      const field = this.fields[name];
      if (field === undefined) throw new TypeError(`${this.name} has no field ${name}`);
      writeField(view, offset + field.offset, field.type, value as FieldValue<FieldType>);
    }
  }

  /** A struct of its own, zero but for `values`. */
  encode(values: Partial<StructValue<F>>): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(this.bytes);
    this.write(new DataView(bytes.buffer), 0, values);
    return bytes;
  }

  /** Reads the struct at `offset` bytes into `view`. */
  read(view: DataView, offset = 0): StructValue<F> {
    const values: Record<string, unknown> = {};
    for (const [name, field] of Object.entries(this.fields) as [string, FieldLayout][]) {
      values[name] = readField(view, offset + field.offset, field.type);
    }
    return values as StructValue<F>;
  }
}

function writeField(
  view: DataView,
  offset: number,
  type: FieldType,
  value: FieldValue<FieldType>,
): void {
  if (typeof type === "string") return writeScalar(view, offset, type, value as number | bigint);
  const [element, count] = type;
  if (element === "text") {
    const bytes = encoder.encode(value as string);
    if (bytes.length >= count) {
      throw new RangeError(`got a text of ${bytes.length} bytes, wanted at most ${count - 1}`);
    }
    const target = new Uint8Array(view.buffer, view.byteOffset + offset, count);
    target.fill(0);
    target.set(bytes);
    return;
  }
  const values = value as readonly number[];
  if (values.length > count) {
    throw new RangeError(`got ${values.length} values, wanted at most ${count}`);
  }
  values.forEach((item, i) =>
    writeScalar(view, offset + i * SCALARS[element].bytes, element, item)
  );
}

function writeScalar(view: DataView, offset: number, type: Scalar, value: number | bigint): void {
  if (type === "u64") view.setBigUint64(offset, BigInt(value), true);
  else view[SCALARS[type].set](offset, value as number, true);
}

function readField(view: DataView, offset: number, type: FieldType): FieldValue<FieldType> {
  if (typeof type === "string") return readScalar(view, offset, type);
  const [element, count] = type;
  if (element === "text") {
    const bytes = new Uint8Array(view.buffer, view.byteOffset + offset, count);
    const end = bytes.indexOf(0);
    return decoder.decode(bytes.subarray(0, end < 0 ? count : end));
  }
  return Array.from(
    { length: count },
    (_, i) => Number(readScalar(view, offset + i * SCALARS[element].bytes, element)),
  );
}

function readScalar(view: DataView, offset: number, type: Scalar): number | bigint {
  return type === "u64" ? view.getBigUint64(offset, true) : view[SCALARS[type].get](offset, true);
}
