import { dirname, join } from "@std/path";
import { M40Error } from "../errors.ts";
import { systemReason } from "../system_error.ts";
import { FileLock } from "./download/lock.ts";
import { parseModelName, PARTIAL_FOLDER } from "./names.ts";

/**
 * Locks a model of the models directory, by name: a process that fetches, copies or removes it does so alone.
 *
 * @throws {M40Error} `io` where another process has it, which the error names.
 */
export async function lockModel(directory: string, name: string): Promise<FileLock> {
  const path = join(directory, PARTIAL_FOLDER, `${parseModelName(name).name}.lock`);
  try {
    await Deno.mkdir(dirname(path), { recursive: true });
  } catch (error) {
    throw new M40Error("io", `${dirname(path)} cannot be made: ${systemReason(error)}.`);
  }
  return await FileLock.take(path, `The model ${name} is being fetched, copied or removed`);
}
