// Clients as their registries have them, unchanged, against `m40 serve`. Where one cannot be installed, its test is
// left out, and why is said. Each stands for a fault that official clients do not show: its version is next to it.
import { assertEquals } from "@std/assert";
import { join } from "@std/path";
import { failureOf, pythonWith } from "../fixtures/official_clients.ts";
import { HERE, npmWith, projectOf, skipped, temporary } from "./packages.ts";
import { withScript } from "./served.ts";

/** Runs a client against a server; gives what it said where it failed. */
type Run = (url: string) => Promise<string | undefined>;

/** A client of Python, of npm, or a project of another language. */
interface Client {
  readonly name: string;
  /** What it fails of, where a server does not do as others do. */
  readonly shows: string;
  /** Installs it; returns how it is run, or undefined where it is not available. */
  readonly install: () => Promise<Run | undefined>;
}

/** LiteLLM would ask for prices first. */
const ENVIRONMENT = { LITELLM_LOCAL_MODEL_COST_MAP: "True", AI_SDK_LOG_WARNINGS: "false" };
for (const [name, value] of Object.entries(ENVIRONMENT)) Deno.env.set(name, value);

const CLIENTS: readonly Client[] = [
  {
    name: "Vercel's AI SDK",
    shows: "fields that are null where Anthropic leaves them out",
    install: () =>
      node("vercel_ai.mjs", [
        "ai@6.0.326",
        "@ai-sdk/anthropic@3.0.140",
        "@ai-sdk/openai@3.0.141",
        "@ai-sdk/openai-compatible@2.0.92",
        "zod@4.6.7",
      ]),
  },
  {
    name: "Continue's adapters",
    shows: "OpenAI's routes without /v1, as llama.cpp's server has them",
    install: () => node("continue_adapters.mjs", ["@continuedev/openai-adapters@1.37.0"]),
  },
  {
    name: "Codex with --oss",
    shows: "Ollama's version, a pull of what is there, OpenAI's own tools",
    install: codex,
  },
  {
    name: "LiteLLM, LlamaIndex and LangChain for Ollama",
    shows: "bodies without a content type, num_ctx beyond what is served, aliases in lists",
    install: () =>
      python("ollama_clients.py", [
        "litellm==1.110.2",
        "llama-index-llms-ollama==0.11.0",
        "langchain-ollama==1.1.0",
      ]),
  },
  {
    name: "aider",
    shows: "what LiteLLM sends for it, num_ctx that it counts by itself",
    install: () => python("aider_client.py", ["aider-chat==0.86.2"]),
  },
  {
    name: "fetch and http of Node",
    shows: "bodies as text, as a form and without a content type",
    install: () => node("plain_requests.mjs", []),
  },
  {
    name: "instructor, huggingface_hub, Ollama's client, LangChain, outlines, Haystack and llm",
    shows:
      "keywords that no grammar can enforce, members that no schema names, json_object with a value",
    install: () =>
      python("schema_clients.py", [
        ...["instructor==1.17.0", "huggingface_hub==2.4.0", "ollama==0.6.3", "outlines==1.3.3"],
        ...["langchain-ollama==1.1.0", "ollama-haystack==7.0.2", "haystack-ai==3.4.1"],
        "llm==0.32.1",
      ]),
  },
  {
    name: "pydantic-ai and OpenAI's parse()",
    shows: "keywords that no grammar can enforce, with strict and without",
    // Its version of OpenAI's client is another one than llm's.
    install: () => python("pydantic_clients.py", ["pydantic-ai-slim[openai]==2.32.2"]),
  },
  {
    name: "lm_eval's remote tokenizer",
    shows: "vLLM's routes of tokens",
    // Without what it evaluates by, which is most of it.
    install: () =>
      python("lm_eval_client.py", [
        ...["requests==2.34.2", "jinja2==3.1.6", "numpy==2.4.0", "typing_extensions==4.15.0"],
        ...["pyyaml==6.0.3", "more_itertools==10.8.0", "dill==0.4.0"],
      ], ["lm_eval==0.4.13"]),
  },
  {
    name: "Ollama's client for Go",
    shows: "log-probabilities, aliases in lists",
    install: () =>
      project("go", [["go", "mod", "tidy"], ["go", "build", "-o", "client", "."]], ["./client"]),
  },
  {
    name: "LangChain4j",
    shows: "streams that are asked for without a content type",
    install: () =>
      project("java", [["mvn", "-q", "-B", "compile", "dependency:copy-dependencies"]], [
        "java",
        "-cp",
        "target/classes:target/dependency/*",
        "OllamaClient",
      ]),
  },
  {
    name: "rig and ollama-rs",
    shows: "models in Anthropic's shape, formats of Rust's types in schemas",
    install: () => project("rust", [["cargo", "build", "--quiet"]], ["target/debug/clients"]),
  },
];

/** A program next to packages of npm. */
async function node(program: string, packages: readonly string[]): Promise<Run | undefined> {
  const folder = await npmWith(packages, program);
  if (folder === undefined) return undefined;
  return (url) => failureOf("node", join(folder, program), url);
}

/** @param bare Packages that are installed without what they depend on. */
async function python(
  program: string,
  packages: readonly string[],
  bare: readonly string[] = [],
): Promise<Run | undefined> {
  const found = await pythonWith(...packages);
  if (found === undefined) return undefined;
  for (const one of bare) {
    const args = ["-m", "pip", "install", "--quiet", "--no-deps", one];
    const failure = await failureOf(found, ...args);
    if (failure !== undefined) return skipped(one, failure);
  }
  return (url) => failureOf(found, join(HERE, program), url);
}

/** A project of another language: how it is built, and how it is run in its folder. */
async function project(
  name: string,
  build: readonly (readonly string[])[],
  run: readonly string[],
): Promise<Run | undefined> {
  const folder = await projectOf(name);
  for (const command of build) {
    const failure = await inFolder(folder, command);
    if (failure !== undefined) return skipped(name, failure);
  }
  return (url) => inFolder(folder, [...run, url], { ANTHROPIC_BASE_URL: url });
}

/** Codex, which asks for its model as a model of Ollama. */
async function codex(): Promise<Run | undefined> {
  const folder = await npmWith(["@openai/codex@0.171.0"]);
  if (folder === undefined) return undefined;
  const home = temporary("codex");
  const exec = "exec --oss --local-provider ollama --skip-git-repo-check -s read-only -m".split(
    " ",
  );
  return async (url) => {
    // By its own name, which the list has with a tag, and by an alias.
    for (const model of ["script", "gpt-4o-mini:latest"]) {
      const { code, stdout, stderr } = await new Deno.Command(
        join(folder, "node_modules/.bin/codex"),
        {
          args: [...exec, model, "How is the weather?"],
          cwd: home,
          env: { CODEX_HOME: home, CODEX_OSS_BASE_URL: `${url}/v1` },
          stdin: "null",
        },
      ).output();
      const [said, errors] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
      if (code !== 0 || !said.includes("It is sunny.")) return said + errors;
    }
    return undefined;
  };
}

/** Runs a program in a folder; returns what it said where it failed, or is not available. */
async function inFolder(
  cwd: string,
  [program, ...args]: readonly string[],
  env: Record<string, string> = {},
): Promise<string | undefined> {
  try {
    const key = { ANTHROPIC_API_KEY: "none" };
    const { success, stdout, stderr } = await new Deno.Command(program, {
      args,
      cwd,
      env: { ...key, ...env },
      stdin: "null",
    }).output();
    const decoder = new TextDecoder();
    return success ? undefined : decoder.decode(stdout) + decoder.decode(stderr);
  } catch (error) {
    return String(error);
  }
}

for (const { name, shows, install } of CLIENTS) {
  // What installs packages holds files open for longer than one test.
  Deno.test(`${name}: ${shows}`, { sanitizeResources: false }, async (t) => {
    const run = await install();
    // Why was said.
    await t.step({
      name: "against m40 serve",
      ignore: run === undefined,
      fn: () => withScript(async (url) => assertEquals(await run!(url), undefined)),
    });
  });
}
