/**
 * Bytes that texts are mostly made of, by what grammars distinguish: letters, digits, and the other bytes of names,
 * addresses and prose.
 */
const KINDS = [/[A-Za-z]/, /[0-9]/, / /, /_/, /[-.]/, /[!$&'()*+,:;=@~]/, /[#%\/<>?[\]^`{|}]/];

/** The bit of all other bytes in a set of kinds: quotes, backslashes, controls, parts of longer characters. */
export const OTHER_KIND = 1 << KINDS.length;

/** The bytes of each kind, whose bit in a set of kinds is that of its index here; not those of {@link OTHER_KIND}. */
export const BYTES_OF_KINDS: readonly (readonly number[])[] = KINDS.map((kind) =>
  Array.from({ length: 128 }, (_, byte) => byte)
    .filter((byte) => kind.test(String.fromCharCode(byte)))
);

/** The bit of each byte's kind. */
export const KIND_BITS: Uint8Array = new Uint8Array(256).fill(OTHER_KIND);
for (const [kind, bytes] of BYTES_OF_KINDS.entries()) {
  for (const byte of bytes) KIND_BITS[byte] = 1 << kind;
}
