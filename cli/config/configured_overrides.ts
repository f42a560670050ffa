import { warn } from "../terminal/mod.ts";
import { M40Error } from "../../engine/errors.ts";
import type { Override } from "../../engine/gguf/mod.ts";
import type { StoredModel } from "../../engine/store/mod.ts";
import { type Config, NO_CONFIG, readConfig } from "./config.ts";

/** What `m40 serve` takes otherwise of models' metadata than their files have it, as `m40.toml` says. */
export class ConfiguredOverrides {
  private constructor(private readonly config: Config) {}

  /** Reads the file; where that cannot be done, which a warning says, there are none. */
  static async read(): Promise<ConfiguredOverrides> {
    try {
      return new ConfiguredOverrides(await readConfig());
    } catch (error) {
      if (!(error instanceof M40Error)) throw error;
      warn(`${error.message} Overrides in it are not regarded.`);
      return new ConfiguredOverrides(NO_CONFIG);
    }
  }

  /** Where they are from. */
  get path(): string | undefined {
    return this.config.path;
  }

  /** Those of a model that is called by its name. */
  of({ name, origin }: StoredModel): readonly Override[] {
    if (origin === "path") return [];
    const { models, server } = this.config;
    const own = models.get(name);
    // One of its name with another one's file is another model.
    const isIt = own !== undefined && (own.place === undefined || own.place === name);
    return (isIt ? own.options.override : undefined) ?? server.override ?? [];
  }
}
