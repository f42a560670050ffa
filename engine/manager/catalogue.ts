import { M40Error } from "../errors.ts";
import { listModels, nearest, resolveModel } from "../store/mod.ts";
import { isModelName } from "../store/names.ts";

/** A model that may be asked for. */
export interface CatalogueModel {
  readonly name: string;
  readonly path: string;
  readonly fileBytes: number;
}

/** Which models may be asked for. */
export interface CatalogueOptions {
  /** Models under names of their own, wherever their files are: name and path, or the name of a stored one. */
  readonly own?: ReadonlyMap<string, string>;
  /** Other names of models. */
  readonly aliases?: ReadonlyMap<string, string>;
  /** Whether the models that are stored may be asked for as well; default true. */
  readonly stored?: boolean;
}

/** Names of models: those that were given some, and those of the store. A name is never taken for a path. */
export class Catalogue {
  private readonly own: ReadonlyMap<string, string>;
  private readonly aliases: ReadonlyMap<string, string>;
  private readonly stored: boolean;

  constructor(options: CatalogueOptions = {}) {
    this.own = options.own ?? new Map();
    this.aliases = options.aliases ?? new Map();
    this.stored = options.stored ?? true;
  }

  /** A model's own name, where it is asked for by another one. */
  nameOf(asked: string): string {
    return this.aliases.get(asked) ?? asked;
  }

  /**
   * The model of a name.
   *
   * @throws {M40Error} "model_not_found", with the names that there are and the nearest of them.
   */
  async find(asked: string): Promise<CatalogueModel> {
    const name = this.nameOf(asked);
    const place = this.own.get(name);
    if (place !== undefined) {
      const { path, fileBytes } = await resolveModel(place);
      return { name, path, fileBytes };
    }
    if (this.stored && isModelName(name)) {
      try {
        return await resolveModel(name);
      } catch (error) {
        // It is said below what there is: the store's folders are nothing to a client.
        if (!(error instanceof M40Error) || error.code !== "model_not_found") throw error;
      }
    }
    throw await this.notFound(asked);
  }

  /** All models, those with names of their own first; one whose file is gone is left out. */
  async list(): Promise<CatalogueModel[]> {
    const models: CatalogueModel[] = [];
    for (const name of this.own.keys()) {
      const found = await this.find(name).catch(() => undefined);
      if (found !== undefined) models.push(found);
    }
    if (!this.stored) return models;
    for (const { name, path, fileBytes } of await listModels()) {
      if (!this.own.has(name)) models.push({ name, path, fileBytes });
    }
    return models;
  }

  private async notFound(asked: string): Promise<M40Error> {
    const names = [...(await this.list()).map(({ name }) => name), ...this.aliases.keys()];
    const near = nearest(asked, names);
    const shown = asked.length <= 100 ? asked : asked.slice(0, 100) + "…";
    const listed = names.slice(0, 50).join(", ") + (names.length > 50 ? ", …" : "");
    return new M40Error(
      "model_not_found",
      `There is no model "${shown}" here.` +
        (near === undefined ? "" : ` Did you mean "${near}"?`) +
        (names.length === 0 ? "" : ` There are: ${listed}.`) + " GET /v1/models lists them.",
      "model",
    );
  }
}
