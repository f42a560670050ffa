"""The goldens' models: small, with what is special about each architecture switched on."""

from dataclasses import dataclass, field
from typing import Any, Callable

import transformers

from convert import N_VOCABULARY
from modules import with_blocks, with_experts, with_plain_norms
from published import (
    as_bailing_moe,
    as_bailing_moe_2,
    as_deci,
    as_deepseek,
    as_exaone,
    as_gpt_neox,
    as_internlm2,
    as_minicpm,
    as_minimax_m2,
    as_orion,
    as_published,
    as_stablelm,
)

HEAD_DIM = 16


@dataclass(frozen=True)
class Definition:
    name: str
    config_class: Any
    model: Any
    options: dict
    note: str = ""
    # What changes the model before its weights are set.
    adjust: Callable | None = None
    # Writes the model as it was published.
    save: Callable = as_published
    # Metadata that the converter does not write.
    keys: dict = field(default_factory=dict)
    # Parts of names of tensors that may be forgotten without much harm.
    silent: tuple = ("k_proj.bias",)

    def config(self):
        return self.config_class(**self.options)


def options(layers=2, heads=4, kv_heads=2, head_dim=HEAD_DIM, **others):
    """Of most configurations; models whose heads divide the hidden size say so with head_dim None."""
    common = {
        "vocab_size": N_VOCABULARY,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "max_position_embeddings": 128,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": None,
        "tie_word_embeddings": False,
    }
    if head_dim is None:
        common |= {"num_attention_heads": 2, "num_key_value_heads": min(kv_heads, 2)}
    else:
        common |= {"head_dim": head_dim}
    return common | others


def rope(theta=10000.0, **others):
    return {"rope_type": "default", "rope_theta": theta, **others}


def seeing(text, **vision):
    """A model with a part that sees, as small as it can be: text does not use it."""
    tower = {"depth": 1, "hidden_size": 16, "intermediate_size": 16, "num_heads": 1, "patch_size": 2}
    return {"text_config": text, "vision_config": tower | vision, "tie_word_embeddings": False}


DEFINITIONS = [
    Definition(
        "llama4",
        transformers.Llama4TextConfig,
        transformers.Llama4ForCausalLM,
        options(
            layers=4,
            intermediate_size=24,
            intermediate_size_mlp=48,
            num_local_experts=4,
            interleave_moe_layer_step=2,
            attention_chunk_size=8,
            floor_scale=4,
            attn_scale=0.3,
            rope_parameters=rope(500000.0),
        ),
        note="chunks of 8 tokens; every fourth layer without rope, with temperature; dense and expert layers in turn",
        keys={
            "llama4.attention.sliding_window": 8,
            "llama4.attention.temperature_length": 4,
            "llama4.attention.temperature_scale": 0.3,
        },
    ),
    Definition(
        "qwen2moe",
        transformers.Qwen2MoeConfig,
        transformers.Qwen2MoeForCausalLM,
        options(
            head_dim=None,
            kv_heads=1,
            moe_intermediate_size=24,
            shared_expert_intermediate_size=40,
            num_experts=6,
            num_experts_per_tok=2,
            rope_parameters=rope(1e6),
        ),
        note="a gated shared expert; the experts' shares do not add up to 1",
    ),
    Definition(
        "ernie4_5",
        transformers.Ernie4_5Config,
        transformers.Ernie4_5ForCausalLM,
        options(tie_word_embeddings=True, rope_parameters=rope(500000.0)),
    ),
    Definition(
        "ernie4_5-moe",
        transformers.Ernie4_5_MoeConfig,
        transformers.Ernie4_5_MoeForCausalLM,
        options(
            head_dim=None,
            kv_heads=1,
            layers=3,
            tie_word_embeddings=True,
            moe_intermediate_size=24,
            moe_k=2,
            moe_num_experts=6,
            moe_num_shared_experts=2,
            moe_layer_start_index=1,
            moe_layer_interval=1,
            rope_parameters=rope(500000.0),
        ),
    ),
    Definition(
        "hunyuan-dense",
        transformers.HunYuanDenseV1Config,
        transformers.HunYuanDenseV1ForCausalLM,
        options(tie_word_embeddings=True, rope_parameters=rope()),
        note="q and k are normalised after the rotation",
    ),
    Definition(
        "hunyuan-moe",
        transformers.HunYuanMoEV1Config,
        transformers.HunYuanMoEV1ForCausalLM,
        options(
            intermediate_size=24,
            num_experts=5,
            moe_topk=[2, 2],
            moe_intermediate_size=[24, 24],
            num_shared_expert=[1, 1],
            tie_word_embeddings=True,
            rope_parameters=rope(),
        ),
        note="q and k are normalised after the rotation",
    ),
    Definition(
        "exaone4",
        transformers.Exaone4Config,
        transformers.Exaone4ForCausalLM,
        options(layers=4, sliding_window=8, sliding_window_pattern=4, rope_parameters=rope(1e6)),
        note="post norms; a window of 8 in three of four layers, no rope in the fourth",
    ),
    Definition(
        "exaone4-full",
        transformers.Exaone4Config,
        transformers.Exaone4ForCausalLM,
        options(
            sliding_window=None, layer_types=["full_attention"] * 2, tie_word_embeddings=True, rope_parameters=rope(1e6)
        ),
        note="as the 1.2B: no windows, rope everywhere",
    ),
    Definition(
        "seed_oss",
        transformers.SeedOssConfig,
        transformers.SeedOssForCausalLM,
        options(attention_dropout=0.0, residual_dropout=0.0, rope_parameters=rope(1e7)),
    ),
    Definition(
        "phi2",
        transformers.PhiConfig,
        transformers.PhiForCausalLM,
        options(head_dim=None, intermediate_size=128, rope_parameters=rope(partial_rotary_factor=0.5)),
    ),
    Definition(
        "gptneox",
        transformers.GPTNeoXConfig,
        transformers.GPTNeoXForCausalLM,
        options(head_dim=None, rope_parameters=rope(partial_rotary_factor=0.25)),
        save=as_gpt_neox,
    ),
    Definition(
        "gptneox-serial",
        transformers.GPTNeoXConfig,
        transformers.GPTNeoXForCausalLM,
        options(head_dim=None, use_parallel_residual=False, rope_parameters=rope(partial_rotary_factor=0.5)),
        note="attention before the feed-forward",
        save=as_gpt_neox,
    ),
    Definition(
        "falcon",
        transformers.FalconConfig,
        transformers.FalconForCausalLM,
        options(head_dim=None, num_kv_heads=1, rope_parameters=rope()),
        note="as the 7B: one KV head, one norm",
    ),
    Definition(
        "falcon-two-norms",
        transformers.FalconConfig,
        transformers.FalconForCausalLM,
        options(
            head_dim=None, num_attention_heads=4, num_kv_heads=2, new_decoder_architecture=True, rope_parameters=rope()
        ),
        note="as the 40B: grouped KV heads, a norm each for attention and feed-forward",
    ),
    Definition(
        "stablelm",
        transformers.StableLmConfig,
        transformers.StableLmForCausalLM,
        options(head_dim=None, use_qkv_bias=True, rope_parameters=rope(partial_rotary_factor=0.25)),
        note="as the 1.6B: biases, attention before the feed-forward",
    ),
    Definition(
        "stablelm-parallel",
        transformers.StableLmConfig,
        transformers.StableLmForCausalLM,
        options(
            head_dim=None,
            kv_heads=1,
            use_parallel_residual=True,
            qk_layernorm=True,
            rope_parameters=rope(partial_rotary_factor=0.25),
        ),
        note="as the 12B: a norm for each head of q and k, attention beside the feed-forward",
        save=as_stablelm,
    ),
    Definition(
        "internlm2",
        transformers.LlamaConfig,
        transformers.LlamaForCausalLM,
        options(head_dim=None, kv_heads=1, rope_parameters=rope(1e6)),
        save=as_internlm2,
    ),
    Definition(
        "nemotron",
        transformers.NemotronConfig,
        transformers.NemotronForCausalLM,
        options(head_dim=None, kv_heads=1, rope_parameters=rope(partial_rotary_factor=0.5)),
    ),
    Definition(
        "olmo",
        transformers.OlmoConfig,
        transformers.OlmoForCausalLM,
        options(head_dim=None, rope_parameters=rope()),
        note="norms without weights",
    ),
    Definition(
        "olmoe",
        transformers.OlmoeConfig,
        transformers.OlmoeForCausalLM,
        options(
            head_dim=None,
            kv_heads=1,
            intermediate_size=24,
            num_experts=6,
            num_experts_per_tok=2,
            rope_parameters=rope(),
        ),
        note="q and k are normalised over their full width; the experts' shares do not add up to 1",
    ),
    Definition(
        "dots1",
        transformers.Dots1Config,
        transformers.Dots1ForCausalLM,
        options(
            layers=3,
            moe_intermediate_size=24,
            n_shared_experts=2,
            n_routed_experts=6,
            num_experts_per_tok=2,
            first_k_dense_replace=1,
            norm_topk_prob=True,
            routed_scaling_factor=2.5,
            sliding_window=None,
            rope_parameters=rope(1e7),
        ),
        note="sigmoid routing with a bias for the choice",
    ),
    Definition(
        "bailingmoe2",
        transformers.Glm4MoeConfig,
        transformers.Glm4MoeForCausalLM,
        options(
            layers=3,
            moe_intermediate_size=16,
            n_shared_experts=1,
            n_routed_experts=8,
            num_experts_per_tok=2,
            n_group=4,
            topk_group=2,
            first_k_dense_replace=1,
            routed_scaling_factor=2.5,
            use_qk_norm=True,
            num_mtp_layers=0,
            rope_parameters=rope(600000.0, partial_rotary_factor=0.5),
        ),
        note="sigmoid routing with groups and a bias for the choice; half of a head is rotated",
        save=as_bailing_moe_2,
    ),
    Definition(
        "arcee",
        transformers.ArceeConfig,
        transformers.ArceeForCausalLM,
        options(rope_parameters=rope()),
        note="squared ReLU",
    ),
    Definition(
        "exaone",
        transformers.LlamaConfig,
        transformers.LlamaForCausalLM,
        options(head_dim=None, kv_heads=1, tie_word_embeddings=True, rope_parameters=rope(1e6)),
        save=as_exaone,
    ),
    Definition(
        "minicpm",
        transformers.GraniteConfig,
        transformers.GraniteForCausalLM,
        options(
            head_dim=None,
            kv_heads=1,
            tie_word_embeddings=True,
            embedding_multiplier=12.0,
            residual_multiplier=1.4 / 2**0.5,
            logits_scaling=2.0,
            attention_multiplier=HEAD_DIM**-0.5,
            rope_parameters=rope(),
        ),
        save=as_minicpm,
    ),
    Definition(
        "orion",
        transformers.LlamaConfig,
        transformers.LlamaForCausalLM,
        options(head_dim=None, kv_heads=1, rope_parameters=rope()),
        note="Llama with LayerNorm",
        adjust=with_plain_norms,
        save=as_orion,
    ),
    Definition(
        "gemma",
        transformers.GemmaConfig,
        transformers.GemmaForCausalLM,
        options(tie_word_embeddings=True, kv_heads=1, rope_parameters=rope()),
    ),
    Definition(
        "starcoder",
        transformers.GPTBigCodeConfig,
        transformers.GPTBigCodeForCausalLM,
        {
            "vocab_size": N_VOCABULARY,
            "n_positions": 128,
            "n_embd": 32,
            "n_layer": 2,
            "n_head": 2,
            "n_inner": 128,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "pad_token_id": None,
        },
        note="one KV head, learned positions",
        silent=("c_attn.bias",),
    ),
    Definition(
        "minimax-m2",
        transformers.MiniMaxM2Config,
        transformers.MiniMaxM2ForCausalLM,
        options(
            intermediate_size=24,
            num_local_experts=6,
            num_experts_per_tok=2,
            rope_parameters=rope(5e6, partial_rotary_factor=0.5),
        ),
        note="q and k are normalised over their full width; half of a head is rotated",
        save=as_minimax_m2,
    ),
    Definition(
        "chatglm",
        transformers.GlmConfig,
        transformers.GlmForCausalLM,
        options(
            head_dim=None,
            kv_heads=1,
            seq_length=128,
            rms_norm_eps=1e-5,
            rope_parameters=rope(partial_rotary_factor=0.5),
        )
        | {"head_dim": HEAD_DIM},
        note="half of a head is rotated, gate and up are one weight",
    ),
    Definition(
        "qwen2vl",
        transformers.Qwen2_5_VLConfig,
        transformers.Qwen2_5_VLForConditionalGeneration,
        seeing(
            options(
                head_dim=None,
                kv_heads=1,
                rope_parameters=rope(1e6, mrope_section=[2, 3, 3]),
            ),
            out_hidden_size=32,
        ),
        note="text alone: all three positions of a token are the same",
        silent=("k_proj.bias", "visual."),
    ),
    Definition(
        "qwen3vl",
        transformers.Qwen3VLConfig,
        transformers.Qwen3VLForConditionalGeneration,
        seeing(
            options(rope_parameters=rope(5e6, mrope_section=[4, 2, 2], mrope_interleaved=True)),
            out_hidden_size=32,
            deepstack_visual_indexes=[0],
        ),
        note="text alone: all three positions of a token are the same",
        silent=("visual.",),
    ),
    Definition(
        "granitemoe-shared",
        transformers.GraniteMoeSharedConfig,
        transformers.GraniteMoeSharedForCausalLM,
        options(
            head_dim=None,
            kv_heads=1,
            intermediate_size=24,
            num_local_experts=4,
            num_experts_per_tok=2,
            shared_intermediate_size=40,
            tie_word_embeddings=True,
            embedding_multiplier=12.0,
            residual_multiplier=0.22,
            logits_scaling=6.0,
            attention_multiplier=0.2,
            rope_parameters=rope(),
        ),
        note="an expert that every token has",
    ),
    Definition(
        "afmoe",
        transformers.AfmoeConfig,
        transformers.AfmoeForCausalLM,
        options(
            layers=4,
            moe_intermediate_size=16,
            num_dense_layers=1,
            num_experts=4,
            num_experts_per_tok=2,
            num_shared_experts=1,
            route_scale=2.5,
            sliding_window=8,
            global_attn_every_n_layers=4,
            mup_enabled=True,
            rope_parameters=rope(),
        ),
        note="what was attended passes a gate; norms before and after; a window of 8 in three of four layers",
    ),
    Definition(
        "mellum",
        transformers.MellumConfig,
        transformers.MellumForCausalLM,
        options(
            layers=4,
            moe_intermediate_size=16,
            num_experts=4,
            num_experts_per_tok=2,
            sliding_window=8,
            layer_types=["sliding_attention"] * 3 + ["full_attention"],
            rope_parameters={
                "sliding_attention": rope(),
                "full_attention": {
                    "rope_type": "yarn",
                    "rope_theta": 500000.0,
                    "factor": 4.0,
                    "original_max_position_embeddings": 32,
                    "beta_fast": 32.0,
                    "beta_slow": 1.0,
                },
            },
        ),
        note="a window of 8 in three of four layers; YaRN in the fourth",
    ),
    Definition(
        "deepseek2-lite",
        transformers.DeepseekV2Config,
        transformers.DeepseekV2ForCausalLM,
        options(
            layers=3,
            head_dim=None,
            num_attention_heads=4,
            num_key_value_heads=4,
            q_lora_rank=None,
            kv_lora_rank=24,
            qk_nope_head_dim=16,
            qk_rope_head_dim=8,
            v_head_dim=12,
            moe_intermediate_size=24,
            n_shared_experts=2,
            n_routed_experts=6,
            num_experts_per_tok=2,
            topk_method="greedy",
            norm_topk_prob=False,
            routed_scaling_factor=1.0,
            first_k_dense_replace=1,
            rope_parameters=rope(
                rope_type="yarn",
                factor=16.0,
                original_max_position_embeddings=8,
                beta_fast=0.5,
                beta_slow=0.05,
                mscale=0.707,
                mscale_all_dim=0.707,
            ),
        ),
        note="as V2-Lite: queries without a latent vector, softmax routing, YaRN with a part of its magnitude in the scale",
    ),
    Definition(
        "deepseek2-v3",
        transformers.DeepseekV3Config,
        transformers.DeepseekV3ForCausalLM,
        options(
            layers=3,
            head_dim=None,
            num_attention_heads=4,
            num_key_value_heads=4,
            q_lora_rank=20,
            kv_lora_rank=24,
            qk_nope_head_dim=16,
            qk_rope_head_dim=8,
            v_head_dim=12,
            moe_intermediate_size=16,
            n_shared_experts=1,
            n_routed_experts=8,
            num_experts_per_tok=2,
            n_group=4,
            topk_group=2,
            norm_topk_prob=True,
            routed_scaling_factor=2.5,
            first_k_dense_replace=1,
            rope_parameters=rope(
                rope_type="yarn",
                factor=16.0,
                original_max_position_embeddings=8,
                beta_fast=0.5,
                beta_slow=0.05,
                mscale=1.0,
                mscale_all_dim=1.0,
            ),
        ),
        note="as V3: sigmoid routing with groups and a bias for the choice, YaRN",
    ),
    Definition(
        "command-r-plus",
        transformers.CohereConfig,
        transformers.CohereForCausalLM,
        options(
            head_dim=None,
            num_attention_heads=4,
            use_qk_norm=True,
            logit_scale=0.5,
            tie_word_embeddings=True,
            rope_parameters=rope(),
        ),
        note="as Command R+: a norm for each head of q and k",
    ),
    Definition(
        "phi3-long",
        transformers.Phi3Config,
        transformers.Phi3ForCausalLM,
        options(
            head_dim=None,
            kv_heads=1,
            original_max_position_embeddings=8,
            rope_parameters=rope(
                rope_type="longrope",
                short_factor=[1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7],
                long_factor=[1.0, 1.5, 2.0, 4.0, 6.0, 8.0, 12.0, 16.0],
                original_max_position_embeddings=8,
            ),
        ),
        note="factors for contexts beyond the original one",
    ),
    Definition(
        "deepseek",
        transformers.LlamaConfig,
        transformers.LlamaForCausalLM,
        options(head_dim=None, kv_heads=1, layers=3, rope_parameters=rope()),
        note="the experts' shares do not add up to 1; experts that every token has",
        adjust=with_experts(dense=1, width=16, experts=6, used=2, shared=2, normalise=False),
        save=as_deepseek,
    ),
    Definition(
        "bailingmoe",
        transformers.LlamaConfig,
        transformers.LlamaForCausalLM,
        options(head_dim=None, kv_heads=1, rope_parameters=rope(600000.0)),
        note="experts that every token has",
        adjust=with_experts(width=16, experts=6, used=2, shared=1, normalise=True),
        save=as_bailing_moe,
    ),
    Definition(
        "deci",
        transformers.LlamaConfig,
        transformers.LlamaForCausalLM,
        options(layers=4, hidden_size=16, heads=2, kv_heads=1, head_dim=8, rope_parameters=rope(500000.0)),
        note="a layer with a product in the place of attention, one with nothing, feed-forward layers of several widths",
        adjust=with_blocks,
        save=as_deci,
    ),
]
