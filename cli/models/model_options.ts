import {
  choice,
  devices,
  integer,
  MODELS,
  option,
  type OptionValues,
  override,
  repeatable,
  text,
} from "../arguments/mod.ts";
import { Progress, warn } from "../terminal/mod.ts";
import { BUILT_IN_TEMPLATES, TemplateFile } from "../../engine/chat/mod.ts";
import { recordDefaults, resolveModel, type StoredModel } from "../../engine/store/mod.ts";
import { M40Error } from "../../engine/errors.ts";
import type {
  Arithmetic,
  Engine,
  EngineOptions,
  Executor,
  KvType,
  Split,
} from "../../engine/mod.ts";
import { systemReason } from "../../engine/system_error.ts";
import { type PULL_OPTION, storedOrPulled } from "./missing_model.ts";

/** The argument that names a model. */
export const MODEL_ARGUMENT = {
  name: "MODEL",
  help: "A model's name (m40 list) or the path of a GGUF file",
  required: true,
  completes: MODELS,
} as const;

/** The device a model runs on and how its KV cache is held. */
export const DEVICE_OPTIONS = {
  device: option(
    devices(),
    "Where to compute; auto takes a GPU if there is one; a model is split over a list of GPUs",
    { default: "auto" },
  ),
  "kv-type": option(choice<KvType>("f16", "f32", "q8_0"), "The type of the KV cache's values", {
    default: "f16",
  }),
};

async function preTokenizers(): Promise<readonly string[]> {
  // Here, not above: without such a name there is no wait for the rules.
  const { PRE_TOKENIZERS } = await import("../../engine/tokenizer/pre_tokenizers.ts");
  return [...PRE_TOKENIZERS.keys()];
}

/** What of a file's metadata is taken otherwise. */
export const OVERRIDE_OPTIONS = {
  override: repeatable(
    override(),
    "Replaces a value of the file's metadata without rewriting the file: " +
      "KEY=VALUE of the key's type (arrays as JSON), or KEY=TYPE:VALUE with int, float, bool or string",
  ),
};

/** How the vocabulary is read. */
export const TOKENIZER_OPTIONS = {
  ...OVERRIDE_OPTIONS,
  "pre-tokenizer": option(
    text("NAME", { words: preTokenizers }),
    "The rules that cut text into words; default: the file's (tokenizer.ggml.pre)",
  ),
};

/** How conversations become prompts. */
export const CHAT_OPTIONS = {
  "chat-template": option(
    text("NAME|FILE", { words: () => [...BUILT_IN_TEMPLATES.keys()], lookUp: "files" }),
    "A built-in chat template's name, or a file with one (Jinja); default: the model's own",
  ),
};

/** What every command that runs a model takes. */
export const MODEL_OPTIONS = {
  ctx: option(
    integer(1, 2 ** 24),
    "Tokens of one sequence, prompt and answer together; default: what the model was trained for, as far as memory allows",
  ),
  threads: option(integer(1, 1024), "Threads on the CPU; default: one a physical core"),
  executor: option(
    choice<Executor>("auto", "launches", "graphs", "resident"),
    "How a GPU decodes: kernel launches, CUDA graphs, or a persistent kernel (resident); auto measures which is fastest",
    { default: "auto" },
  ),
  arithmetic: option(
    choice<Arithmetic>("exact", "packed"),
    "How products with quantised weights are computed: in FP32 (exact), or, with weights of up to 4 bits, from " +
      "activations rounded to integers (packed), which is faster on a Tesla M40 and less accurate",
    { default: "exact" },
  ),
  ...TOKENIZER_OPTIONS,
  ...DEVICE_OPTIONS,
  split: option(
    choice<Split>("auto", "layers", "rows"),
    "How a model is split over a list of GPUs: each has some layers (pipeline parallel), or a slice of every layer " +
      "(rows: tensor parallel), which also makes one answer faster; auto takes rows if the GPUs exchange them fast enough",
    { default: "auto" },
  ),
};

/**
 * For a command that sends one request after the other: no sequence is ever preempted. So no host memory is reserved
 * for swapping, which on a GPU would take most of a second.
 */
export const ALONE = { parallel: 1, hostCacheBytes: 0 } as const;

/** A model in memory and the file it came from. */
export interface LoadedModel {
  readonly engine: Engine;
  readonly stored: StoredModel;
}

/** Says why the CPU computes, where a GPU might have; for commands to which that matters. */
export function sayFallback(reason: string): void {
  warn(`No GPU is used: ${reason.replace(/\.$/, "")}. Computing on the CPU.`);
}

/** Says that what is served is not counted as it should be. */
export function sayObserverError(error: unknown): void {
  const reason = error instanceof Error ? error.stack ?? error.message : String(error);
  warn(`Metrics may be wrong from now on; counting failed: ${reason}`);
}

/** The file that is named, which may be edited; the name itself where there is no such file. */
export async function chatTemplate(
  nameOrPath?: string,
): Promise<string | TemplateFile | undefined> {
  if (nameOrPath === undefined) return undefined;
  try {
    return await TemplateFile.open(nameOrPath);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound && !/[./]/.test(nameOrPath)) return nameOrPath;
    throw new M40Error(
      "io",
      `the chat template ${nameOrPath} cannot be read: ${
        systemReason(error)
      }. Wanted a file, or one of ` +
        `${[...BUILT_IN_TEMPLATES.keys()].join(", ")}.`,
      "chat_template",
    );
  }
}

/** What a model is loaded with in addition to the options. */
export type ExtraOptions = Omit<
  EngineOptions,
  | "name"
  | "device"
  | "contextTokens"
  | "threads"
  | "kvType"
  | "arithmetic"
  | "executor"
  | "split"
  | "chatTemplate"
  | "preTokenizer"
  | "overrides"
  | "onWarning"
  | "onProgress"
>;

/** The options that say how a model is loaded. */
export type LoadOptions =
  & OptionValues<typeof MODEL_OPTIONS>
  & Partial<OptionValues<typeof CHAT_OPTIONS>>;

/** Loads a model by its name or path, with a progress bar; of a command with `--pull` fetches it before. */
export async function loadModel(
  nameOrPath: string,
  options: LoadOptions & Partial<OptionValues<typeof PULL_OPTION>>,
  extra: ExtraOptions = {},
): Promise<LoadedModel> {
  const { pull, device } = options;
  const stored = pull === undefined
    ? await resolveModel(nameOrPath)
    : await storedOrPulled(nameOrPath, { pull, device });
  return { engine: await loadStored(stored, options, extra), stored };
}

/** Loads a model that was found, with a progress bar. */
export async function loadStored(
  stored: StoredModel,
  options: LoadOptions,
  extra: ExtraOptions = {},
): Promise<Engine> {
  if (stored.recordProblem !== undefined) warn(stored.recordProblem);
  // Here, not above: commands without a model start faster and need no kernel library.
  const { Engine } = await import("../../engine/mod.ts");
  await using progress = new Progress(`loading ${stored.name}`);
  const recorded = recordDefaults(stored.record, warn);
  return await Engine.load(stored.path, {
    name: stored.name,
    device: options.device,
    contextTokens: options.ctx,
    threads: options.threads,
    kvType: options["kv-type"],
    arithmetic: options.arithmetic,
    executor: options.executor,
    split: options.split,
    preTokenizer: options["pre-tokenizer"],
    overrides: options.override,
    onWarning: warn,
    chatTemplate: await chatTemplate(options["chat-template"]),
    onProgress: (done, total) => progress.update(done, total),
    ...extra,
    defaults: {
      ...recorded,
      ...extra.defaults,
      sampling: { ...recorded?.sampling, ...extra.defaults?.sampling },
    },
  });
}
