import { M40Error } from "../errors.ts";
import type { AcquireOptions, Lease } from "./types.ts";

/** A request that waits for a model. */
interface Waiter<E> {
  readonly name: string;
  readonly options: AcquireOptions;
  readonly grant: (lease: Lease<E>) => void;
  readonly refuse: (error: unknown) => void;
}

/** The requests that wait for models, in the order of their arrival. */
export class Waiters<E> {
  private waiters: Waiter<E>[] = [];

  /** @param most How many may wait. */
  constructor(private readonly most: number) {}

  /** How many wait for a model; for any, where none is named. */
  count(name?: string): number {
    if (name === undefined) return this.waiters.length;
    return this.waiters.filter((waiter) => waiter.name === name).length;
  }

  /** Of the models for which the predicate holds, the one that was waited for longest. */
  first(holds: (name: string) => boolean): string | undefined {
    return this.waiters.find(({ name }) => holds(name))?.name;
  }

  /**
   * Queues a request until it is granted, refused or the signal is aborted.
   *
   * @param onLeave Called after a request has left by the signal.
   * @throws {M40Error} "queue_full" where too many wait, at once.
   */
  add(name: string, options: AcquireOptions, onLeave: () => void): Promise<Lease<E>> {
    const { length } = this.waiters;
    if (length >= this.most) {
      throw new M40Error(
        "queue_full",
        `${length} requests wait for a model already; send the request again later.`,
      );
    }
    const { promise, resolve, reject } = Promise.withResolvers<Lease<E>>();
    const { signal } = options;
    const stop = () => {
      this.take((one) => one === waiter);
      reject(left());
      onLeave();
    };
    const settled = <T>(settle: (value: T) => void) => (value: T) => {
      signal?.removeEventListener("abort", stop);
      settle(value);
    };
    const waiter = { name, options, grant: settled(resolve), refuse: settled(reject) };
    signal?.addEventListener("abort", stop);
    this.waiters.push(waiter);
    return promise;
  }

  /** Grants a lease to each request, in their order, for which there is one. */
  grant(lease: (name: string, options: AcquireOptions) => Lease<E> | undefined): void {
    for (const waiter of [...this.waiters]) {
      const granted = lease(waiter.name, waiter.options);
      if (granted === undefined) continue;
      this.take((one) => one === waiter);
      waiter.grant(granted);
    }
  }

  /** Refuses the requests for a model; all, where none is named. */
  refuse(error: unknown, name?: string): void {
    for (const waiter of this.take((one) => name === undefined || one.name === name)) {
      waiter.refuse(error);
    }
  }

  /** Removes and returns those for which the predicate holds. */
  private take(holds: (waiter: Waiter<E>) => boolean): Waiter<E>[] {
    const taken = this.waiters.filter(holds);
    this.waiters = this.waiters.filter((waiter) => !holds(waiter));
    return taken;
  }
}

/** The client left before there was an answer. */
export function left(): M40Error {
  return new M40Error("cancelled", "The request was ended before it was done; send it again.");
}
