/**
 * LiteLLM as a proxy, in a process of its own.
 *
 * @module
 */
import { join } from "@std/path";
import { freePort, sleep } from "./replicas.ts";

/**
 * Does work with LiteLLM's proxy.
 *
 * @param python A Python that has `litellm[proxy]`.
 * @param config The text of its configuration.
 * @param work Gets the proxy's URL and its key.
 */
export async function withLiteLLM(
  python: string,
  config: string,
  work: (url: string, key: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "m40-litellm-" });
  const path = join(folder, "config.yaml");
  await Deno.writeTextFile(path, config);
  const port = freePort();
  // It starts with none that is easily guessed.
  const key = `sk-${crypto.randomUUID()}`;
  const log = Deno.env.has("M40_LITELLM_LOG") ? "inherit" : "null";
  const proxy = new Deno.Command(join(python, "../litellm"), {
    args: ["--config", path, "--host", "127.0.0.1", "--port", `${port}`],
    // Its table of prices comes with it.
    env: {
      LITELLM_LOCAL_MODEL_COST_MAP: "True",
      LITELLM_MASTER_KEY: key,
      M40_API_KEY: "none",
      HOME: folder,
    },
    stdin: "null",
    stdout: log,
    stderr: log,
  }).spawn();
  try {
    await until(`http://127.0.0.1:${port}/health/liveliness`);
    await work(`http://127.0.0.1:${port}`, key);
  } finally {
    proxy.kill("SIGKILL");
    await proxy.status;
    await Deno.remove(folder, { recursive: true });
  }
}

/** Waits until somebody answers at a URL, for two minutes at most: it is imported first. */
async function until(url: string): Promise<void> {
  for (let i = 0; i < 240; i++) {
    const response = await fetch(url).catch(() => undefined);
    await response?.body?.cancel();
    if (response?.ok) return;
    await sleep(500);
  }
  throw new Error(`${url} was not answered in two minutes`);
}
