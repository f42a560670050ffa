/**
 * The configuration file of `m40 serve`, `m40.toml`: options of the server, models with options of their own, and
 * other names of models. Its keys are the options of the command line without their dashes.
 *
 * @module
 */
import { dirname, isAbsolute, join, resolve } from "@std/path";
import { parse } from "@std/toml/parse";
import { M40Error } from "../../engine/errors.ts";
import {
  flag,
  option,
  type OptionValues,
  repeatable,
  SAMPLING_OPTIONS,
  samplingOf,
  text,
} from "../arguments/mod.ts";
import { CHAT_OPTIONS, MODEL_OPTIONS, SERVE_OPTIONS } from "../models/mod.ts";
import { configDirectory, isModelName, type ModelDefaults } from "../../engine/store/mod.ts";
import { systemReason } from "../../engine/system_error.ts";
import { ConfigReader } from "./config_reader.ts";
import { readOverrides } from "./overrides.ts";

const { config: _, pull: __, ...SERVER_OPTIONS } = SERVE_OPTIONS;

/** The keys of `[server]`: what `m40 serve` takes, and what it takes from a file alone. */
const SERVER_KEYS = {
  ...SERVER_OPTIONS,
  only: flag("Whether requests may name the models of this file and --model alone"),
};

/** The keys of `[models.NAME]` that are options of the command line, which each model may have its own of. */
export const OWN_OPTIONS = {
  ...MODEL_OPTIONS,
  ...CHAT_OPTIONS,
  parallel: SERVE_OPTIONS.parallel,
  replicas: SERVE_OPTIONS.replicas,
  "chunk-ms": SERVE_OPTIONS["chunk-ms"],
  "run-steps": SERVE_OPTIONS["run-steps"],
  "prefill-share": SERVE_OPTIONS["prefill-share"],
  "host-cache": SERVE_OPTIONS["host-cache"],
  "keep-alive": SERVE_OPTIONS["keep-alive"],
};

/** The other keys of `[models.NAME]`. */
const MODEL_KEYS = {
  file: option(text("PATH"), "Its GGUF file"),
  model: option(text("NAME"), "The name that it is stored under, where that is another one"),
  system: option(text(), "The system message of conversations that bring none"),
  stop: repeatable(text(), "Texts that end an answer where a request names none"),
};

/** A model of the file. */
export interface ConfiguredModel {
  /** Its path, or the name that it is stored under. */
  readonly place?: string;
  readonly options: Partial<OptionValues<typeof OWN_OPTIONS>>;
  readonly defaults: Partial<ModelDefaults>;
}

/** What the file says. */
export interface Config {
  /** Where it was read; absent where there is none. */
  readonly path?: string;
  readonly server: Partial<OptionValues<typeof SERVER_KEYS>>;
  readonly models: ReadonlyMap<string, ConfiguredModel>;
  readonly aliases: ReadonlyMap<string, string>;
}

/**
 * Reads the file that is named, else that of `$M40_CONFIG`, else `m40/m40.toml` of the configuration directory where
 * it is there.
 *
 * @throws {M40Error} "io" where it cannot be read, "invalid_request" for what is wrong in it, with the line.
 */
export async function readConfig(named?: string): Promise<Config> {
  const wanted = named ?? (Deno.env.get("M40_CONFIG") || undefined);
  const directory = configDirectory();
  const path = wanted ?? (directory && join(directory, "m40.toml"));
  if (path === undefined) return NO_CONFIG;
  let text: string;
  try {
    text = await Deno.readTextFile(path);
  } catch (error) {
    if (wanted === undefined && error instanceof Deno.errors.NotFound) return NO_CONFIG;
    throw new M40Error("io", `The configuration ${path} cannot be read: ${systemReason(error)}.`);
  }
  return parseConfig(text, path);
}

/** Where there is no file. */
export const NO_CONFIG: Config = { server: {}, models: new Map(), aliases: new Map() };

/** Reads a configuration; paths in it are relative to its own. Fails as {@link readConfig} does. */
export function parseConfig(text: string, path: string): Config {
  const reader = new ConfigReader(path, text);
  const tables = parseToml(text, path);
  refuseDropped(reader, text, path);
  reader.checkKeys(tables, ["server", "models", "aliases"]);
  const folder = dirname(resolve(path));
  const server = reader.options(reader.table(tables, "server"), SERVER_KEYS, ["server"]);
  const models = new Map<string, ConfiguredModel>();
  const configured = reader.table(tables, "models");
  for (const name of Object.keys(configured)) {
    models.set(name, readModel(reader, configured, name, folder));
  }
  return { path, server, models, aliases: readAliases(reader, tables, models) };
}

function readModel(
  reader: ConfigReader,
  models: Readonly<Record<string, unknown>>,
  name: string,
  folder: string,
): ConfiguredModel {
  const at = ["models", name];
  if (!isModelName(name)) {
    throw reader.error(
      at,
      'a model\'s name has letters, digits, ".", "_" and "-", and at most one ":" before a tag',
    );
  }
  const table = reader.table(models, name, ["models"]);
  const keys = { ...OWN_OPTIONS, ...MODEL_KEYS };
  const { override: overrides, ...others } = table;
  const { file, model, system, stop, ...options } = reader.options(others, keys, at, ["sampling"]);
  if (file !== undefined && model !== undefined) {
    throw reader.error(
      [...at, "model"],
      "a model has a file or the name of a stored one, not both",
    );
  }
  const template = options["chat-template"];
  const place = [...at, "sampling"];
  const sampling = samplingOf(
    reader.options(reader.table(table, "sampling", at), SAMPLING_OPTIONS, place),
    () => true,
  );
  return {
    place: file === undefined ? model : inFolder(folder, file),
    options: {
      ...options,
      ...(overrides === undefined
        ? {}
        : { override: readOverrides(reader, overrides, keys.override, at) }),
      // The name of a built-in template has neither dots nor slashes.
      ...(template !== undefined && /[./]/.test(template)
        ? { "chat-template": inFolder(folder, template) }
        : {}),
    },
    defaults: {
      ...(Object.keys(sampling).length > 0 ? { sampling } : {}),
      ...(system === undefined ? {} : { system }),
      ...(stop === undefined ? {} : { stop }),
    },
  };
}

function readAliases(
  reader: ConfigReader,
  tables: Readonly<Record<string, unknown>>,
  models: ReadonlyMap<string, unknown>,
): Map<string, string> {
  const table = reader.table(tables, "aliases");
  const aliases = new Map<string, string>();
  for (const [alias, value] of Object.entries(table)) {
    const at = ["aliases", alias];
    const name = reader.text(value, at);
    if (models.has(alias)) throw reader.error(at, "there is a model of this name");
    if (Object.hasOwn(table, name)) {
      throw reader.error(at, `${JSON.stringify(name)} is an alias itself; name the model`);
    }
    aliases.set(alias, name);
  }
  return aliases;
}

function parseToml(text: string, path: string): Record<string, unknown> {
  try {
    return parse(text);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const [, line = "", reason] = /^.*on line (\d+), column \d+: (.*)$/s.exec(message) ?? [];
    // What the parser says of a table that is there twice, or behind one that is in it.
    const twice = message.includes("key length is not a positive number");
    const said = (reason ?? message) + (twice ? ": a table may be there only once" : "");
    throw new M40Error("invalid_request", `${path}${line && `:${line}`}: ${said}.`);
  }
}

/** The name of keys that the parser leaves out, and one that it does not. */
const [DROPPED, KEPT] = ["__proto__", "__proto__-"];

/** @throws {M40Error} for a key that the parser leaves out. */
function refuseDropped(reader: ConfigReader, text: string, path: string): void {
  if (!text.includes(DROPPED)) return;
  const place = placeOf(parseToml(text.replaceAll(DROPPED, KEPT), path));
  if (place === undefined) return;
  throw reader.error(place.map((name) => name === KEPT ? DROPPED : name), "there is no such key");
}

/** The names of the tables and the key. */
function placeOf(value: unknown): string[] | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  for (const [name, one] of Object.entries(value)) {
    const place = name === KEPT ? [] : placeOf(one);
    if (place !== undefined) return [name, ...place];
  }
  return undefined;
}

function inFolder(folder: string, path: string): string {
  return isAbsolute(path) ? path : join(folder, path);
}
