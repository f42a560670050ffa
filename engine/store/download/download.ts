import { createHash } from "node:crypto";
import { basename, dirname, join } from "@std/path";
import { M40Error } from "../../errors.ts";
import type { Downloaded, DownloadOptions, RemoteFile } from "./types.ts";

/** Redirects that are followed one after the other. */
const MOST_REDIRECTS = 10;

/**
 * Fetches a file and puts it at `target`, whole and checked or not at all. While it is fetched it lies
 * in the folder `.partial` beside `target`.
 *
 * @throws {M40Error} Where it cannot be fetched, and says what to do.
 */
export async function download(
  file: RemoteFile,
  target: string,
  options: DownloadOptions = {},
): Promise<Downloaded> {
  const folder = join(dirname(target), ".partial");
  await Deno.mkdir(folder, { recursive: true });
  const path = join(folder, `${basename(target)}.part`);
  const { signal, onProgress } = options;
  const response = await follow(file, signal);
  const length = response.headers.get("content-length");
  const totalBytes = file.bytes ?? (length === null ? undefined : Number(length));
  using part = await Deno.open(path, { write: true, read: true, create: true, truncate: true });
  const reader = (response.body ?? new Blob().stream()).getReader();
  const hash = createHash("sha256");
  let doneBytes = 0;
  const advance = async () => {
    const { value, done } = await reader.read();
    if (done) return false;
    hash.update(value);
    await part.seek(doneBytes, Deno.SeekMode.Start);
    for (let at = 0; at < value.length;) at += await part.write(value.subarray(at));
    doneBytes += value.length;
    onProgress?.({ doneBytes, totalBytes });
    return true;
  };
  await options.checkHead?.({
    bytes: totalBytes,
    async read(offset, into) {
      while (doneBytes < offset + into.length && await advance());
      await part.seek(offset, Deno.SeekMode.Start);
      let filled = 0;
      while (filled < into.length) {
        const count = await part.read(into.subarray(filled));
        if (count === null) break;
        filled += count;
      }
      return filled;
    },
  });
  while (await advance());
  const sha256 = hash.digest("hex");
  if (totalBytes !== undefined && doneBytes !== totalBytes) {
    throw new M40Error("io", `${file.url} has ${doneBytes} bytes; wanted ${totalBytes}`);
  }
  if (file.sha256 !== undefined && file.sha256.toLowerCase() !== sha256) {
    await Deno.remove(path);
    throw new M40Error("io", `${file.url} has the SHA-256 ${sha256}; wanted ${file.sha256}`);
  }
  await part.sync();
  await Deno.rename(path, target);
  return { bytes: doneBytes, sha256 };
}

/** The answer of a URL or of what it redirects to. */
async function follow(file: RemoteFile, signal?: AbortSignal): Promise<Response> {
  let url = new URL(file.url);
  let headers = file.headers ?? {};
  for (let hops = 0; hops <= MOST_REDIRECTS; hops++) {
    const response = await fetch(url, {
      headers: { ...headers, "accept-encoding": "identity" },
      redirect: "manual",
      signal,
    });
    if (response.ok) return response;
    await response.body?.cancel();
    const location = response.headers.get("location");
    if (location === null || response.status >= 400) {
      throw new M40Error("io", `${url.origin}${url.pathname} answers ${response.status}`);
    }
    const next = new URL(location, url);
    if (url.protocol === "https:" && next.protocol !== "https:") {
      throw new M40Error("io", `${url.origin} redirects from https to ${next.protocol}`);
    }
    if (next.origin !== url.origin) headers = {};
    url = next;
  }
  throw new M40Error("io", `${file.url} redirects more than ${MOST_REDIRECTS} times`);
}
