/** The parts of a tool's result that are not text, as clients send them. */
export interface Unreadable {
  readonly kind: "image" | "document" | "file" | "sound";
  /** Its media type, where it is known. */
  readonly mediaType?: unknown;
  /** Where it is; one that begins with `data:` says the media type. */
  readonly url?: unknown;
}

/** A media type that can be named: it comes from the client, and goes into the prompt. */
const MEDIA_TYPE = /^[\w.+-]{1,40}\/[\w.+-]{1,80}$/;

/**
 * What a tool's result says instead of what a text model cannot see. An agent sends each result again
 * with every request: to refuse one would be the end of its conversation.
 */
export function notShown({ kind, mediaType, url }: Unreadable): string {
  const type = mediaType ?? (typeof url === "string" ? /^data:([^;,]+)/.exec(url)?.[1] : undefined);
  const known = typeof type === "string" && MEDIA_TYPE.test(type);
  return `[${kind}${known ? ` of the type ${type}` : ""}; not shown: this model reads text]`;
}
