// LangChain's ChatOpenAI, and LiteLLM as a proxy in front, against a server in a process of its own.
import { assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { withLiteLLM } from "../fixtures/litellm.ts";
import {
  failureOf,
  fromCheckout,
  KEY,
  pythonWith,
  withServer,
} from "../fixtures/official_clients.ts";

const SERVE = "serve --port 0 --chat-template chatml".split(" ");
const script = (name: string) => fromFileUrl(new URL(name, import.meta.url));

const langchain = await pythonWith("langchain-openai==1.7.3");
// It sends such long prompts that this takes longer than all other slow tests of clients: M40_LITELLM=1 has it tested.
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
function withProxy(
  python: string,
  url: string,
  work: (proxy: string, key: string) => Promise<void>,
): Promise<void> {
  const params = { model: "openai/demo", api_base: url, api_key: KEY };
  // YAML takes JSON.
  const config = JSON.stringify({
    model_list: [{ model_name: "story", litellm_params: params }],
    litellm_settings: { num_retries: 0, telemetry: false },
  });
  return withLiteLLM(python, config, (proxy, key) => work(`${proxy}/v1`, key));
}
