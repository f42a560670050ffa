import type { DiskCacheOptions } from "../../engine/mod.ts";
import { warn } from "../terminal/mod.ts";
import { option, type OptionValues } from "./command.ts";
import { FOLDERS, integer, text } from "./values.ts";

/** Where prompts outlive the program. */
export const DISK_CACHE_OPTIONS = {
  "disk-cache": option(
    text("DIR", FOLDERS),
    "A folder for the KV cache of prompts, which are found again after a restart or a change of models",
  ),
  "disk-cache-size": option(integer(1, 2 ** 20), "GiB that the folder may take, for all models", {
    default: 32,
  }),
};

/** The disk cache that is asked for, if one is. */
export function diskCacheOf(
  options: OptionValues<typeof DISK_CACHE_OPTIONS>,
): DiskCacheOptions | undefined {
  const folder = options["disk-cache"];
  if (folder === undefined) return undefined;
  return { folder, bytes: options["disk-cache-size"] * 2 ** 30, onProblem: warn };
}
