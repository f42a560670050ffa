import type { ChatFormat } from "./chat/chat_format.ts";
import { loadChat } from "./chat/load.ts";
import { parseDeviceList } from "./device/device_list.ts";
import { type EngineOptions, type ServingOptions, servingOptions } from "./engine_options.ts";
import { type ModelSource, readModelSource } from "./model_source.ts";
import { type PlacedModel, planModel } from "./placed_model.ts";

/** A model on a device, ready to run. */
export interface LoadedModel {
  readonly source: ModelSource;
  /** How conversations become prompts, where there is a template. */
  readonly chat?: ChatFormat;
  readonly placed: PlacedModel;
  readonly serving: ServingOptions;
}

/** Loads a GGUF file; fails as {@link Engine.load} does. */
export async function loadModel(path: string, options: EngineOptions): Promise<LoadedModel> {
  const source = await readModelSource(path, options);
  const serving = servingOptions(options);
  const planned = await planModel(source, parseDeviceList(options.device ?? "auto"), options);
  let chat: ChatFormat | undefined;
  try {
    chat = loadChat(source.gguf.metadata, source.tokenizer, options.chatTemplate, {
      contextTokens: planned.plan.contextTokens,
      system: options.defaults?.system,
      onWarning: options.onWarning,
    });
  } catch (error) {
    await planned.close();
    throw error;
  }
  return { source, chat, placed: await planned.place(options.onProgress), serving };
}
