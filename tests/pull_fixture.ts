// A models directory of a test's own, and the environment that has pulls come to the test's server.
import "./own_environment.ts";
import { join } from "@std/path";
import { type Content, content, PullServer } from "./pull_server.ts";
import { ROOT, TINY } from "./cli_program.ts";
import { splitModel } from "./split_model.ts";

/** A small model of these weights; another number gives other bytes. */
export async function smallModel(variant = 0): Promise<Content> {
  const bytes = await Deno.readFile(TINY);
  // Of the last tensor's data, which nothing checks.
  bytes[bytes.length - 1] ^= variant;
  return content(bytes);
}

/** The parts of a small model, by their names in a repository. */
export async function smallParts(stem: string, parts: number): Promise<Record<string, Content>> {
  const folder = await Deno.makeTempDir({ prefix: "m40-parts-" });
  try {
    const paths = await splitModel(TINY, folder, stem.split("/").at(-1)!, { parts });
    const prefix = stem.includes("/") ? stem.slice(0, stem.lastIndexOf("/") + 1) : "";
    const files: Record<string, Content> = {};
    for (const path of paths) {
      files[prefix + path.slice(folder.length + 1)] = content(await Deno.readFile(path));
    }
    return files;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** What a test works with. */
export interface PullFixture {
  readonly server: PullServer;
  /** The models directory. */
  readonly models: string;
  /** A folder beside it. */
  readonly folder: string;
  /** The names of the files in the models directory that are not hidden, sorted. */
  list(): string[];
}

/** What could lead to the files of whoever runs the tests. */
const VARIABLES = [
  "HF_TOKEN",
  "HF_TOKEN_PATH",
  "HF_HOME",
  "HF_HUB_CACHE",
  "HUGGINGFACE_HUB_CACHE",
  "OLLAMA_MODELS",
  "XDG_CACHE_HOME",
];

/** Runs a test with a server and an empty models directory. */
export async function withPulls(
  test: (fixture: PullFixture) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "m40-pull-" });
  const models = join(folder, "models");
  await using server = new PullServer();
  const env: Record<string, string | undefined> = {
    ...Object.fromEntries(VARIABLES.map((name) => [name, undefined])),
    ...server.env,
    HOME: folder,
    // Whatever GPU this machine has: what fits is asked of the card that is taken where there is none.
    M40_KERNELS: Deno.env.get("M40_KERNELS") ?? join(ROOT, "dist/libm40_cpu.so"),
    M40_MODELS: models,
  };
  const before = Object.keys(env).map((name) => [name, Deno.env.get(name)] as const);
  const set = (name: string, value?: string) =>
    value === undefined ? Deno.env.delete(name) : Deno.env.set(name, value);
  for (const [name, value] of Object.entries(env)) set(name, value);
  const list = () =>
    [...Deno.readDirSync(models)].map(({ name }) => name).filter((name) => !name.startsWith("."))
      .sort();
  try {
    await test({ server, models, folder, list });
  } finally {
    for (const [name, value] of before) set(name, value);
    await Deno.remove(folder, { recursive: true });
  }
}
