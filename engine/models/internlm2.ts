import { llama } from "./llama.ts";
import type { Architecture } from "./model.ts";

/** InternLM 2 and 2.5 (Cai et al. 2024, arXiv:2403.17297): Llama under another name. */
export const internlm2: Architecture = { name: "internlm2", read: llama.read };
