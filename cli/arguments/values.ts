import { type Override, OVERRIDE_WANTED, parseOverride } from "../../engine/gguf/mod.ts";
import { KEEP_ALIVE_WANTED, parseKeepAlive } from "../../engine/manager/mod.ts";
import { type Range, SEED_LIMIT } from "../../engine/sampling/mod.ts";

/** What a shell may offer where a value is typed. */
export interface Completes {
  /** Words that the program knows. */
  readonly words?: () => readonly string[] | Promise<readonly string[]>;
  /** What is looked up when it is asked for. */
  readonly lookUp?: "models" | "files" | "folders";
}

/** The path of a file. */
export const FILES: Completes = { lookUp: "files" };
/** The path of a folder. */
export const FOLDERS: Completes = { lookUp: "folders" };
/** The name of a model of the store, or the path of a file. */
export const MODELS: Completes = { lookUp: "models" };

/** What the value of an option may be, and how it is read from the command line. */
export interface ValueType<T> {
  /** How help names the value: `NUMBER`, `auto|cpu`. */
  readonly label: string;
  /** What is accepted, as it completes "wanted …". */
  readonly wanted: string;
  /** Undefined where there is nothing to offer. */
  readonly completes?: Completes;
  /** The value, or undefined where the text is not one. */
  parse(text: string): T | undefined;
}

const DECIMAL = /^[+-]?(\d+(?:\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

/** Any text, except none at all. */
export function text(label = "TEXT", completes?: Completes): ValueType<string> {
  return {
    label,
    wanted: "a text that is not empty",
    completes,
    parse: (text) => text || undefined,
  };
}

/** A number in a range that the engine names. */
export function number({ min, max, above = false, integer = false }: Range): ValueType<number> {
  const bounds = above ? `above ${min}, up to ${max}` : bothBounds(min, max);
  return {
    label: integer ? "N" : "NUMBER",
    wanted: `${integer ? "a whole number" : "a number"} ${bounds}`,
    parse(text) {
      const value = DECIMAL.test(text) ? Number(text) : NaN;
      const inside = value <= max && (above ? value > min : value >= min);
      return inside && (!integer || Number.isInteger(value)) ? value : undefined;
    },
  };
}

/** A whole number from `min` to `max`. */
export function integer(min: number, max = Number.MAX_SAFE_INTEGER): ValueType<number> {
  return number({ min, max, integer: true });
}

/** A seed: a whole number of which 64 bits count, exact beyond 2^53 as well. */
export function seed(): ValueType<bigint> {
  return {
    label: "N",
    wanted: "a whole number from -2^64 to 2^64",
    parse(text) {
      const value = /^[+-]?\d{1,30}$/.test(text) ? BigInt(text.replace("+", "")) : undefined;
      return value !== undefined && value >= -SEED_LIMIT && value <= SEED_LIMIT ? value : undefined;
    },
  };
}

/** Whole numbers from `min` to `max`, separated by commas. */
export function integers(min: number, max = Number.MAX_SAFE_INTEGER): ValueType<number[]> {
  const one = integer(min, max);
  return {
    label: "N,N,...",
    wanted: `whole numbers ${bothBounds(min, max)}, separated by commas`,
    parse(text) {
      const values = text.split(",").map((word) => one.parse(word.trim()));
      return values.every((value) => value !== undefined) ? values : undefined;
    },
  };
}

/** One of a few words. */
export function choice<T extends string>(...choices: T[]): ValueType<T> {
  return {
    label: choices.join("|"),
    wanted: choices.slice(0, -1).join(", ") + " or " + choices.at(-1),
    completes: { words: () => choices },
    parse: (text) => choices.find((choice) => choice === text),
  };
}

/** An object in JSON. */
export function jsonObject(): ValueType<Readonly<Record<string, unknown>>> {
  return {
    label: "JSON",
    wanted: 'an object in JSON, such as {"enable_thinking": false}',
    parse(text) {
      try {
        const value = JSON.parse(text);
        return typeof value === "object" && value !== null && !Array.isArray(value)
          ? value
          : undefined;
      } catch {
        return undefined;
      }
    },
  };
}

/** A key of a file's metadata and the value that it is to have. */
export function override(): ValueType<Override> {
  return { label: "KEY=VALUE", wanted: OVERRIDE_WANTED, parse: parseOverride };
}

/** A device: `auto`, `cpu`, `cuda`, or one of several GPUs, `cuda:1`. */
export function device(): ValueType<string> {
  return {
    label: "auto|cpu|cuda[:N]",
    wanted: "auto, cpu, cuda or, for one of several GPUs, cuda:0, cuda:1, …",
    completes: { words: () => ["auto", "cpu", "cuda", "cuda:0", "cuda:1"] },
    parse: (text) => /^(auto|cpu|cuda(:\d{1,3})?)$/.test(text) ? text : undefined,
  };
}

/** A GPU, `cuda:1` or its number: its index in CUDA. */
export function card(): ValueType<number> {
  return {
    label: "cuda[:N]",
    wanted: "cuda:0, cuda:1, … or the card's number",
    completes: { words: () => ["cuda:0", "cuda:1"] },
    parse(text) {
      const match = /^(?:cuda|(?:cuda:)?(\d{1,3}))$/.exec(text);
      return match === null ? undefined : Number(match[1] ?? 0);
    },
  };
}

/** Devices: one as {@link device} takes it, or a list of GPUs over which a model's layers are split, `cuda:0,1`. */
export function devices(): ValueType<string> {
  const one = device();
  return {
    label: "auto|cpu|cuda[:N[,N...]]",
    wanted: `${one.wanted}, or for a model over several a list, cuda:0,1`,
    completes: one.completes,
    parse: (text) => /^cuda:\d{1,3}(,(cuda:)?\d{1,3})+$/.test(text) ? text : one.parse(text),
  };
}

/** How long an unused model stays in memory, in milliseconds. */
export function keepAlive(): ValueType<number> {
  return { label: "TIME", wanted: KEEP_ALIVE_WANTED, parse: parseKeepAlive };
}

/** The origin of web pages, as browsers write it, or `*`. */
export function origin(): ValueType<string> {
  return {
    label: "ORIGIN",
    wanted: "*, or a scheme and a host, such as https://example.com or http://localhost:3000",
    parse(text) {
      if (text === "*") return text;
      const plain = /^([a-z][a-z\d+.-]*):\/\/[^\s/?#@]+$/i.exec(text.replace(/\/$/, ""));
      if (plain === null) return undefined;
      // Browsers write names in lower case and leave a scheme's own port out.
      if (!/^https?$/i.test(plain[1])) return plain[0].toLowerCase();
      return URL.canParse(plain[0]) ? new URL(plain[0]).origin : undefined;
    },
  };
}

/** The name of a host, or `*`. */
export function hostName(): ValueType<string> {
  return {
    label: "NAME",
    wanted: "*, or the name of a host without scheme and port, such as gpu-box.example.com",
    parse(text) {
      if (text === "*") return text;
      return /^[\p{L}\p{N}_-]+(\.[\p{L}\p{N}_-]+)*\.?$/u.test(text) &&
          URL.canParse(`http://${text}`)
        ? new URL(`http://${text}`).hostname
        : undefined;
    },
  };
}

/** Token ids, separated by commas or spaces. */
export function tokenIds(): ValueType<number[]> {
  return {
    label: "IDS",
    wanted: "token ids separated by commas, such as 1,2,3",
    parse(text) {
      const words = text.split(/[\s,]+/).filter((word) => word !== "");
      const ids = words.map((word) => /^\d{1,10}$/.test(word) ? Number(word) : NaN);
      return ids.length > 0 && ids.every(Number.isInteger) ? ids : undefined;
    },
  };
}

function bothBounds(min: number, max: number): string {
  if (max !== Number.MAX_SAFE_INTEGER) return `from ${min} to ${max}`;
  return min === Number.MIN_SAFE_INTEGER ? "up to 2^53 - 1 either way" : `from ${min} on`;
}
