import type { ChatFormat } from "./chat/chat_format.ts";
import { loadChat } from "./chat/load.ts";
import { parseDeviceList } from "./device/device_list.ts";
import { type EngineOptions, type ServingOptions, servingOptions } from "./engine_options.ts";
import { type ModelSource, readModelSource } from "./model_source.ts";
import { type PlacedReplica, planReplicas } from "./replicas/load.ts";
import { type PlacedModel, planModel } from "./placed_model.ts";

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
  const planned = await (options.replicas ? planReplicas : planModel)(source, devices, options);
  let chat: ChatFormat | undefined;
  try {
    chat = loadChat(source.gguf.metadata, source.tokenizer, options.chatTemplate, {
      contextTokens: planned.contextTokens,
      system: options.defaults?.system,
      onWarning: options.onWarning,
    });
  } catch (error) {
    await planned.close();
    throw error;
  }
  const placed = await planned.place(options.onProgress);
  return { source, chat, placed, serving, close: planned.close };
}
