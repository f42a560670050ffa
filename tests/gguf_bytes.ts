/** Builds GGUF headers byte by byte, right or wrong: the writer refuses to write the wrong ones. */
export class GgufBytes {
  readonly #bytes: number[] = [];

  raw(...bytes: number[]): this {
    this.#bytes.push(...bytes);
    return this;
  }

  text(text: string): this {
    return this.raw(...new TextEncoder().encode(text));
  }

  u32(value: number): this {
    const view = new DataView(new ArrayBuffer(4));
    view.setUint32(0, value, true);
    return this.raw(...new Uint8Array(view.buffer));
  }

  u64(value: number | bigint): this {
    const view = new DataView(new ArrayBuffer(8));
    view.setBigUint64(0, BigInt(value), true);
    return this.raw(...new Uint8Array(view.buffer));
  }

  string(text: string, length: number | bigint = new TextEncoder().encode(text).length): this {
    return this.u64(length).text(text);
  }

  /** Magic, version and the two counts. */
  start(tensors: number | bigint = 0, pairs: number | bigint = 0, version = 3): this {
    return this.text("GGUF").u32(version).u64(tensors).u64(pairs);
  }

  /** A tensor's record. */
  tensor(
    name: string,
    shape: (number | bigint)[],
    { type = 0, offset = 0 }: { type?: number; offset?: number | bigint } = {},
  ): this {
    this.string(name).u32(shape.length);
    for (const size of shape) this.u64(size);
    return this.u32(type).u64(offset);
  }

  /** Zeros up to the alignment, then `count` bytes of data. */
  data(count: number): this {
    while (this.#bytes.length % 32 !== 0) this.#bytes.push(0);
    for (let i = 0; i < count; i++) this.#bytes.push(0);
    return this;
  }

  build(): Uint8Array {
    return new Uint8Array(this.#bytes);
  }
}
