/**
 * Fetches one file by HTTP, whatever happens meanwhile.
 *
 * @module
 */
export { download } from "./download.ts";
export type {
  Downloaded,
  DownloadOptions,
  DownloadProgress,
  ReadableHead,
  RemoteFile,
} from "./types.ts";
