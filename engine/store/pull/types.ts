import type { KvType } from "../../memory/mod.ts";
import type { DownloadProgress, RecordedFile } from "../mod.ts";

/** What is about to be fetched. */
export interface PullStart {
  readonly name: string;
  readonly source: string;
  readonly files: number;
  /** Bytes in all, where the source says. */
  readonly bytes?: number;
}

/** Options of {@link pull}. */
export interface PullOptions {
  /** What to call it; else what its source suggests. */
  readonly name?: string;
  /** The quantisation, where the name does not say it. */
  readonly quantisation?: string;
  /** The device that it shall fit on; default auto. */
  readonly device?: string;
  readonly kvType?: KvType;
  /** Whether it is to run on this machine: else, without a GPU here, a Tesla M40 is what it must fit on. */
  readonly here?: boolean;
  /** Fetch what does not fit or cannot run, and replace what is there of another source. */
  readonly force?: boolean;
  /** Copy a file of this machine rather than link to it. */
  readonly copy?: boolean;
  readonly signal?: AbortSignal;
  readonly onNote?: (sentence: string) => void;
  readonly onStart?: (start: PullStart) => void;
  readonly onProgress?: (progress: DownloadProgress) => void;
}

/** What came of a pull. */
export interface Pulled {
  readonly name: string;
  readonly source: string;
  /**
   * `present`: it was there and is what the source has; `linked`: its file was there, as another
   * model's or elsewhere on this machine.
   */
  readonly outcome: "present" | "fetched" | "linked" | "copied";
  readonly files: readonly RecordedFile[];
}
