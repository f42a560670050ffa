/**
 * A server for clients that are installed from their registries. Its model says what a script wants, has a name and an
 * alias, and has a context shorter than its training context.
 *
 * @module
 */
import { join } from "@std/path";
import { fromCheckout, withServer } from "../fixtures/official_clients.ts";
import { callText, scriptedModel } from "../fixtures/scripted_model.ts";
import { TemporaryFolder } from "../fixtures/temporary.ts";

/** Tokens that the model counts as trained for, and those that it is served with. */
export const TRAINED = 131_072;
export const SERVED = 65_536;

/** What the model says to a message that ends with a character. */
export const SCRIPT = {
  "?": "It is sunny.",
  // LiteLLM makes a prompt of a conversation by itself, and ends it so.
  "\n": "It is sunny.",
  "!": callText("get_weather", { city: "Paris" }),
  "#": '{"name": "Ada", "age": 36}',
  "~": callText("apply_patch", { input: "*** Begin Patch\n*** End Patch\n" }),
};

/** Does work with a server, without a key. The models are `script` and its alias `gpt-4o-mini`. */
export async function withScript(work: (url: string) => Promise<void>): Promise<void> {
  using temporary = new TemporaryFolder();
  const folder = temporary.path;
  const file = join(folder, "script.gguf");
  await scriptedModel(file, SCRIPT, TRAINED);
  const config = join(folder, "m40.toml");
  await Deno.writeTextFile(
    config,
    `[server]\nonly = true\n[models.script]\nfile = ${JSON.stringify(file)}\nctx = ${SERVED}\n` +
      '[aliases]\n"gpt-4o-mini" = "script"\n',
  );
  const serve = ["serve", "--port", "0", "--config", config, "--model", "script"];
  await withServer(
    fromCheckout(serve, { M40_MODELS: folder, M40_API_KEY: "" }),
    (url) => work(url.replace(/\/v1$/, "")),
  );
}
