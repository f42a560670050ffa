import { isAbsolute, join, resolve } from "@std/path";
import { M40Error } from "../errors.ts";

/**
 * Where models are kept: `$M40_MODELS`, else `$XDG_DATA_HOME/m40/models`, else
 * `~/.local/share/m40/models`; undefined where the environment names no home directory.
 */
export function modelsDirectory(): string | undefined {
  const models = Deno.env.get("M40_MODELS");
  if (models) return resolve(models);
  const base = baseDirectory("XDG_DATA_HOME", ".local/share");
  return base && join(base, "models");
}

/**
 * The same.
 *
 * @throws {M40Error} `io` where there is none.
 */
export function requireModelsDirectory(): string {
  const directory = modelsDirectory();
  if (directory === undefined) throw new M40Error("io", NO_MODELS_DIRECTORY);
  return directory;
}

/** What to do where there is no {@link modelsDirectory}. */
export const NO_MODELS_DIRECTORY: string =
  "There is no folder for models, because none of M40_MODELS, XDG_DATA_HOME and HOME names one.";

/**
 * Where files are kept that can be made again: `$XDG_CACHE_HOME/m40`, else `~/.cache/m40`; undefined
 * where the environment names neither.
 */
export function cacheDirectory(): string | undefined {
  return baseDirectory("XDG_CACHE_HOME", ".cache");
}

/**
 * Where the history of the prompt is kept: `$XDG_STATE_HOME/m40`, else `~/.local/state/m40`; undefined
 * where the environment names neither.
 */
export function stateDirectory(): string | undefined {
  return baseDirectory("XDG_STATE_HOME", ".local/state");
}

/**
 * Where configuration is kept: `$XDG_CONFIG_HOME/m40`, else `~/.config/m40`; undefined where the environment names
 * neither.
 */
export function configDirectory(): string | undefined {
  return baseDirectory("XDG_CONFIG_HOME", ".config");
}

/** The project's folder in one of the base directories of https://specifications.freedesktop.org/basedir-spec. */
function baseDirectory(variable: string, fallback: string): string | undefined {
  const base = Deno.env.get(variable);
  // The specification has relative paths ignored: they would mean another place in every folder.
  if (base && isAbsolute(base)) return join(base, "m40");
  const home = homeDirectory();
  return home && join(home, fallback, "m40");
}

/** Where Hugging Face's tools keep their files; undefined where the environment names no place. */
export function huggingFaceDirectory(): string | undefined {
  const named = Deno.env.get("HF_HOME");
  if (named) return named;
  const cache = Deno.env.get("XDG_CACHE_HOME");
  if (cache) return join(cache, "huggingface");
  const home = homeDirectory();
  return home && join(home, ".cache/huggingface");
}

/** The user's own folder; undefined where the environment names none. */
export function homeDirectory(): string | undefined {
  const home = Deno.env.get("HOME");
  return home && isAbsolute(home) ? home : undefined;
}
