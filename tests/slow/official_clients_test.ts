// OpenAI's, Ollama's and Anthropic's official clients against a server in a process of its own, and the executable.
import { assertEquals } from "@std/assert";
import { basename, fromFileUrl } from "@std/path";
import { exerciseClient as exerciseAnthropic } from "../fixtures/anthropic_exercise.ts";
import { byteLevelModel } from "../fixtures/byte_level_model.ts";
import { runtimeAvailable, withProgram } from "../fixtures/compiled_program.ts";
import {
  ENVIRONMENT,
  failureOf,
  fromCheckout,
  KEY,
  pythonWith,
  withServer,
} from "../fixtures/official_clients.ts";
import { exerciseClient as exerciseOllama } from "../fixtures/ollama_exercise.ts";
import { exerciseClient as exerciseOpenAI } from "../fixtures/openai_exercise.ts";
import { TemporaryFolder } from "../fixtures/temporary.ts";

/** The clients for Python and the pydantic that they are checked with. */
const PACKAGES = ["openai==3.54.0", "ollama==0.6.3", "anthropic==2.12.0", "pydantic==2.14.3"];

const python = await pythonWith(...PACKAGES);
const compiles = await runtimeAvailable();

/** The clients of one API. */
interface Clients {
  readonly of: string;
  readonly args: readonly string[];
  /** What the client for JavaScript does at a server, whose URL ends with /v1. */
  readonly inJavaScript: (baseURL: string, model: string) => Promise<void>;
  /** What the one for Python does. */
  readonly scripts: readonly string[];
  /** Whether they put /v1 behind the URL by themselves. */
  readonly ownPath?: boolean;
}

const SERVE = ["serve", "--port", "0"];
const DEMO = [...SERVE, "--model", "demo", "--chat-template", "chatml"];
const OPENAI: Clients = {
  of: "OpenAI",
  args: DEMO,
  inJavaScript: (baseURL, model) =>
    exerciseOpenAI({ baseURL, model, apiKey: KEY, fillsGaps: model !== "demo" }),
  scripts: ["openai_client.py", "openai_responses_client.py"],
};
const ALL: readonly Clients[] = [
  OPENAI,
  {
    of: "Ollama",
    args: [...SERVE, "--chat-template", "chatml", "--allow-store-changes"],
    inJavaScript: (host, model) =>
      exerciseOllama({ host, model, apiKey: KEY, storeChanges: true, tools: true }),
    scripts: ["ollama_client.py"],
    ownPath: true,
  },
  {
    of: "Anthropic",
    args: DEMO,
    inJavaScript: (baseURL, model) => exerciseAnthropic({ baseURL, model, apiKey: KEY }),
    scripts: ["anthropic_client.py"],
    ownPath: true,
  },
];

/** Starts a server, whose models directory is empty at first, and exercises it with both clients. */
async function exercise(
  t: Deno.TestContext,
  { inJavaScript, scripts, ownPath, args }: Clients,
  serve: (args: string[], env: Record<string, string>) => Deno.Command,
  model = "demo",
): Promise<void> {
  using models = new TemporaryFolder();
  const env = { ...ENVIRONMENT, M40_MODELS: models.path };
  await withServer(serve([...args], env), async (baseURL) => {
    const url = ownPath ? baseURL.replace(/\/v1$/, "") : baseURL;
    await t.step("the client for JavaScript", () => inJavaScript(url, model));
    for (const script of scripts) {
      const path = fromFileUrl(new URL(script, import.meta.url));
      await t.step({
        name: `the client for Python, every answer by its own types: ${script}`,
        ignore: python === undefined,
        fn: async () => assertEquals(await failureOf(python!, path, url, model, KEY), undefined),
      });
    }
  });
}

// Ollama's client for JavaScript leaves the end of a stream's body unread. It is closed when it is collected, during
// whichever test of this file runs then.
const LEFT_UNREAD = { sanitizeResources: false };

for (const clients of ALL) {
  Deno.test({
    ...LEFT_UNREAD,
    name: `${clients.of}'s clients do everything about text with m40 serve`,
    fn: (t) => exercise(t, clients, fromCheckout),
  });
  Deno.test({
    ...LEFT_UNREAD,
    name: `${clients.of}'s clients do everything about text with the executable`,
    ignore: !compiles,
    fn: (t) => withProgram(({ run }) => exercise(t, clients, run)),
  });
}

Deno.test(
  "OpenAI's clients do everything about text with a byte-level model",
  LEFT_UNREAD,
  async (t) => {
    using file = await byteLevelModel();
    const clients = { ...OPENAI, args: [...SERVE, "--model", file.path] };
    await exercise(t, clients, fromCheckout, basename(file.path, ".gguf"));
  },
);
