/** What the manager needs of an engine. */
export interface ManagedEngine {
  /** `failed` says why nothing can be computed on it any more. */
  status(): { readonly failed?: string };
  /** Lets what runs come to its end, then gives everything back. */
  close(): Promise<void>;
}

/** The right to use a model: it stays in memory until it is released. */
export interface Lease<E> extends Disposable {
  readonly name: string;
  readonly engine: E;
  /** Any number of times; the first counts. */
  release(): void;
}

/** How a model is asked for. */
export interface AcquireOptions {
  /** Ends the waiting: the client has left, or its deadline has passed. */
  readonly signal?: AbortSignal;
  /** How long the unused model stays, in milliseconds; absent: the manager's default. */
  readonly keepAliveMs?: number;
}

/** Why a model is no longer in memory. */
export type UnloadReason = "asked" | "idle" | "replaced" | "lost" | "closed";

/** Observes the manager's models. */
export interface ManagerObserver<E> {
  /** A model is ready and not in use yet. */
  loaded?(name: string, engine: E, milliseconds: number): void;
  /** A model could not be loaded, or is none that can be. */
  loadFailed?(name: string, error: unknown): void;
  /** A model's engine is closed. */
  unloaded?(name: string, reason: UnloadReason): void;
}

/** What a manager manages, and how. */
export interface ManagerOptions<E> {
  /**
   * Loads a model. One call at a time, and none while one is closed.
   *
   * @param others How many other models are in memory.
   */
  load(name: string, others: number): Promise<E>;
  /**
   * Looks whether a model can be loaded, as far as that is known before: so that a file that is gone or damaged
   * costs no model that is in memory. It throws what its requests are answered with.
   */
  check?(name: string): Promise<void>;
  /** Models that may be in memory at the same time, where they fit; default 1. */
  readonly models?: number;
  /** Requests that may wait for a model; default 64. One may in any case. */
  readonly maxWaiting?: number;
  /** How long an unused model stays, in milliseconds; default: until another needs its memory. */
  keepAliveMs?(name: string): number;
  /** When no model was used for so long, all are unloaded, in milliseconds; default: never. */
  readonly idleMs?: number;
  /** How long an engine that was lost may take to close; then it is left as it is. Default 30,000. */
  readonly abandonMs?: number;
  /** Receives what {@link ManagedEngine.close} or the observer threw, and an error for an engine that did not close. */
  onError?(error: unknown): void;
  /** Milliseconds, rising. */
  now?(): number;
}

/** Where a model is on its way. */
export type ResidentState = "loading" | "ready" | "unloading";

/** A model in memory, or on its way in or out. */
export interface ResidentStatus<E> {
  readonly name: string;
  readonly state: ResidentState;
  /** Absent while it is loaded. */
  readonly engine?: E;
  /** How many use it. */
  readonly leases: number;
  /** When it is unloaded if it stays unused, in milliseconds from now; absent: not by itself. */
  readonly expiresMs?: number;
}
