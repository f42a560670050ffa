/** A server of several small models that are loaded when they are asked for, from a folder of its own. */
import "./own_environment.ts";
import { assertEquals } from "@std/assert";
import { join } from "@std/path";
import { Catalogue, type CatalogueOptions } from "../engine/manager/catalogue.ts";
import { ModelManager } from "../engine/manager/model_manager.ts";
import { recordDefaults } from "../engine/store/model_defaults.ts";
import type { ManagerOptions } from "../engine/manager/types.ts";
import { Engine, type EngineOptions } from "../engine/mod.ts";
import { type AppOptions, createApp, ManagedModels, serve } from "../server/mod.ts";
import { GOLDEN } from "./cli_program.ts";

/** The names of the models that there are, which are golden files. */
export const MODELS = ["llama", "qwen3", "gemma2"] as const;

export interface ModelServerOptions {
  manager?: Partial<ManagerOptions<Engine>>;
  catalogue?: CatalogueOptions;
  main?: string;
  app?: Partial<AppOptions>;
  engine?: EngineOptions;
  drainMs?: number;
  /** Waited for before a model is loaded. */
  beforeLoad?: (name: string) => Promise<void>;
}

export interface ModelServer extends AsyncDisposable {
  readonly manager: ModelManager<Engine>;
  readonly url: string;
  readonly port: number;
  /** The folder of the models. */
  readonly folder: string;
  get(path: string): Promise<Response>;
  post(path: string, body?: unknown, init?: RequestInit): Promise<Response>;
  stop(): void;
  readonly finished: Promise<void>;
}

/** Starts one on a free port. The folder is that of this process as long as it is there. */
export async function startModels(options: ModelServerOptions = {}): Promise<ModelServer> {
  const folder = await Deno.makeTempDir({ prefix: "m40-models-" });
  for (const name of MODELS) {
    await Deno.copyFile(join(GOLDEN, `${name}.gguf`), join(folder, `${name}.gguf`));
  }
  const before = Deno.env.get("M40_MODELS");
  Deno.env.set("M40_MODELS", folder);
  const catalogue = new Catalogue(options.catalogue);
  const manager = new ModelManager<Engine>({
    check: async (name) => void await catalogue.find(name),
    load: async (name) => {
      await options.beforeLoad?.(name);
      const { path, record } = await catalogue.find(name);
      const defaults = recordDefaults(record);
      return await Engine.load(path, {
        device: "cpu",
        threads: 1,
        parallel: 8,
        defaults,
        ...options.engine,
      });
    },
    ...options.manager,
  });
  const app = createApp({
    models: new ManagedModels(manager, catalogue, options.main),
    ...options.app,
  });
  const controller = new AbortController();
  const { port, finished } = serve(app, {
    hostname: "127.0.0.1",
    port: 0,
    signal: controller.signal,
    drainMs: options.drainMs,
    idle: () => manager.idle(),
  });
  const url = `http://127.0.0.1:${port}`;
  return {
    manager,
    url,
    port,
    folder,
    finished,
    get: (path) => fetch(url + path),
    post: (path, body, init = {}) =>
      fetch(url + path, {
        method: "POST",
        body: body === undefined ? undefined : JSON.stringify(body),
        ...init,
        headers: { "Content-Type": "application/json", ...init.headers },
      }),
    stop: () => controller.abort(),
    async [Symbol.asyncDispose]() {
      controller.abort();
      await finished;
      await manager.close();
      if (before === undefined) Deno.env.delete("M40_MODELS");
      else Deno.env.set("M40_MODELS", before);
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** A body that no end token cuts short, whichever of the models answers. */
export function bodyOf(
  model: string | undefined,
  tokens = 8,
  more: Record<string, unknown> = {},
): Record<string, unknown> {
  return { model, prompt: [20, 30, 40], max_tokens: tokens, temperature: 0, ...more };
}

/** What a model answers; the one that the server chooses where none is named. */
export async function textOf(server: ModelServer, model?: string): Promise<string> {
  const response = await server.post("/v1/completions", bodyOf(model));
  const body = await response.json();
  assertEquals(response.status, 200, JSON.stringify(body));
  if (model !== undefined) assertEquals(body.model, model);
  return body.choices[0].text;
}

/** The names of the models in memory, those used last first. */
export function loadedNames(server: ModelServer): string[] {
  return server.manager.loaded().map(({ name }) => name);
}

/** Something that is waited for until it is opened. */
export function gate(): { wait: () => Promise<void>; open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { wait: () => promise, open: resolve };
}
