// What the tests of downloads share: files, folders, and quick tries.
import { createHash } from "node:crypto";
import { join } from "@std/path";
import {
  download,
  type Downloaded,
  type DownloadOptions,
  type RemoteFile,
  type Tuning,
} from "../engine/store/download/mod.ts";

/** So that a test takes milliseconds where a person would wait. */
export const QUICK: Partial<Tuning> = {
  pieceBytes: 64 * 1024,
  stallMs: 300,
  attempts: 8,
  firstPauseMs: 2,
  longestPauseMs: 10,
  longestRetryAfterMs: 300,
  checkpointMs: 20,
  reserveBytes: 0,
};

/** Bytes of which no part is like another; the same for the same seed. */
export function someBytes(length: number, seed = 1): Uint8Array {
  const bytes = new Uint8Array(length);
  let state = seed * 2654435761 >>> 0 || 1;
  for (let i = 0; i < length; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    bytes[i] = state >>> 8;
  }
  return bytes;
}

export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** A folder for models that goes in the end. */
export class Folder implements AsyncDisposable {
  private constructor(readonly path: string) {}

  static async make(): Promise<Folder> {
    return new Folder(await Deno.makeTempDir({ prefix: "m40-download-" }));
  }

  get target(): string {
    return join(this.path, "model.gguf");
  }

  /** What is kept of a file that is not complete. */
  partialFiles(): string[] {
    return names(join(this.path, ".partial"));
  }

  /** Everything beside that. */
  files(): string[] {
    return names(this.path).filter((name) => name !== ".partial");
  }

  get(file: RemoteFile, options: DownloadOptions = {}): Promise<Downloaded> {
    return download(file, this.target, { ...options, tuning: { ...QUICK, ...options.tuning } });
  }

  content(): Promise<Uint8Array> {
    return Deno.readFile(this.target);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.path, { recursive: true });
  }
}

function names(path: string): string[] {
  try {
    return [...Deno.readDirSync(path)].map(({ name }) => name).sort();
  } catch {
    return [];
  }
}
