/**
 * Engines that compute nothing, but count who uses them, for tests of {@link ModelManager}.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { M40Error } from "../engine/errors.ts";
import { ModelManager } from "../engine/manager/model_manager.ts";
import type { ManagerOptions } from "../engine/manager/types.ts";

/** Lets what is ready happen, and timers that are due. */
export const tick = () => new Promise<void>((resolve) => setTimeout(resolve, 0));

export async function ticks(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await tick();
}

/** Computes nothing, but knows whether it may be used. */
export class CountingEngine {
  open = true;
  failed?: string;

  constructor(readonly name: string, private readonly engines: CountedEngines) {}

  status() {
    return { failed: this.failed };
  }

  async close(): Promise<void> {
    assert(this.open, `${this.name} is closed twice`);
    this.open = false;
    this.engines.begin();
    await ticks(this.engines.take(3));
    this.engines.busy--;
    this.engines.open.delete(this);
    if (this.engines.take(10) === 0) throw new Error("closing failed, as far as anybody can tell");
  }
}

/** The engines that are open: how many the device has room for, and what of loading and closing fails. */
export class CountedEngines {
  readonly open = new Set<CountingEngine>();
  busy = 0;
  loads = 0;
  most = 0;
  private state: number;

  /** @param room Models that fit, whatever the manager believes. */
  constructor(seed: number, readonly room: number, readonly failing: boolean) {
    this.state = seed >>> 0;
  }

  /** A random number below that. */
  take(below: number): number {
    this.state = (Math.imul(this.state, 1664525) + 1013904223) >>> 0;
    return Math.floor(this.state / 2 ** 32 * below);
  }

  begin(): void {
    this.busy++;
    assertEquals(this.busy, 1, "one model at a time is loaded or unloaded");
  }

  async load(name: string): Promise<CountingEngine> {
    this.begin();
    this.loads++;
    try {
      await ticks(this.take(3));
      if (this.open.size >= this.room) {
        throw new M40Error("out_of_memory", `${name} does not fit`);
      }
      if (this.failing && this.take(5) === 0) throw new M40Error("io", `${name} is damaged`);
      const engine = new CountingEngine(name, this);
      this.open.add(engine);
      this.most = Math.max(this.most, this.open.size);
      return engine;
    } finally {
      this.busy--;
    }
  }

  manager(options: Partial<ManagerOptions<CountingEngine>> = {}) {
    return new ModelManager<CountingEngine>({
      load: (name) => this.load(name),
      check: (name) =>
        this.failing && this.take(8) === 0
          ? Promise.reject(new M40Error("model_not_found", `${name} is gone`))
          : Promise.resolve(),
      ...options,
    });
  }
}
