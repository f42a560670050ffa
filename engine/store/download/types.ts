import type { RemoteHead } from "../../gguf/mod.ts";
import type { Tuning } from "./tuning.ts";

/** A file that can be fetched by HTTP. */
export interface RemoteFile {
  /** Where it is: http or https. */
  readonly url: string;
  /** Sent to the origin of {@link url} alone, never along a redirect to another one. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Its length in bytes, where that is known; a file of another length is not accepted. */
  readonly bytes?: number;
  /** The SHA-256 of its bytes in hexadecimal digits, where that is known; another one is not accepted. */
  readonly sha256?: string;
}

/** How far a download is. */
export interface DownloadProgress {
  /** Bytes that are on disk, those of an earlier try included. */
  readonly doneBytes: number;
  /** The length of the whole file, as soon as it is known. */
  readonly totalBytes?: number;
  /** What keeps it from going on, for a person: "503 Service Unavailable, next try in 8 s". */
  readonly note?: string;
}

/** Options of {@link download}. */
export interface DownloadOptions {
  /** Stops the download; what was fetched is kept for the next try, where that can be used. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: DownloadProgress) => void;
  /**
   * Looks at the start of the file before the bulk is fetched, and throws to refuse it. What it reads is fetched as
   * far as it has to be, is kept, and is not fetched again. It is called again where the file turns out to have changed
   * meanwhile.
   */
  readonly checkHead?: (head: RemoteHead) => Promise<void>;
  /** The most connections at a time; default 4. Small files are fetched by one. */
  readonly connections?: number;
  /** Other numbers than those that are good for real servers and disks. */
  readonly tuning?: Partial<Tuning>;
}

/** What was fetched. */
export interface Downloaded {
  readonly bytes: number;
  /** The SHA-256 of the file in lower-case hexadecimal digits. */
  readonly sha256: string;
}
