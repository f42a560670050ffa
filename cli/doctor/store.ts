import { statfs } from "node:fs/promises";
import { dirname, join } from "@std/path";
import { formatBytes } from "../terminal/mod.ts";
import { modelsDirectory, NO_MODELS_DIRECTORY, type StoredModel } from "../../engine/store/mod.ts";
import { systemReason } from "../../engine/system_error.ts";
import { type Finding, findingsOf } from "./finding.ts";

/** Less free space than a small model takes, in bytes. */
const LITTLE_SPACE = 5 * 2 ** 30;
/** What is read to time a disk, and how long that may take. */
const READ_BYTES = 256 * 2 ** 20;
const READ_MS = 3000;
/** Below this a large model takes minutes to load, in bytes a second. */
const SLOW_DISK = 200e6;
/** What is too small to time. */
const LEAST_BYTES = 4 * 2 ** 20;

/** The folder of the models: whether it is there and can be written, its space, and the speed of its disk. */
export async function storeFindings(
  root: string,
  models: readonly StoredModel[],
): Promise<Finding[]> {
  const folder = modelsDirectory();
  if (folder === undefined) {
    const advice = "Set M40_MODELS to a folder on a disk with room.";
    return [findingsOf("store").toDo("no_folder", NO_MODELS_DIRECTORY, advice)];
  }
  const found = [...await folderFindings(folder), ...await unreadable(models)];
  const largest = models.filter(({ builtIn }) => !builtIn)
    .toSorted((a, b) => b.fileBytes - a.fileBytes)[0];
  if (largest !== undefined) found.push(...await speedFindings(root, largest.path));
  return found;
}

async function folderFindings(folder: string): Promise<Finding[]> {
  const there = await existing(folder);
  const values = { folder, exists: there === folder };
  const { fine, toDo } = findingsOf("store", values);
  const another = "Give this user the right to, or set M40_MODELS to another folder.";
  try {
    for await (const _ of Deno.readDir(there)) break;
  } catch (error) {
    const says = `The folder of the models, ${folder}, cannot be read: ${systemReason(error)}.`;
    return [toDo("unreadable_folder", says, another)];
  }
  if (!await canWrite(there)) {
    return [toDo(
      "read_only",
      `The folder of the models, ${folder}, cannot be written by this user: nothing can be fetched into it.`,
      `${another} Serving what is there needs no more.`,
    )];
  }
  const free = await freeBytes(there);
  const space = free === undefined ? "" : `, with ${formatBytes(free)} free`;
  const made = there === folder ? "" : ", which is made when it is wanted";
  const says = `Models are kept in ${folder}${made}${space}.`;
  const measured = { ...values, free_bytes: free };
  if (free === undefined || free >= LITTLE_SPACE) {
    return [fine("folder", says, undefined, measured)];
  }
  const advice = "Remove something (m40 rm), or set M40_MODELS to a folder on another disk.";
  return [toDo("little_space", says, advice, measured)];
}

/** Models whose files this user cannot open. */
async function unreadable(models: readonly StoredModel[]): Promise<Finding[]> {
  const found: Finding[] = [];
  for (const { name, builtIn, files } of models) {
    for (const file of builtIn ? [] : files) {
      try {
        (await Deno.open(file)).close();
      } catch (error) {
        const says = `The model ${name} cannot be opened: ${systemReason(error)}.`;
        const advice = `Give this user the right to read ${file}.`;
        found.push(findingsOf("store", { model: name }).toDo("unreadable_model", says, advice));
        break;
      }
    }
  }
  return found;
}

/** How fast a file is read from its disk, not from the system's page cache. */
async function speedFindings(root: string, path: string): Promise<Finding[]> {
  const before = await bytesFromDisk(root);
  const start = performance.now();
  let bytes: number;
  try {
    bytes = await readSome(path);
  } catch {
    return []; // said above
  }
  const seconds = (performance.now() - start) / 1000;
  const after = await bytesFromDisk(root);
  if (bytes < LEAST_BYTES || seconds <= 0) return [];
  const fetched = before === undefined || after === undefined ? bytes : after - before;
  const cached = fetched < bytes / 2;
  const speed = bytes / seconds;
  const rate = `${(speed / 1e6).toFixed(0)} MB/s`;
  const values = { read_bytes_per_second: Math.round(speed), cached };
  const { fine, note } = findingsOf("store", values);
  if (cached) {
    return [fine("cached", `The largest model is read at ${rate}, out of the system's memory.`)];
  }
  const says = `The disk of the models gives ${rate}`;
  if (speed >= SLOW_DISK) return [fine("disk", `${says}.`)];
  return [note(
    "slow_disk",
    `${says}: 10 GB take ${Math.round(10e9 / speed)} s to load.`,
    "Models load faster from an SSD: set M40_MODELS to a folder on one.",
  )];
}

async function readSome(path: string): Promise<number> {
  using file = await Deno.open(path);
  const buffer = new Uint8Array(4 * 2 ** 20);
  const end = performance.now() + READ_MS;
  let bytes = 0;
  while (bytes < READ_BYTES && performance.now() < end) {
    const n = await file.read(buffer);
    if (n === null) break;
    bytes += n;
  }
  return bytes;
}

/** Bytes that this process has had fetched from disks; undefined where the system does not say. */
async function bytesFromDisk(root: string): Promise<number | undefined> {
  try {
    const text = await Deno.readTextFile(join(root, "proc/self/io"));
    const match = text.match(/^read_bytes: (\d+)$/m);
    return match === null ? undefined : Number(match[1]);
  } catch {
    return undefined;
  }
}

/** The folder, or the nearest one above it that is there. */
async function existing(folder: string): Promise<string> {
  for (let path = folder;; path = dirname(path)) {
    try {
      await Deno.stat(path);
      return path;
    } catch {
      if (path === dirname(path)) return path;
    }
  }
}

async function canWrite(folder: string): Promise<boolean> {
  try {
    await Deno.remove(await Deno.makeTempFile({ dir: folder, prefix: ".m40-doctor-" }));
    return true;
  } catch {
    return false;
  }
}

async function freeBytes(folder: string): Promise<number | undefined> {
  try {
    const { bsize, bavail } = await statfs(folder);
    return bsize * bavail;
  } catch {
    return undefined;
  }
}
