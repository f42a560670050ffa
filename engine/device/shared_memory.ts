import { asBytes } from "./bytes.ts";
import { call } from "./status.ts";
import type { Symbols } from "./symbols.ts";

/** Host memory that the devices of several contexts read and write: see m40_shared_create. */
export class SharedMemory {
  private pointer: Deno.PointerValue;

  /** @param symbols Of the library of all of these contexts. */
  constructor(private readonly symbols: Symbols, readonly bytes: number) {
    const out = new BigUint64Array(1);
    call((error) => symbols.m40_shared_create(BigInt(bytes), asBytes(out), error));
    this.pointer = Deno.UnsafePointer.create(out[0]);
  }

  /** For engine/device/ alone. */
  get handle(): Deno.PointerValue {
    return this.pointer;
  }

  /** Contexts that have been given it keep it. */
  close(): void {
    this.symbols.m40_shared_destroy(this.pointer);
    this.pointer = null;
  }
}
