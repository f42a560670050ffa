import { gpt2 } from "./gpt2.ts";
import type { Architecture } from "./model.ts";

/** StarCoder (Li et al. 2023, arXiv:2305.06161): GPT-2 with one KV head. */
export const starcoder: Architecture = { name: "starcoder", read: gpt2.read };
