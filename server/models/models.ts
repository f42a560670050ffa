import type { Engine } from "../../engine/mod.ts";
import type {
  AcquireOptions,
  Catalogue,
  Lease,
  ManagerObserver,
  ResidentStatus,
} from "../../engine/manager/mod.ts";

/** A model that answers a request: it stays in memory until it is released. */
export type ServedModel = Lease<Engine>;

/** A model that may be asked for. */
export interface ListedModel {
  readonly name: string;
  /** Bytes of its file, where they are known. */
  readonly fileBytes?: number;
}

/** The models that a server serves, whether they are in memory or not. */
export interface Models {
  /** The models that can be asked for, and where they lie; absent where other code manages models. */
  readonly catalogue?: Catalogue;
  /**
   * The own name of the model that a request asks for.
   *
   * @param asked As the request has it; undefined: whichever is served.
   * @throws {HttpError | M40Error} for a model that there is not, and where it has to be said which.
   */
  nameOf(asked: string | undefined): string | Promise<string>;
  /** See {@link ModelManager.tryAcquire}. */
  tryAcquire(name: string, options?: AcquireOptions): ServedModel | undefined;
  /** See {@link ModelManager.acquire}. */
  acquire(name: string, options?: AcquireOptions): Promise<ServedModel>;
  /** Has a model in memory. */
  load(name: string, options?: AcquireOptions): Promise<void>;
  /** Has a model out of memory. */
  unload(name: string): Promise<void>;
  /** All that may be asked for, those in memory first. */
  list(): Promise<ListedModel[]>;
  /** The models in memory or on their way, those used last first. */
  loaded(): ResidentStatus<Engine>[];
  /** Requests that wait for a model to be loaded; for any, where none is named. */
  waiting(name?: string): number;
  /** Why nothing can be computed any more, or not for some time. */
  failure(): string | undefined;
  /** Why a device was lost or unavailable, until a model is loaded again. */
  lost(): string | undefined;
  /** Notifies a listener of changes of models from now on. */
  observe(observer: ManagerObserver<Engine>): void;
}
