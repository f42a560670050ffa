import { type ChatFormat, loadChat } from "./chat/mod.ts";
import { parseDeviceList } from "./device/mod.ts";
import { type ModelSource, type PlacedModel, planModel, readModelSource } from "./loading/mod.ts";
import { type PlacedReplica, planReplicas } from "./parallel/replicas/mod.ts";
import { M40Error } from "./errors.ts";
import { type EngineOptions, type ServingOptions, servingOptions } from "./engine_options.ts";

/** A model on a device, ready to run. */
export interface LoadedModel {
  readonly source: ModelSource;
  /** How conversations become prompts, where there is a template. */
  readonly chat?: ChatFormat;
  /** Or several replicas of it. */
  readonly placed: PlacedModel | readonly PlacedReplica[];
  readonly serving: ServingOptions;
  /** Closes all of it, where no engine was made of it. */
  close(): Promise<void>;
}

/** Loads a GGUF file; fails as {@link Engine.load} does. */
export async function loadModel(path: string, options: EngineOptions): Promise<LoadedModel> {
  const source = await readModelSource(path, options);
  const serving = servingOptions(options);
  const devices = parseDeviceList(options.device ?? "auto");
  checkSplit(devices, options);
  const planned = await (options.replicas ? planReplicas : planModel)(source, devices, options);
  let chat: ChatFormat | undefined;
  try {
    chat = loadChat(source.gguf.metadata, source.tokenizer, options.chatTemplate, {
      contextTokens: planned.contextTokens,
      system: options.defaults?.system,
      messages: options.defaults?.messages,
      onWarning: options.onWarning,
    });
  } catch (error) {
    await planned.close();
    throw error;
  }
  const placed = await planned.place(options.onProgress);
  return { source, chat, placed, serving, close: planned.close };
}

/** What is split is split over several devices. */
function checkSplit(
  devices: readonly string[],
  { split = "auto", replicas }: EngineOptions,
): void {
  if (split === "auto") return;
  if (replicas) {
    throw new M40Error(
      "invalid_request",
      `${split} are to be split, and replicas are wanted, which have the whole model each; wanted one of the two`,
      "split",
    );
  }
  if (devices.length < 2) {
    throw new M40Error(
      "invalid_request",
      `${split} are to be split, and device ${JSON.stringify(devices[0])} is one device; ` +
        "wanted a list of those that the model is to be split over, as cuda:0,1",
      "split",
    );
  }
}
