/**
 * Reasoning in the form that clients send back which keep nothing else of it: OpenAI encrypts it, because its
 * clients are not to read it. Here they get it in plain text too, so that nothing is hidden.
 *
 * @module
 */

const PREFIX = "m40:";

/** A reasoning's text as `encrypted_content`. */
export function encodedReasoning(text: string): string {
  return PREFIX + new TextEncoder().encode(text).toBase64();
}

/** The text that an `encrypted_content` was made of; undefined for one that this server did not make. */
export function decodedReasoning(encoded: unknown): string | undefined {
  if (typeof encoded !== "string" || !encoded.startsWith(PREFIX)) return undefined;
  try {
    return new TextDecoder().decode(Uint8Array.fromBase64(encoded.slice(PREFIX.length)));
  } catch {
    return undefined;
  }
}
