/**
 * Architectures that differ from Llama in what a {@link decoder}'s options say.
 *
 * @module
 */
import { decoder } from "./decoder.ts";

/**
 * Llama and what is built like it (Touvron et al. 2023, arXiv:2302.13971): RMS norms, grouped-query
 * attention with rotary positions, a SiLU-gated feed-forward layer, and, where the file has experts,
 * Mixtral's mixture of them (Jiang et al. 2024, arXiv:2401.04088).
 */
export const llama = decoder("llama", {
  rope: "interleaved",
  experts: { layers: "optional", score: "softmax", normalise: true },
});

/** InternLM 2 and 2.5 (Cai et al. 2024, arXiv:2403.17297): Llama under another name. */
export const internlm2 = { ...llama, name: "internlm2" };

/** ERNIE 4.5's dense models (Baidu 2025): Llama. */
export const ernie4_5 = decoder("ernie4_5", { rope: "interleaved" });

/**
 * Its mixtures of experts, chosen with a bias that is added to softmax's scores; a few layers without experts first,
 * and then every so many with them.
 */
export const ernie4_5Moe = decoder("ernie4_5-moe", {
  rope: "interleaved",
  experts: { layers: "in turn", score: "softmax", normalise: true },
});

/** Ministral 3 (Mistral AI 2025): Llama, with YaRN and attention that gets sharper far into a text. */
export const mistral3 = decoder("mistral3", { rope: "interleaved", temperature: true });

/** AFM (Arcee 2025): Llama, with a squared ReLU instead of a gate. */
export const arcee = decoder("arcee", {
  rope: "interleaved",
  activation: "relu_squared",
  gated: "none",
});

/**
 * ChatGLM 3, GLM-4 and GLM-Edge (GLM Team 2024, arXiv:2406.12793): Llama with gate and up in one weight, where half of
 * each head is rotated.
 */
export const chatglm = decoder("chatglm", { rope: "interleaved", gated: "up" });

/** Gemma (Gemma Team 2024, arXiv:2403.08295): Llama with GELU, and embeddings multiplied by sqrt(hidden size). */
export const gemma = decoder("gemma", {
  rope: "halves",
  activation: "gelu_tanh",
  scaledEmbeddings: true,
});

/** EXAONE 3 and 3.5 (LG AI Research 2024, arXiv:2408.03541): Llama, but for which values of a head are rotated together. */
export const exaone = decoder("exaone", { rope: "halves" });

/**
 * EXAONE 4 (LG AI Research 2025, arXiv:2507.11407): norms after every part and none before, and of each head's q and
 * k. The 32B model has windows in three of four layers; the fourth sees everything, and no positions.
 */
export const exaone4 = decoder("exaone4", {
  norms: "after",
  rope: "halves",
  headNorms: "before",
  windows: { period: 4 },
  positions: "beside windows",
});

/**
 * Qwen 1.5, 2 and 2.5 (Yang et al. 2024, arXiv:2407.10671): Llama, but for biases of q, k and v and for which
 * values of a head are rotated together.
 */
export const qwen2 = decoder("qwen2", { rope: "halves" });

/** The language model of Qwen 2 and 2.5 VL: a token of text has one position, as in Qwen 2. */
export const qwen2vl = { ...qwen2, name: "qwen2vl" };

/**
 * Qwen 1.5 and 2's mixtures of experts (Yang et al. 2024, arXiv:2407.10671). The weights of the chosen experts do not
 * add up to 1, and a gate multiplies the shared expert.
 */
export const qwen2moe = decoder("qwen2moe", {
  rope: "halves",
  experts: { layers: "all gated", score: "softmax", normalise: false },
});

/** Seed-OSS (ByteDance 2025): Qwen 2, with another name for the norm before the feed-forward layer. */
export const seedOss = decoder("seed_oss", { rope: "halves", secondNorm: "post_attention_norm" });

/** Qwen 3 (Yang et al. 2025, arXiv:2505.09388): norms of each head's q and k, no biases. */
export const qwen3 = decoder("qwen3", { rope: "halves", headNorms: "before" });

/** The language model of Qwen 3 VL: a token of text has one position, as in Qwen 3. */
export const qwen3vl = { ...qwen3, name: "qwen3vl" };

/** The mixtures of experts of Qwen 3 (Yang et al. 2025, arXiv:2505.09388). */
export const qwen3moe = decoder("qwen3moe", {
  rope: "halves",
  headNorms: "before",
  experts: { layers: "all", score: "softmax", normalise: true },
});

/** Those of Qwen 3 VL. */
export const qwen3vlmoe = { ...qwen3moe, name: "qwen3vlmoe" };

/**
 * Mellum 2 (JetBrains 2026): Qwen 3's experts, with windows in three of four layers, whose positions have a base of
 * their own and are not scaled.
 */
export const mellum = decoder("mellum", {
  rope: "halves",
  headNorms: "before",
  windows: { period: 4 },
  positions: "unscaled",
  experts: { layers: "all", score: "softmax", normalise: true },
});

/** Hunyuan's dense models (Tencent 2025): Llama, with norms of each head's q and k behind their rotation. */
export const hunyuanDense = decoder("hunyuan-dense", { rope: "halves", headNorms: "after" });

/** Its mixture of experts (Hunyuan-A13B), with one that every token has. */
export const hunyuanMoe = decoder("hunyuan-moe", {
  rope: "halves",
  headNorms: "after",
  experts: { layers: "all shared", score: "softmax", normalise: true },
});

/**
 * OLMoE (Muennighoff et al. 2024, arXiv:2409.02060): experts whose shares do not add up to 1; q and k are normalised
 * over all of their heads.
 */
export const olmoe = decoder("olmoe", {
  rope: "halves",
  headNorms: "row",
  experts: { layers: "all", score: "softmax", normalise: false },
});

/** OLMo (Groeneveld et al. 2024, arXiv:2402.00838): Llama, with LayerNorms that have no weights. */
export const olmo = decoder("olmo", {
  norm: "plain",
  rope: "interleaved",
  attention({ parameters }) {
    if (parameters.number("attention.clamp_kqv", 0) <= 0) return {};
    throw parameters.unsupported("attention.clamp_kqv, which keeps q, k and v within bounds");
  },
});

/**
 * OLMo 2 (OLMo Team 2024, arXiv:2501.00656) and 3: norms after every part and none before; q and k are normalised
 * over all of their heads. OLMo 3 has windows in three of four layers, whose positions YaRN does not scale.
 */
export const olmo2 = decoder("olmo2", {
  norms: "after",
  rope: "halves",
  headNorms: "row",
  windows: { period: 4 },
  positions: "unscaled",
});

/**
 * MiniMax M2 (MiniMax 2025): experts chosen by sigmoids and a bias; q and k are normalised over all of their heads,
 * of which a part is rotated.
 */
export const minimaxM2 = decoder("minimax-m2", {
  rope: "halves",
  headNorms: "row",
  experts: { layers: "all", score: "sigmoid", normalise: true },
});

/**
 * gpt-oss (OpenAI 2025, arXiv:2508.10925): experts with biases and a clamped SwiGLU, attention sinks, every other
 * layer with a window of 128 tokens.
 */
export const gptOss = decoder("gpt-oss", {
  rope: "halves",
  attention: () => ({ sinks: true }),
  windows: { period: 2, fallback: 128 },
  // For all its name, the norm before the experts.
  secondNorm: "post_attention_norm",
  activation: "swiglu_clamped",
  experts: { layers: "all", score: "softmax_chosen", normalise: false, alpha: 1.702, limit: 7 },
});

/**
 * DeepSeek's first mixture of experts (Dai et al. 2024, arXiv:2401.06066): many small experts whose weights do not add
 * up to 1, some shared ones, and layers without experts first.
 */
export const deepseek = decoder("deepseek", {
  rope: "interleaved",
  experts: { layers: "later", score: "softmax", normalise: false },
});

/** Ling and Ring 1 and 1.5 (inclusionAI 2025, arXiv:2503.05139): the same; files say that shares are normalised. */
export const bailingmoe = { ...deepseek, name: "bailingmoe" };

/**
 * dots.llm1 (rednote 2025, arXiv:2506.05767): experts chosen by sigmoids and a bias, some that every token has, and
 * layers without experts first.
 */
export const dots1 = decoder("dots1", {
  rope: "halves",
  headNorms: "before",
  experts: { layers: "later", score: "sigmoid", normalise: true },
});

/** Ling 2 and Ring 2 (inclusionAI 2025): dots.llm1, with groups of experts and a part of each head rotated. */
export const bailingmoe2 = { ...dots1, name: "bailingmoe2" };

/**
 * Trinity (Arcee 2025): experts chosen by sigmoids and a bias, norms before and after every part, attention whose
 * result passes a gate; windows in three of four layers, while the fourth sees everything, and no positions.
 */
export const afmoe = decoder("afmoe", {
  norms: "both",
  rope: "halves",
  headNorms: "before",
  attention: () => ({ gated: true }),
  windows: { period: 4 },
  positions: "local",
  experts: { layers: "later", score: "sigmoid", normalise: true },
  scaledEmbeddings: true,
});

/**
 * GLM-4.5, 4.6 and 4.7 (GLM-4.5 Team 2025, arXiv:2508.06471): experts chosen by sigmoids and a bias, a shared expert,
 * and a few layers without experts first.
 */
export const glm4moe = decoder("glm4moe", {
  rope: "halves",
  optionalHeadNorms: "before",
  // For all its name, the norm before the feed-forward layer.
  secondNorm: "post_attention_norm",
  experts: { layers: "later", score: "sigmoid", normalise: true },
});

/** Orion 14B (OrionStar 2024, arXiv:2401.12246): Llama with LayerNorm. */
export const orion = decoder("orion", { norm: "layer", rope: "halves" });

/** Nemotron 3, 4 and Minitron (NVIDIA 2024, arXiv:2402.16819): LayerNorm, and a squared ReLU instead of a gate. */
export const nemotron = decoder("nemotron", {
  norm: "layer",
  rope: "halves",
  activation: "relu_squared",
  gated: "none",
});

/** StarCoder2 (Lozhkov et al. 2024, arXiv:2402.19173): LayerNorm and biases, rotary positions, no gate. */
export const starcoder2 = decoder("starcoder2", {
  norm: "layer",
  rope: "halves",
  activation: "gelu_tanh",
  gated: "none",
});

/** GPT-2 (Radford et al. 2019): LayerNorm, biases everywhere, a table of positions. */
export const gpt2 = decoder("gpt2", {
  norm: "layer",
  rope: "none",
  activation: "gelu_tanh",
  gated: "none",
});

/** StarCoder (Li et al. 2023, arXiv:2305.06161): GPT-2 with one KV head. */
export const starcoder = { ...gpt2, name: "starcoder" };

/**
 * Phi 1, 1.5 and 2 (Microsoft 2023, arXiv:2309.05463): attention and feed-forward layer see the same norm of the
 * stream, side by side; biases everywhere, and a part of each head is rotated.
 */
export const phi2 = decoder("phi2", {
  norm: "layer",
  rope: "halves",
  parallel: true,
  activation: "gelu_tanh",
  gated: "none",
});

/**
 * Command R (Cohere 2024): attention and feed-forward layer see the same norm of the stream, side by side; the
 * logits have a multiplier. Command R+ normalises the heads of q and k.
 */
export const commandR = decoder("command-r", {
  norm: "layer",
  rope: "interleaved",
  optionalHeadNorms: "own",
  parallel: true,
  logits: ({ parameters }) => ({ scale: parameters.positive("logit_scale", 1) }),
});

/**
 * Command R7B and Command A (Cohere 2025, arXiv:2504.00698): Command R with a window in three of four layers; the
 * fourth sees everything, and no positions.
 */
export const cohere2 = decoder("cohere2", {
  norm: "layer",
  rope: "interleaved",
  windows: { period: 4, fallback: 4096 },
  positions: "local",
  parallel: true,
  logits: ({ parameters }) => ({ scale: parameters.positive("logit_scale", 1) }),
});

/**
 * StableLM (Stability AI 2023): Llama with LayerNorm, where a part of each head is rotated. StableLM 2 12B has
 * attention and feed-forward layer side by side, behind one norm, and a norm for each head of q and k.
 */
export const stablelm = decoder("stablelm", {
  norm: "layer",
  rope: "halves",
  optionalHeadNorms: "own",
  parallel: "unless normed",
});
