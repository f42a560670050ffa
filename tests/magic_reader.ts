/** Whether bytes begin with four that nobody guesses at once: what a fuzzer has to find. */
export function readsMagic(bytes: Uint8Array): boolean {
  if (bytes[0] === 0x4d) {
    if (bytes[1] === 0x34) {
      if (bytes[2] === 0x30) {
        if (bytes[3] === 0xff) {
          return true;
        }
      }
    }
  }
  return false;
}
