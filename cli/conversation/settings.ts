import type { Option, Options } from "../arguments/mod.ts";
import { formatTable, style } from "../terminal/mod.ts";
import { nearest } from "../../engine/nearest.ts";
import { UsageError } from "../errors.ts";

/** Takes a value back to what holds where it is not given. */
const DEFAULT = "default";

/** The options that can be changed while the program runs, by the names that they have on the command line. */
export class Settings<V extends object> {
  #values: V;

  /**
   * @param options What can be set.
   * @param values What holds at first, as the command line says.
   * @param defaults What holds where nothing is set, for {@link table}.
   */
  constructor(
    private readonly options: Options,
    values: V,
    private readonly defaults: Record<string, unknown>,
  ) {
    this.#values = values;
  }

  get values(): V {
    return this.#values;
  }

  /**
   * Sets one.
   *
   * @param name As on the command line, with or without dashes before it; underscores are dashes.
   * @throws {UsageError} Naming what was got and what was wanted.
   */
  set(name: string, value: string): void {
    const key = name.replace(/^--/, "").replaceAll("_", "-");
    const option = Object.hasOwn(this.options, key) ? this.options[key] : undefined;
    if (option === undefined) {
      const near = nearest(key, Object.keys(this.options));
      throw new UsageError(
        `there is no setting ${JSON.stringify(name)}` +
          (near === undefined
            ? "; /set alone shows those that there are"
            : `; did you mean ${near}?`),
      );
    }
    const parsed = value === DEFAULT ? option.default : parseValue(key, option, value);
    this.#values = { ...this.#values, [key]: parsed };
  }

  /** A line for each: its name, its value, and whether that is the default. */
  table(): string {
    const values = this.#values as Record<string, unknown>;
    return formatTable(
      Object.entries(this.options).map(([name, option]) => {
        const value = values[name];
        const given = JSON.stringify(value, bigints) !== JSON.stringify(option.default, bigints);
        const shown = describe(given ? value : this.defaults[name] ?? value);
        return [name, given ? shown : style(Deno.stderr, "dim", `${shown} (default)`)];
      }),
    );
  }
}

function parseValue(name: string, option: Option<unknown>, value: string): unknown {
  const wanted = option.type?.wanted ?? "on or off";
  const parsed = option.type ? option.type.parse(unquoted(value)) : SWITCH.get(value);
  if (parsed !== undefined) return option.repeatable ? [parsed] : parsed;
  throw new UsageError(
    value === ""
      ? `${name} needs a value: wanted ${wanted}, or ${DEFAULT}`
      : `${name}: got ${JSON.stringify(value)}, wanted ${wanted}, or ${DEFAULT}`,
  );
}

const SWITCH = new Map([["on", true], ["true", true], ["off", false], ["false", false]]);

/** A text in quotes is JSON, so that "\n" can be said; any other is what it is. */
function unquoted(value: string): string {
  if (!/^".*"$/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function describe(value: unknown): string {
  if (typeof value === "boolean") return value ? "on" : "off";
  if (Array.isArray(value)) return value.map((item) => JSON.stringify(item)).join(" ");
  return String(value);
}

function bigints(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}
