import { M40Error } from "../errors.ts";
import type { Override } from "../gguf/mod.ts";
import {
  isModelName,
  listModels,
  localCompanion,
  resolveModel,
  type StoredModel,
} from "../store/mod.ts";
import { nearest } from "../nearest.ts";

/** Which models may be asked for. */
export interface CatalogueOptions {
  /** Models under names of their own, wherever their files are: by name the path, or the name of a stored one. */
  readonly own?: ReadonlyMap<string, string>;
  /** Other names of models. */
  readonly aliases?: ReadonlyMap<string, string>;
  /** Whether the models that are stored may be asked for as well; default true. */
  readonly stored?: boolean;
  /** What of a model's metadata is taken otherwise than its file has it, by the model's own name. */
  overridesOf?(name: string): readonly Override[] | undefined;
}

/** Names of models: those that were given some, and those of the store. A name is never taken for a path. */
export class Catalogue {
  private readonly own: ReadonlyMap<string, string>;
  /** Other names of models. */
  readonly aliases: ReadonlyMap<string, string>;
  /** Whether the models that are stored may be asked for as well. */
  readonly stored: boolean;

  constructor(private readonly options: CatalogueOptions = {}) {
    this.own = options.own ?? new Map();
    this.aliases = options.aliases ?? new Map();
    this.stored = options.stored ?? true;
  }

  /** A model's own name, where it is asked for by another one. */
  nameOf(asked: string): string {
    return this.aliases.get(asked) ?? asked;
  }

  /** What of a model's metadata is taken otherwise than its file has it. */
  overridesOf(name: string): readonly Override[] | undefined {
    return this.options.overridesOf?.(name);
  }

  /**
   * The model of a name.
   *
   * @throws {M40Error} "model_not_found", with the names that there are and the nearest of them.
   */
  async find(asked: string): Promise<StoredModel> {
    const name = this.nameOf(asked);
    const place = this.own.get(name);
    if (place !== undefined) return { ...await resolveModel(place), name };
    const found = this.stored ? await this.findStored(name) : undefined;
    if (found !== undefined) return found;
    throw await this.notFound(asked);
  }

  /**
   * The model of the store with a name, for changes to the store.
   *
   * @throws {M40Error} "model_not_found"; "invalid_request" for a name that is not the store's but was given here.
   */
  async findInStore(name: string): Promise<StoredModel> {
    if (this.own.has(name) || this.aliases.has(name)) {
      throw new M40Error(
        "invalid_request",
        `model: "${name}" is a name that the server was started with, or that its file gives: it is changed there. ` +
          "Wanted the name of a stored model.",
        "model",
      );
    }
    const found = this.stored ? await this.findStored(name) : undefined;
    if (found !== undefined) return found;
    throw await this.notFound(name);
  }

  /** A name that was given here to a stored model, in addition to its own. */
  otherNameOf({ name }: StoredModel): string | undefined {
    for (const given of [this.own, this.aliases]) {
      for (const [other, place] of given) if (place === name && other !== name) return other;
    }
    return undefined;
  }

  private async findStored(name: string): Promise<StoredModel | undefined> {
    try {
      if (isModelName(name)) return await resolveModel(name);
      // It could be a path, which a client must not open: only known names are valid.
      const listed = name.includes("/") && (await listModels()).some((one) => one.name === name);
      return listed ? await resolveModel(name) : undefined;
    } catch (error) {
      // The error does not list the store's folders, which mean nothing to a client.
      if (error instanceof M40Error && error.code === "model_not_found") return undefined;
      throw error;
    }
  }

  /** All models, those with names of their own first; one whose file is gone is left out. */
  async list(): Promise<StoredModel[]> {
    const models: StoredModel[] = [];
    for (const name of this.own.keys()) {
      const found = await this.find(name).catch(() => undefined);
      if (found !== undefined) models.push(found);
    }
    if (!this.stored) return models;
    const stored = (await listModels()).filter(({ name }) => !this.own.has(name));
    // Projectors, drafters and the like lie in the models directory too; `m40 list` says what they are.
    const companions = await Promise.all(
      stored.map(({ path, files }) => localCompanion(path, files.length > 1)),
    );
    return [...models, ...stored.filter((_, i) => companions[i] === undefined)];
  }

  private async notFound(asked: string): Promise<M40Error> {
    const names = [...(await this.list()).map(({ name }) => name), ...this.aliases.keys()];
    const near = nearest(asked, names);
    const shown = asked.length <= 100 ? asked : asked.slice(0, 100) + "…";
    const listed = names.slice(0, 20).join(", ") + (names.length > 20 ? ", …" : "");
    return new M40Error(
      "model_not_found",
      `There is no model "${shown}" here.` +
        (near === undefined ? "" : ` Did you mean "${near}"?`) +
        (names.length === 0 ? "" : ` There are: ${listed}.`) + " GET /v1/models lists them.",
      "model",
    );
  }
}
