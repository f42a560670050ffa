/**
 * Fetches one file by HTTP, whatever happens meanwhile.
 *
 * @module
 */
export { download } from "./download.ts";
export { DownloadError } from "./errors.ts";
export { FileHash } from "./file_hash.ts";
export { createClient } from "./http_client.ts";
export { networkReason } from "./remote.ts";
export type { Tuning } from "./tuning.ts";
export type { Downloaded, DownloadOptions, DownloadProgress, RemoteFile } from "./types.ts";
