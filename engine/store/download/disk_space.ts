import { statfs } from "node:fs/promises";
import { dirname } from "@std/path";
import { DownloadError } from "./errors.ts";

/**
 * Checks that a disk has room for the bytes still to write, plus what has to stay free.
 *
 * @param folder Where it is written.
 * @param missing Bytes that are still to come.
 * @param share How much of the reserve has to stay: less than 1 when it is under way, so that a small change does not
 * end what was started.
 * @throws {DownloadError} `io` where it does not.
 */
export async function checkSpace(
  folder: string,
  missing: number,
  reserveBytes: number,
  share = 1,
): Promise<void> {
  // Some network file systems do not say; a full one is noticed when it is written to.
  const space = await statfs(folder).catch(() => undefined);
  if (space === undefined) return;
  const free = space.bavail * space.bsize;
  const reserve = Math.min(reserveBytes, space.blocks * space.bsize / 20);
  if (free - missing >= reserve * share) return;
  throw new DownloadError(
    "io",
    `The disk of ${dirname(folder)} has ${gib(free)} free; wanted ${gib(missing)} for what is ` +
      `still to be fetched and ${gib(reserve)} that stay free. Remove something (m40 rm), or set ` +
      "M40_MODELS to a folder on another disk. What was fetched is kept.",
  );
}

function gib(bytes: number): string {
  return bytes < 2 ** 29
    ? `${(bytes / 2 ** 20).toFixed(1)} MiB`
    : `${(bytes / 2 ** 30).toFixed(1)} GiB`;
}
