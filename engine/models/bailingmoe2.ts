import { dots1 } from "./dots1.ts";
import type { Architecture } from "./model.ts";

/** Ling 2 and Ring 2 (inclusionAI 2025): dots.llm1, with groups of experts and a part of each head rotated. */
export const bailingmoe2: Architecture = { name: "bailingmoe2", read: dots1.read };
