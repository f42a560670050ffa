import { dirname, join } from "@std/path";
import { FileLock } from "./download/lock.ts";
import { makeFolder } from "./files.ts";
import { parseModelName, PARTIAL_FOLDER } from "./names.ts";

/**
 * Locks a model of the models directory, by name: a process that fetches, copies or removes it does so alone.
 *
 * @throws {M40Error} `io` where another process has it, which the error names.
 */
export async function lockModel(directory: string, name: string): Promise<FileLock> {
  const path = join(directory, PARTIAL_FOLDER, `${parseModelName(name).name}.lock`);
  await makeFolder(dirname(path));
  return await FileLock.take(path, `The model ${name} is being fetched, copied or removed`);
}
