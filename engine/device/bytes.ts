/** The bytes of a typed array, without a copy. */
export function asBytes(array: ArrayBufferView<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}
