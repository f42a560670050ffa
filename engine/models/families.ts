/**
 * Every architecture that there is, and nothing else.
 *
 * @module
 */
export * from "./cohere2moe.ts";
export * from "./deci.ts";
export * from "./decoders.ts";
export * from "./deepseek2.ts";
export * from "./falcon.ts";
export * from "./gemma3.ts";
export * from "./gemma4.ts";
export * from "./glm4.ts";
export * from "./gptneox.ts";
export * from "./granite.ts";
export * from "./lfm2.ts";
export * from "./llama4.ts";
export * from "./mamba2.ts";
export * from "./minicpm.ts";
export * from "./muse_glimmer.ts";
export * from "./nemotron_h.ts";
export * from "./phi3.ts";
export * from "./qwen35.ts";
export * from "./smollm3.ts";
