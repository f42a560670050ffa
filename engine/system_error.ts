/** The operating system's errors by their codes, for the person who has to act. */
const REASONS: Record<string, string> = {
  EACCES: "permission is denied",
  EPERM: "the system does not permit it",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EFBIG: "the file would be larger than is allowed",
  EIO: "reading from or writing to the device failed (input/output error)",
  ENOENT: "there is no such file or directory",
  ENOTDIR: "a part of the path is not a directory",
  EISDIR: "it is a directory",
  EEXIST: "there is something of that name already",
  ENAMETOOLONG: "the name is too long",
  ELOOP: "it goes through too many symbolic links",
  EMFILE: "the program has too many files open (ulimit -n sets how many it may have)",
  ENFILE: "all programs together have too many files open",
  ENOMEM: "the system has no memory left",
};

/** Whether an error is the operating system's, of a kind that {@link systemReason} can explain. */
export function isSystemError(error: unknown): boolean {
  return reasonOf(error) !== undefined;
}

/**
 * Why the operating system refused something, in plain words that complete "cannot be read: …"; of
 * another error its message.
 */
export function systemReason(error: unknown): string {
  return reasonOf(error) ?? (error instanceof Error ? error.message : String(error));
}

/** The path in an error of the operating system, where it has one. */
export function systemPath(error: Error): string | undefined {
  // Deno's messages end with the call and what it was given: `…: open '/a/path'`.
  const { message } = error;
  const call = /: \w+ '/.exec(message);
  if (call === null || !message.endsWith("'")) return undefined;
  return message.slice(call.index + call[0].length, -1).split("' -> '", 1)[0];
}

function reasonOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code } = error as Error & { code?: unknown };
  return typeof code === "string" && Object.hasOwn(REASONS, code) ? REASONS[code] : undefined;
}
