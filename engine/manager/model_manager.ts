import { M40Error } from "../errors.ts";
import { ABANDON_MS, closeWithin } from "./close_within.ts";
import { Failures } from "./failures.ts";
import { IdleWatch } from "./idle_watch.ts";
import { Resident } from "./resident.ts";
import type {
  AcquireOptions,
  Lease,
  ManagedEngine,
  ManagerObserver,
  ManagerOptions,
  ResidentStatus,
  UnloadReason,
} from "./types.ts";
import { left, Waiters } from "./waiters.ts";

/**
 * Decides which models are in memory: loads those asked for, and unloads the least recently used one where there is
 * no room.
 *
 * A request for a ready model gets it at once, unless it has to make room: once another model waits for its memory,
 * it takes no new requests. When its users are done, it is unloaded. The other one is loaded and serves all requests
 * that wait for it by then. So models that are asked for in turn are swapped once for many requests, and a request is
 * overtaken by at most one such batch of every model.
 *
 * All decisions are made in {@link pump}, from the current state; it runs after every event. One model at a time is
 * loaded or unloaded. So there is no deadlock: while a request waits, a model is being loaded or unloaded, or has
 * users and must go.
 */
export class ModelManager<E extends ManagedEngine> {
  private readonly observers: ManagerObserver<E>[] = [];
  private readonly residents = new Map<string, Resident<E>>();
  private readonly waiters: Waiters<E>;
  private readonly failures: Failures;
  private readonly most: number;
  private readonly now: () => number;
  /** The one model that is being checked, loaded or unloaded. */
  private transition?: Promise<void>;
  /** The model that was looked at and can be loaded. */
  private checked?: string;
  /** A model that did not fit with others, and how many others may stay when it is tried next. */
  private tight?: { readonly name: string; readonly others: number };
  private uses = 0;
  private readonly idleness: IdleWatch;
  private idlers: (() => void)[] = [];
  /** Whether all is to end, and the end. */
  private closed = false;
  private closing?: Promise<void>;

  constructor(private readonly options: ManagerOptions<E>) {
    this.now = options.now ?? (() => performance.now());
    this.failures = new Failures(this.now);
    this.most = options.models ?? 1;
    this.waiters = new Waiters(Math.max(1, options.maxWaiting ?? 64));
    this.idleness = new IdleWatch(options.idleMs, () => {
      for (const resident of this.residents.values()) resident.leaving ??= "idle";
      this.pump();
    });
  }

  /** The listener. What it throws stops nothing. */
  observe(observer: ManagerObserver<E>): void {
    this.observers.push(observer);
  }

  /** The models in memory, those used last first. */
  loaded(): ResidentStatus<E>[] {
    return [...this.residents.values()].sort((a, b) => b.used - a.used).map((resident) => ({
      name: resident.name,
      state: resident.state,
      engine: resident.engine,
      leases: resident.leases,
      expiresMs: resident.expiresMs,
    }));
  }

  /** How many wait for a model; for any, where none is named. */
  waiting(name?: string): number {
    return this.waiters.count(name);
  }

  /** What a device was lost by, or could not be had, until a model is loaded again. */
  lost(): string | undefined {
    this.pump();
    return this.failures.since("device");
  }

  /** Models that are not loaded for some time, because they have failed again and again. */
  failing(): M40Error[] {
    return this.failures.refusals();
  }

  /** The right to use a model, where it can be had at once. */
  tryAcquire(name: string, options: AcquireOptions = {}): Lease<E> | undefined {
    this.assertOpen();
    this.pump();
    const resident = this.residents.get(name);
    const free = resident?.open && resident !== this.outgoing();
    return free ? this.grant(resident, options.keepAliveMs) : undefined;
  }

  /**
   * Waits for a lease on a model, which is loaded where it is not in memory. The holder must release it, and must not
   * wait for another one meanwhile.
   *
   * @throws {M40Error} What {@link ManagerOptions.check} and {@link ManagerOptions.load} throw; "queue_full" where
   * too many wait; "cancelled" where the signal is aborted or the manager closed; {@link ModelFailing} for a model
   * that has failed repeatedly.
   */
  async acquire(name: string, options: AcquireOptions = {}): Promise<Lease<E>> {
    if (options.signal?.aborted) throw left();
    const lease = this.tryAcquire(name, options);
    if (lease !== undefined) return lease;
    const refusal = this.residents.has(name) ? undefined : this.failures.refusal(name);
    if (refusal !== undefined) throw refusal;
    const waiting = this.waiters.add(name, options, () => this.pump());
    this.pump();
    return await waiting;
  }

  /** Has a model in memory; fails as {@link acquire} does. A model that failed is tried all the same. */
  async load(name: string, options: AcquireOptions = {}): Promise<void> {
    this.failures.forget(name);
    (await this.acquire(name, options)).release();
  }

  /** Unloads a model when its users are done. Requests for it meanwhile load it again. */
  async unload(name: string): Promise<void> {
    const resident = this.residents.get(name);
    if (resident === undefined) return;
    if (resident.leaving !== "lost") resident.leaving = "asked";
    this.pump();
    await resident.gone;
  }

  /** Resolves when no model is in use or waited for. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.idlers.push(resolve);
      this.pump();
    });
  }

  /** Refuses waiting requests, and unloads everything; each engine waits for its own users. */
  close(): Promise<void> {
    return this.closing ??= this.end();
  }

  private async end(): Promise<void> {
    this.closed = true;
    this.idleness.stop();
    this.waiters.refuse(ended());
    this.pump();
    await this.transition;
    for (const resident of [...this.residents.values()]) {
      await this.shut(resident, resident.leaving === "lost" ? "lost" : "closed");
    }
  }

  /** Decides what is to be done now, and begins it. */
  private pump(): void {
    this.noteLosses();
    this.wakeIdlers();
    if (this.closed) return;
    if (this.wanted() === undefined) this.checked = undefined;
    const outgoing = this.outgoing();
    this.waiters.grant((name, { keepAliveMs }) => {
      const resident = this.residents.get(name);
      const free = resident?.open && resident !== outgoing;
      return free ? this.grant(resident, keepAliveMs) : undefined;
    });
    this.idleness.update(this.quiet && this.residents.size > 0);
    if (this.transition !== undefined) return;
    const leaving = [...this.residents.values()].find((one) =>
      one.leases === 0 && (one === outgoing || one.leaving !== undefined)
    );
    const next = this.wanted();
    if (leaving !== undefined) this.begin(this.shut(leaving, leaving.leaving ?? "replaced"));
    else if (next !== undefined && this.checked !== next) this.begin(this.check(next));
    else if (next !== undefined && this.hasPlace(next)) this.begin(this.bringIn(next));
  }

  /** Of the models not in memory, the one that was waited for longest. */
  private wanted(): string | undefined {
    return this.waiters.first((name) => !this.residents.has(name));
  }

  /** The model that takes no new requests, because the wanted one needs its memory. */
  private outgoing(): Resident<E> | undefined {
    const name = this.wanted();
    if (name === undefined || this.checked !== name || this.hasPlace(name)) return undefined;
    const all = [...this.residents.values()];
    // One that goes anyway makes room already.
    const going = all.find(({ state, leaving }) => state === "unloading" || leaving !== undefined);
    if (going !== undefined) return going;
    const idle = all.filter(({ leases }) => leases === 0);
    return (idle.length > 0 ? idle : all).reduce((a, b) => a.used < b.used ? a : b);
  }

  private hasPlace(name: string): boolean {
    const most = this.tight?.name === name ? this.tight.others : this.most - 1;
    return this.residents.size <= most;
  }

  /** Does one thing after the other; each decides what comes after it. */
  private begin(work: Promise<void>): void {
    this.transition = work.then(() => {
      this.transition = undefined;
      this.pump();
    });
  }

  private async check(name: string): Promise<void> {
    this.tight = undefined;
    const refusal = this.failures.refusal(name);
    if (refusal !== undefined) return this.waiters.refuse(refusal, name);
    try {
      await this.options.check?.(name);
      this.checked = name;
    } catch (error) {
      this.notify((observer) => observer.loadFailed?.(name, error));
      this.waiters.refuse(error, name);
    }
  }

  private async bringIn(name: string): Promise<void> {
    const others = this.residents.size;
    const resident = new Resident<E>(name, this.now);
    this.residents.set(name, resident);
    const start = this.now();
    try {
      resident.engine = await this.options.load(name, others);
    } catch (error) {
      this.residents.delete(name);
      resident.leave();
      const full = error instanceof M40Error && error.code === "out_of_memory";
      if (full && others > 0 && !this.closed) {
        this.tight = { name, others: others - 1 };
        return;
      }
      this.checked = this.tight = undefined;
      this.failures.note(name, error);
      this.notify((observer) => observer.loadFailed?.(name, error));
      this.waiters.refuse(error, name);
      return;
    }
    const { engine } = resident;
    resident.state = "ready";
    resident.keepAliveMs = this.keepAliveMs(name);
    resident.used = ++this.uses;
    this.checked = this.tight = undefined;
    this.failures.noteLoaded();
    this.notify((observer) => observer.loaded?.(name, engine, this.now() - start));
    // All that wait by now, even if another model waits for this one's memory.
    this.waiters.grant((asked, { keepAliveMs }) =>
      asked === name ? this.grant(resident, keepAliveMs) : undefined
    );
    if (resident.leases === 0) this.rest(resident);
  }

  /** Closes a model's engine. */
  private async shut(resident: Resident<E>, reason: UnloadReason): Promise<void> {
    const { name, engine } = resident;
    resident.state = "unloading";
    resident.wake();
    try {
      if (engine !== undefined) {
        if (reason !== "lost") await engine.close();
        else await closeWithin(this.options.abandonMs ?? ABANDON_MS, "a lost engine", engine);
      }
    } catch (error) {
      this.report(error);
    } finally {
      this.residents.delete(name);
      resident.leave();
      this.notify((observer) => observer.unloaded?.(name, reason));
    }
  }

  /** A use of a model begins. */
  private grant(resident: Resident<E>, keepAliveMs?: number): Lease<E> {
    resident.wake();
    if (resident.leaving === "idle") resident.leaving = undefined;
    resident.keepAliveMs = keepAliveMs ?? this.keepAliveMs(resident.name);
    resident.leases++;
    resident.used = ++this.uses;
    this.idleness.update(false);
    let released = false;
    const release = () => {
      if (released) return;
      released = true;
      resident.leases--;
      if (resident.leases === 0) this.rest(resident);
      this.pump();
    };
    const { name } = resident;
    return { name, engine: resident.engine!, release, [Symbol.dispose]: release };
  }

  /** The last user of a model has left: it is unloaded when its time is over. */
  private rest(resident: Resident<E>): void {
    const expire = () => {
      resident.leaving ??= "idle";
      this.pump();
    };
    if (resident.keepAliveMs <= 0) resident.leaving ??= "idle";
    else resident.rest(expire);
  }

  private keepAliveMs(name: string): number {
    return this.options.keepAliveMs?.(name) ?? Infinity;
  }

  /** Models whose device was lost must go. */
  private noteLosses(): void {
    for (const resident of this.residents.values()) {
      const { failure, leaving, name } = resident;
      if (failure === undefined || leaving === "lost" || resident.state !== "ready") continue;
      resident.leaving = "lost";
      this.failures.note(name, new M40Error("device", failure));
    }
  }

  /** Whether no model is in use or waited for. */
  private get quiet(): boolean {
    if (this.waiters.count() > 0) return false;
    return [...this.residents.values()].every(({ leases }) => leases === 0);
  }

  private wakeIdlers(): void {
    if (this.idlers.length === 0 || !this.quiet) return;
    for (const wake of this.idlers.splice(0)) wake();
  }

  private notify(say: (observer: ManagerObserver<E>) => void): void {
    for (const observer of this.observers) {
      try {
        say(observer);
      } catch (error) {
        this.report(error);
      }
    }
  }

  private report(error: unknown): void {
    this.options.onError?.(error);
  }

  private assertOpen(): void {
    if (this.closed) throw ended();
  }
}

function ended(): M40Error {
  return new M40Error("cancelled", "The server ends; send the request again later.");
}
