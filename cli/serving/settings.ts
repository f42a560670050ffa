import type { OptionValues } from "../arguments/mod.ts";
import type { Config, ConfiguredModel, OWN_OPTIONS } from "../config/mod.ts";
import type { ServeOptions } from "../models/mod.ts";

/** The options that each model may have its own of. */
export type ModelValues = OptionValues<typeof OWN_OPTIONS>;

/** What holds for a server and for each of its models: the command line goes before the file. */
export class ServeSettings {
  /** The options of the server. */
  readonly server: ServeOptions & { readonly only: boolean };

  /**
   * @param options What the command line says, or the defaults.
   * @param given The names of the options that it has.
   */
  constructor(
    options: ServeOptions,
    private readonly given: ReadonlySet<string>,
    readonly config: Config,
  ) {
    this.server = { only: false, ...options, ...this.withoutGiven(config.server) };
  }

  /** The options of a model. */
  model(name: string): ModelValues {
    return { ...this.server, ...this.withoutGiven(this.configured(name)?.options ?? {}) };
  }

  /** What the file says of a model. */
  configured(name: string): ConfiguredModel | undefined {
    return this.config.models.get(name);
  }

  private withoutGiven<T extends object>(values: T): Partial<T> {
    const entries = Object.entries(values).filter(([name]) => !this.given.has(name));
    return Object.fromEntries(entries) as Partial<T>;
  }
}
