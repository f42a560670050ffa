import type { Engine } from "../../engine/mod.ts";
import type {
  AcquireOptions,
  Catalogue,
  ManagerObserver,
  ModelManager,
  ResidentStatus,
} from "../../engine/manager/mod.ts";
import { DEMO_MODEL } from "../../engine/store/mod.ts";
import { invalid } from "../errors.ts";
import { eitherName } from "./either_name.ts";
import type { ListedModel, Models, ServedModel } from "./models.ts";

/** Models that are loaded when they are asked for. */
export class ManagedModels implements Models {
  /**
   * @param manager Loads models by the names of `catalogue`.
   * @param main The model of requests that name none; absent: the one that was used last.
   */
  constructor(
    private readonly manager: ModelManager<Engine>,
    readonly catalogue: Catalogue,
    private readonly main?: string,
  ) {}

  async nameOf(asked: string | undefined): Promise<string> {
    if (asked === undefined) return this.main ?? await this.anyName();
    return await eitherName(asked, (name) => this.named(name));
  }

  private async named(asked: string): Promise<string> {
    const name = this.catalogue.nameOf(asked);
    // One that is in memory is served, whatever became of its file.
    if (this.manager.loaded().some((one) => one.name === name)) return name;
    return (await this.catalogue.find(asked)).name;
  }

  /** The model that was used last; where none is in memory, the only one there is. */
  private async anyName(): Promise<string> {
    const [last] = this.manager.loaded();
    if (last !== undefined) return last.name;
    const names = (await this.catalogue.list()).map(({ name }) => name);
    const own = names.filter((name) => name !== DEMO_MODEL);
    if (own.length === 1) return own[0];
    if (names.length === 1) return names[0];
    throw invalid(
      "model",
      "model: wanted the name of a model, as none is in memory; got nothing. " +
        (names.length === 0 ? "There are none here." : `There are: ${names.join(", ")}.`),
    );
  }

  tryAcquire(name: string, options?: AcquireOptions): ServedModel | undefined {
    return this.manager.tryAcquire(name, options);
  }

  acquire(name: string, options?: AcquireOptions): Promise<ServedModel> {
    return this.manager.acquire(name, options);
  }

  load(name: string, options?: AcquireOptions): Promise<void> {
    return this.manager.load(name, options);
  }

  unload(name: string): Promise<void> {
    return this.manager.unload(name);
  }

  async list(): Promise<ListedModel[]> {
    const all = await this.catalogue.list();
    const loaded = this.manager.loaded().map(({ name }) => name);
    const known = new Map<string, ListedModel>(all.map((model) => [model.name, model]));
    return [
      ...loaded.map((name) => known.get(name) ?? { name }),
      ...all.filter(({ name }) => !loaded.includes(name)),
    ];
  }

  loaded(): ResidentStatus<Engine>[] {
    return this.manager.loaded();
  }

  waiting(name?: string): number {
    return this.manager.waiting(name);
  }

  failure(): string | undefined {
    if (this.manager.loaded().some(({ state }) => state === "ready")) return undefined;
    return this.manager.failing().find(({ code }) => code === "device")?.message;
  }

  lost(): string | undefined {
    return this.manager.lost();
  }

  observe(observer: ManagerObserver<Engine>): void {
    this.manager.observe(observer);
  }
}
