// LangChain's ChatOpenAI, and LiteLLM as a proxy in front, against a server in a process of its own.
import { assertEquals } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { failureOf, fromCheckout, KEY, pythonWith, withServer } from "../official_clients.ts";

const SERVE = "serve --port 0 --chat-template chatml".split(" ");
const script = (name: string) => fromFileUrl(new URL(name, import.meta.url));

const langchain = await pythonWith("langchain-openai==1.7.3");
// It brings so much with it that this takes longer than all other slow tests of clients: M40_LITELLM=1 has it tested.
const litellm = Deno.env.has("M40_LITELLM")
  ? await pythonWith("litellm[proxy]==1.106.2")
  : undefined;

Deno.test({
  name:
    "LangChain's ChatOpenAI chats, streams, calls tools in several turns and gets structured output",
  ignore: langchain === undefined,
  fn: () =>
    withServer(fromCheckout(SERVE), async (url) => {
      const program = script("langchain_client.py");
      assertEquals(await failureOf(langchain!, program, url, "demo", KEY), undefined);
    }),
});

Deno.test({
  name: "LiteLLM as a proxy in front hands on answers, streams, calls of tools and errors",
  ignore: litellm === undefined,
  fn: () =>
    withServer(fromCheckout(SERVE), (url) =>
      withProxy(litellm!, url, async (proxy, key) => {
        const program = script("litellm_client.py");
        assertEquals(await failureOf(litellm!, program, proxy, "story", key), undefined);
      })),
});

/** Does work with LiteLLM's proxy, which calls m40's demo model "story". */
async function withProxy(
  python: string,
  url: string,
  work: (proxy: string, key: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "m40-litellm-" });
  const config = join(folder, "config.json");
  const params = { model: "openai/demo", api_base: url, api_key: KEY };
  // YAML takes JSON.
  await Deno.writeTextFile(
    config,
    JSON.stringify({
      model_list: [{ model_name: "story", litellm_params: params }],
      litellm_settings: { num_retries: 0, telemetry: false },
    }),
  );
  const port = freePort();
  // It starts with none that is easily guessed.
  const key = `sk-${crypto.randomUUID()}`;
  const proxy = new Deno.Command(join(python, "../litellm"), {
    args: ["--config", config, "--host", "127.0.0.1", "--port", `${port}`],
    // Its table of prices comes with it.
    env: { LITELLM_LOCAL_MODEL_COST_MAP: "True", LITELLM_MASTER_KEY: key, HOME: folder },
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  try {
    await until(`http://127.0.0.1:${port}/health/liveliness`);
    await work(`http://127.0.0.1:${port}/v1`, key);
  } finally {
    proxy.kill("SIGKILL");
    await proxy.status;
    await Deno.remove(folder, { recursive: true });
  }
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** Waits until somebody answers at a URL, for two minutes at most: it is imported first. */
async function until(url: string): Promise<void> {
  for (let i = 0; i < 240; i++) {
    const response = await fetch(url).catch(() => undefined);
    await response?.body?.cancel();
    if (response?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  throw new Error(`${url} was not answered in two minutes`);
}
