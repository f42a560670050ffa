import { join } from "@std/path";
import { entries } from "./files.ts";
import { parseFileName, PARTIAL_FOLDER } from "./names.ts";

/**
 * What is there of a model that is not whole: paths below the models directory. Locks are left out; the holder of the
 * model's lock may remove the rest.
 */
export async function partialFilesOf(directory: string, name: string): Promise<string[]> {
  const found: string[] = [];
  // Parts of a model wait in the folder until all are there, and come by way of one in it.
  for (const folder of [PARTIAL_FOLDER, join(PARTIAL_FOLDER, PARTIAL_FOLDER)]) {
    for (
      const { name: file, isDirectory } of await entries(join(directory, folder)).catch(() => [])
    ) {
      const target = /^(.*\.gguf)(\.part|\.journal|\.journal\.new)?$/s.exec(file)?.[1];
      if (isDirectory || target === undefined) continue;
      if (parseFileName(target)?.name === name) found.push(join(folder, file));
    }
  }
  return found;
}
