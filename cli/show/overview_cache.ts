import { dirname, join } from "@std/path";
import type { Override } from "../../engine/gguf/mod.ts";
import { cacheDirectory, type StoredModel } from "../../engine/store/mod.ts";
import { VERSION } from "../../server/version.ts";
import type { Overview } from "./model_summary.ts";

const FILE = "models.json";
const MAX_BYTES = 2 ** 24;
const FORMAT = 1;

/** What was found out about a model's files when they were like this. */
interface Entry {
  /** Length, time of change and number of each file, and what is taken otherwise of the metadata. */
  readonly stamp: string;
  readonly overview: Overview;
}

/**
 * What `m40 list` found out, for the next time. It can go at any time, and is not believed where anything
 * about the model's files, the card or the program has changed.
 */
export class OverviewCache {
  private readonly now = new Map<string, Entry>();
  private changed = false;

  private constructor(
    private readonly path: string | undefined,
    private readonly signature: string,
    private readonly before: ReadonlyMap<string, Entry>,
  ) {}

  /** @param signature What the estimates depend on in addition to the model. */
  static async open(signature: string): Promise<OverviewCache> {
    const directory = cacheDirectory();
    const path = directory && join(directory, FILE);
    const whole = `${VERSION} ${signature}`;
    return new OverviewCache(path, whole, path ? await read(path, whole) : new Map());
  }

  /** What is known of a model, where its files are what they were. */
  async get(
    model: StoredModel,
    overrides: readonly Override[],
  ): Promise<Overview | undefined> {
    const entry = this.before.get(keyOf(model));
    if (entry === undefined || entry.stamp !== await stampOf(model, overrides)) return undefined;
    this.now.set(keyOf(model), entry);
    return entry.overview;
  }

  /** Notes what was found out. */
  async set(
    model: StoredModel,
    overrides: readonly Override[],
    overview: Overview,
  ): Promise<void> {
    const stamp = await stampOf(model, overrides);
    if (stamp === undefined) return;
    this.now.set(keyOf(model), { stamp, overview });
    this.changed = true;
  }

  /** Keeps what is known of the models that were asked for; where it cannot be, that costs time only. */
  async save(): Promise<void> {
    const { path, signature } = this;
    if (path === undefined || !this.changed && this.now.size === this.before.size) return;
    const text = JSON.stringify({
      format: FORMAT,
      signature,
      models: Object.fromEntries(this.now),
    });
    let temporary: string | undefined;
    try {
      await Deno.mkdir(dirname(path), { recursive: true, mode: 0o700 });
      temporary = await Deno.makeTempFile({ dir: dirname(path), prefix: "models-" });
      await Deno.writeTextFile(temporary, text);
      await Deno.rename(temporary, path);
    } catch {
      if (temporary !== undefined) await Deno.remove(temporary).catch(() => {});
    }
  }
}

function keyOf({ files }: StoredModel): string {
  return files.join("\n");
}

/** Undefined where a file cannot be looked at. */
async function stampOf(
  { files }: StoredModel,
  overrides: readonly Override[],
): Promise<string | undefined> {
  try {
    const infos = await Promise.all(files.map((file) => Deno.stat(file)));
    const stamps = infos.map(({ size, mtime, ino }) => `${size}/${mtime?.getTime()}/${ino}`);
    return [...stamps, ...overrides.map((one) => JSON.stringify(one))].join(" ");
  } catch {
    return undefined;
  }
}

/** Entries of the same signature; none where the file is damaged. */
async function read(path: string, signature: string): Promise<Map<string, Entry>> {
  try {
    if ((await Deno.stat(path)).size > MAX_BYTES) return new Map();
    const { format, signature: written, models } = JSON.parse(await Deno.readTextFile(path));
    if (format !== FORMAT || written !== signature) return new Map();
    return new Map(
      Object.entries(models).filter((entry): entry is [string, Entry] => isEntry(entry[1])),
    );
  } catch {
    return new Map();
  }
}

function isEntry(value: unknown): value is Entry {
  const { stamp, overview } = (value ?? {}) as Partial<Entry>;
  const { estimate, ...rest } = (overview ?? {}) as Partial<Overview>;
  const { fits, ...figures } = estimate ?? { fits: true };
  const numbers = [rest.contextTokens, ...Object.values(figures)];
  return typeof stamp === "string" && typeof rest.parameters === "number" &&
    [rest.title, rest.architecture, rest.quantisation, rest.obstacle].every((text) =>
      isAbsentOr("string", text)
    ) &&
    numbers.every((number) => isAbsentOr("number", number)) &&
    typeof fits === "boolean";
}

function isAbsentOr(type: string, value: unknown): boolean {
  return value === undefined || typeof value === type;
}
