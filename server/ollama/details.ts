import { z } from "zod";
import { REASONING_TAGS } from "../../engine/chat/mod.ts";
import type { Override } from "../../engine/gguf/mod.ts";
import { poolingType } from "../../engine/models/mod.ts";
import type { StoredModel } from "../../engine/store/mod.ts";
import type { Models } from "../models/mod.ts";
import { M40Error } from "../../engine/errors.ts";
import { formatCount } from "../../engine/format_count.ts";
import { type Gguf, readGguf, sizesByType } from "../../engine/mod.ts";

/** What a model is, in Ollama's words. */
export const Details = z.strictObject({
  parent_model: z.literal(""),
  format: z.literal("gguf"),
  family: z.string().describe("Its architecture; empty where the file cannot be read."),
  families: z.array(z.string()),
  parameter_size: z.string().describe("How many weights it has, such as 7.24B."),
  quantization_level: z.string().describe("The tensor type that most of its bytes have."),
});
export type Details = z.output<typeof Details>;

/** What the header of a model's file says. */
export interface HeaderFacts {
  readonly details: Details;
  /** Numbers, texts and truth values; null instead of lists. */
  readonly info: Readonly<Record<string, string | number | boolean | null>>;
  readonly template?: string;
  readonly license?: string;
  readonly fillsIn: boolean;
  readonly thinks: boolean;
  /** Whether its makers say how embeddings are made of its hidden states. */
  readonly embeds: boolean;
}

const UNKNOWN: Details = {
  parent_model: "",
  format: "gguf",
  family: "",
  families: [],
  parameter_size: "",
  quantization_level: "",
};

/** A model that is listed, where it lies. */
export type PlacedModel =
  & Pick<StoredModel, "name">
  & Partial<Pick<StoredModel, "path" | "fileBytes">>;

/** All models that may be asked for, those in memory first. */
export async function placedModels(models: Models): Promise<PlacedModel[]> {
  const stored = await models.catalogue?.list() ?? [];
  const places = new Map(stored.map((one): [string, PlacedModel] => [one.name, one]));
  const engines = new Map(models.loaded().map(({ name, engine }) => [name, engine]));
  return (await models.list()).map((one) => {
    const { path, fileBytes } = engines.get(one.name)?.model ?? {};
    return places.get(one.name) ?? { ...one, path, fileBytes };
  });
}

/** Facts out of files' headers, each file read once: a large vocabulary takes a tenth of a second. */
export class Headers {
  private readonly known = new Map<
    string,
    { readonly stamp: string; readonly facts: HeaderFacts }
  >();

  /** @param overridesOf What of a model's metadata is taken otherwise than its file has it. */
  constructor(private readonly overridesOf: (name: string) => readonly Override[] | undefined) {}

  /** What a model's header says; undefined where its file cannot be read. */
  async of({ path, name }: PlacedModel): Promise<HeaderFacts | undefined> {
    if (path === undefined) return undefined;
    const { mtime, size } = await Deno.stat(path).catch(() => ({ mtime: null, size: 0 }));
    const stamp = `${path} ${size} ${mtime?.getTime()}`;
    const known = this.known.get(name);
    if (known?.stamp === stamp) return known.facts;
    try {
      const read = { anyType: true, overrides: this.overridesOf(name) };
      const facts = factsOf(await readGguf(path, read));
      this.known.set(name, { stamp, facts });
      return facts;
    } catch (error) {
      if (error instanceof M40Error) return undefined;
      throw error;
    }
  }

  async detailsOf(model: PlacedModel): Promise<Details> {
    return (await this.of(model))?.details ?? UNKNOWN;
  }
}

/** When a model's file was written; the server's start where that is not known. */
export async function modifiedAt({ path }: PlacedModel, created: number): Promise<string> {
  const info = path === undefined ? undefined : await Deno.stat(path).catch(() => undefined);
  return (info?.mtime ?? new Date(created * 1000)).toISOString();
}

function factsOf(gguf: Gguf): HeaderFacts {
  const { metadata } = gguf;
  const sizes = sizesByType(gguf);
  const text = (key: string) => {
    const value = metadata.get(key);
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  const weights = sizes.reduce((sum, { weights }) => sum + weights, 0);
  const family = text("general.architecture") ?? "";
  const template = text("tokenizer.chat_template");
  const info: Record<string, string | number | boolean | null> = {};
  for (const [key, { value }] of metadata.entries()) info[key] = scalar(value);
  return {
    details: {
      ...UNKNOWN,
      family,
      families: family === "" ? [] : [family],
      parameter_size: formatCount(weights),
      quantization_level: sizes[0]?.type ?? "",
    },
    info: { ...info, "general.parameter_count": weights },
    template,
    license: text("general.license"),
    fillsIn: ["fim_pre", "prefix"].some((key) => metadata.has(`tokenizer.ggml.${key}_token_id`)),
    embeds: poolingType(gguf) !== undefined,
    thinks: ["<|channel|>", ...REASONING_TAGS.map(({ open }) => open)]
      .some((tag) => template?.includes(tag)),
  };
}

/** A value as JSON has it: beyond 2^53 a text, and null for lists and what is no number. */
function scalar(value: unknown): string | number | boolean | null {
  if (typeof value === "bigint") return String(value);
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  return typeof value === "string" || typeof value === "boolean" ? value : null;
}
