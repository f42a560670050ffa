import type { Engine } from "../../engine/mod.ts";
import type { ResidentStatus } from "../../engine/manager/mod.ts";
import { HttpError } from "../errors.ts";
import { LATEST } from "./either_name.ts";
import type { ListedModel, Models, ServedModel } from "./models.ts";

/** One model that is in memory permanently: other code loads and closes its engine. */
export class FixedModel implements Models {
  private readonly served: ServedModel;

  constructor(engine: Engine, name: string) {
    const release = () => {};
    this.served = { name, engine, release, [Symbol.dispose]: release };
  }

  nameOf(asked: string | undefined): string {
    const { name } = this.served;
    if (asked === undefined || asked === name || asked === name + LATEST) return name;
    const shown = asked.length <= 100 ? asked : asked.slice(0, 100) + "…";
    throw new HttpError(
      404,
      "model_not_found",
      `The model "${shown}" is not served here. Served: "${name}".`,
      { param: "model" },
    );
  }

  tryAcquire(): ServedModel {
    return this.served;
  }

  acquire(): Promise<ServedModel> {
    return Promise.resolve(this.served);
  }

  load(): Promise<void> {
    return Promise.resolve();
  }

  unload(): Promise<void> {
    return Promise.reject(
      new HttpError(400, "unsupported", "This server always serves the same model.", {
        param: "id",
      }),
    );
  }

  list(): Promise<ListedModel[]> {
    return Promise.resolve([{ name: this.served.name }]);
  }

  loaded(): ResidentStatus<Engine>[] {
    const { name, engine } = this.served;
    return [{ name, engine, state: "ready", leases: 0 }];
  }

  waiting(): number {
    return 0;
  }

  failure(): string | undefined {
    return this.served.engine.status().failed;
  }

  lost(): undefined {
    return undefined;
  }

  observe(): void {}
}
