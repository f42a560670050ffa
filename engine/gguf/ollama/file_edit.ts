import type { Gguf, GgufTensor } from "../header.ts";
import { Metadata, type MetadataEntry, NestedArray } from "../metadata.ts";
import { StringArray } from "../string_array.ts";

/** Values of metadata. */
export const float = (value: number): MetadataEntry => ({
  type: "float32",
  value: Math.fround(value),
});
export const count = (value: number): MetadataEntry => ({ type: "uint32", value });
export const text = (value: string): MetadataEntry => ({ type: "string", value });

/** A file's header while it is translated: what stays as it is costs nothing. */
export class FileEdit {
  private readonly entries: Map<string, MetadataEntry>;
  private readonly tensors: Map<string, GgufTensor>;
  /** Whether anything was changed. */
  private changed = false;
  /** Sentences for people: what of the file is left out. */
  readonly notes: string[] = [];

  constructor(private readonly gguf: Gguf) {
    this.entries = new Map(gguf.metadata.entries());
    this.tensors = new Map(gguf.tensors);
  }

  /** The header as it is now. */
  result(): Gguf {
    if (!this.changed) return this.gguf;
    return {
      ...this.gguf,
      metadata: new Metadata(this.entries, this.gguf.path),
      tensors: this.tensors,
      notes: [...this.gguf.notes ?? [], ...this.notes],
    };
  }

  /** `general.architecture`; empty where there is none. */
  get architecture(): string {
    const value = this.value("general.architecture");
    return typeof value === "string" ? value : "";
  }

  /** A key's full name: those of the architecture begin with `%s.`. */
  private full(key: string): string {
    return key.startsWith("%s.") ? this.architecture + key.slice(2) : key;
  }

  has(key: string): boolean {
    return this.entries.has(this.full(key));
  }

  value(key: string): MetadataEntry["value"] | undefined {
    return this.entries.get(this.full(key))?.value;
  }

  /** A number; undefined where there is none, or another type. */
  number(key: string): number | undefined {
    const value = this.value(key);
    return typeof value === "number" ? value : undefined;
  }

  /** An element of an array of texts; undefined where there is none. */
  textAt(key: string, index: number): string | undefined {
    const value = this.value(key);
    return value instanceof StringArray && index < value.length ? value.at(index) : undefined;
  }

  hasTensor(name: string): boolean {
    return this.tensors.has(name);
  }

  /** A tensor's size in a dimension, columns first; undefined where there is no such tensor. */
  size(name: string, dimension: number): number | undefined {
    const tensor = this.tensors.get(name);
    return tensor && (tensor.shape[dimension] ?? 1);
  }

  /** Whether any tensor's name matches. */
  anyTensor(name: RegExp): boolean {
    return this.tensors.keys().some((each) => name.test(each));
  }

  set(key: string, entry: MetadataEntry): void {
    if (this.value(key) === entry.value) return;
    this.changed = true;
    this.entries.set(this.full(key), entry);
  }

  delete(key: string): void {
    if (this.entries.delete(this.full(key))) this.changed = true;
  }

  /** Gives a key another name; where there is one of that name, that one stays and the key goes. */
  rename(from: string, to: string): void {
    const entry = this.entries.get(this.full(from));
    if (entry === undefined) return;
    this.delete(from);
    if (!this.has(to)) this.set(to, entry);
  }

  /** Gives the architecture another name, and its keys with it. */
  renameArchitecture(name: string): void {
    const old = this.architecture;
    const prefix = `${old}.`;
    const own = [...this.entries.keys()].filter((key) => key.startsWith(prefix));
    this.set("general.architecture", text(name));
    for (const key of own) this.rename(key, `${name}.${key.slice(prefix.length)}`);
  }

  /** Replaces what matches in the names of tensors; one whose new name is taken stays as it is. */
  renameTensors(pattern: RegExp, replacement: string): void {
    for (const [old, tensor] of [...this.tensors]) {
      const name = old.replace(pattern, replacement);
      if (name === old || this.tensors.has(name)) continue;
      this.changed = true;
      this.tensors.delete(old);
      this.tensors.set(name, { ...tensor, name });
    }
  }

  /** Leaves out the tensors whose names match; how many they were. */
  dropTensors(pattern: RegExp): number {
    const names = [...this.tensors.keys()].filter((name) => pattern.test(name));
    for (const name of names) this.tensors.delete(name);
    if (names.length > 0) this.changed = true;
    return names.length;
  }

  /** Cuts an array to a length. */
  truncate(key: string, length: number): void {
    const entry = this.entries.get(this.full(key));
    if (entry === undefined || typeof entry.value !== "object") return;
    const { value } = entry;
    if (value.length <= length || value instanceof NestedArray) return;
    const cut = value instanceof StringArray ? value.first(length) : value.slice(0, length);
    this.set(key, { ...entry, value: cut });
  }
}
