import { assertMatch, assertThrows } from "@std/assert";
import { M40Error } from "../engine/errors.ts";
import { Metadata, type MetadataEntry } from "../engine/gguf/metadata.ts";
import { type Gguf, type GgufTensor, readGguf } from "../engine/gguf/reader.ts";
import { tensorTypeByName } from "../engine/gguf/types.ts";
import { architectureOf } from "../engine/models/architecture.ts";
import type { Model, ReadOptions } from "../engine/models/model.ts";

/** The folder of the goldens. */
export const GOLDENS = new URL("data/golden/", import.meta.url);

/** A golden's header. */
export function goldenHeader(name: string): Promise<Gguf> {
  return readGguf(new URL(`${name}.gguf`, GOLDENS).pathname);
}

const F32 = tensorTypeByName("F32")!;

/** What is changed in a file: values of its metadata, of keys after the architecture's prefix, and tensors. */
export interface Changes {
  readonly metadata?: Readonly<Record<string, MetadataEntry | undefined>>;
  /** Shapes, columns first; none takes the tensor away. */
  readonly tensors?: Readonly<Record<string, readonly number[] | undefined>>;
}

/** A header with changes. */
export function changed(gguf: Gguf, { metadata = {}, tensors = {} }: Changes): Gguf {
  const prefix = gguf.metadata.string("general.architecture");
  const entries = new Map(gguf.metadata.entries());
  for (const [key, entry] of Object.entries(metadata)) {
    const name = key.includes("general.") ? key : `${prefix}.${key}`;
    if (entry === undefined) entries.delete(name);
    else entries.set(name, entry);
  }
  const all = new Map<string, GgufTensor>(gguf.tensors);
  for (const [name, shape] of Object.entries(tensors)) {
    if (shape === undefined) all.delete(name);
    else all.set(name, { name, type: F32, shape, file: 0, offset: 0, bytes: 0 });
  }
  return { ...gguf, metadata: new Metadata(entries), tensors: all };
}

export function u32(value: number): MetadataEntry {
  return { type: "uint32", value };
}

export function i32s(...values: number[]): MetadataEntry {
  return { type: "array", element: "int32", value: Int32Array.from(values) };
}

export function f32(value: number): MetadataEntry {
  return { type: "float32", value };
}

export function text(value: string): MetadataEntry {
  return { type: "string", value };
}

export function booleans(...value: boolean[]): MetadataEntry {
  return { type: "array", element: "bool", value };
}

export function read(gguf: Gguf, options?: ReadOptions): Model {
  return architectureOf(gguf).read(gguf, options);
}

/** A golden, what is changed in it, and why it is refused then. */
export type Refusal = readonly [model: string, changes: Changes, wanted: RegExp];

/** A test of each. */
export function testRefusals(refusals: readonly Refusal[]): void {
  for (const [name, changes, wanted] of refusals) {
    const what = Object.entries({ ...changes.metadata, ...changes.tensors })
      .map(([key, value]) => `${key} ${describe(value)}`).join(", ");
    Deno.test(`${name} with ${what} is refused with a reason`, async () => {
      const gguf = changed(await goldenHeader(name), changes);
      assertMatch(assertThrows(() => read(gguf), M40Error).message, wanted);
    });
  }
}

function describe(change: MetadataEntry | readonly number[] | undefined): string {
  if (change === undefined) return "missing";
  const value = "type" in change ? change.value : change;
  return typeof value === "object" ? `[${Array.from(value as Iterable<unknown>)}]` : `${value}`;
}
