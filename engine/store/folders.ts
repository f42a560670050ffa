import { isAbsolute, join, resolve } from "@std/path";
import { M40Error } from "../errors.ts";

/**
 * Where models are kept: `$M40_MODELS`, else `$XDG_DATA_HOME/m40/models`, else
 * `~/.local/share/m40/models`.
 *
 * @throws {M40Error} `io` where the environment names no home directory.
 */
export function modelsDirectory(): string {
  const models = Deno.env.get("M40_MODELS");
  return models ? resolve(models) : join(baseDirectory("XDG_DATA_HOME", ".local/share"), "models");
}

/** Where files are kept that can be made again: `$XDG_CACHE_HOME/m40`, else `~/.cache/m40`. */
export function cacheDirectory(): string {
  return baseDirectory("XDG_CACHE_HOME", ".cache");
}

/** Where the history of the prompt is kept: `$XDG_STATE_HOME/m40`, else `~/.local/state/m40`. */
export function stateDirectory(): string {
  return baseDirectory("XDG_STATE_HOME", ".local/state");
}

/** The project's folder in one of the base directories of https://specifications.freedesktop.org/basedir-spec. */
function baseDirectory(variable: string, fallback: string): string {
  const base = Deno.env.get(variable);
  // The specification has relative paths ignored: they would mean another place in every folder.
  if (base && isAbsolute(base)) return join(base, "m40");
  const home = Deno.env.get("HOME");
  if (home && isAbsolute(home)) return join(home, fallback, "m40");
  throw new M40Error(
    "io",
    `Neither HOME nor ${variable} names a directory, so there is no place for m40's files; set one of them.`,
  );
}
