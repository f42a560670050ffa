"""Saves models as their authors published them: those that transformers does not have are written as Llama, or
another that computes the same, and get the names and the layout of their own.
"""

import json
import re

import torch
from safetensors.torch import load_file, save_file

from float64 import FLOAT32


def as_published(model, folder):
    model.to(FLOAT32).save_pretrained(folder)


def rewrite(model, folder, architecture, change, config_changes):
    """`change` gives the tensors (name -> tensor) of the published model from those of ours."""
    model.config.architectures = [architecture]
    model.to(FLOAT32).save_pretrained(folder)
    path = folder / "model.safetensors"
    tensors = change(load_file(path))
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, path)
    path = folder / "config.json"
    config = json.loads(path.read_text())
    # Without a type that transformers knows the converter takes the file's configuration as it is.
    del config["model_type"]
    config["architectures"] = [architecture]
    config["rope_theta"] = config["rope_parameters"]["rope_theta"]
    path.write_text(json.dumps({**config, **config_changes}))


def renamed(tensors, names):
    """With parts of names replaced, in the order given."""
    result = {}
    for name, tensor in tensors.items():
        for old, new in names.items():
            name = name.replace(old, new)
        result[name] = tensor
    return result


def fused(tensors, parts, into, join=lambda tensors: torch.cat(tensors)):
    """The tensors of a layer whose names end so made into one."""
    result = {}
    for name, tensor in tensors.items():
        if name.endswith(parts[0]):
            base = name.removesuffix(parts[0])
            result[base + into] = join([tensors[base + part] for part in parts])
        elif not name.endswith(tuple(parts)):
            result[name] = tensor
    return result


QKV = ["self_attn.q_proj.weight", "self_attn.k_proj.weight", "self_attn.v_proj.weight"]


def as_internlm2(model, folder):
    config = model.config
    group = config.num_attention_heads // config.num_key_value_heads

    def by_groups(qkv):
        """For each KV head: its queries, its key, its value."""
        q, k, v = (t.view(config.num_key_value_heads, -1, config.head_dim, config.hidden_size) for t in qkv)
        assert q.shape[1] == group
        return torch.cat([q, k, v], dim=1).flatten(0, 2)

    def change(tensors):
        return renamed(
            fused(tensors, QKV, "attention.wqkv.weight", by_groups),
            {
                "embed_tokens": "tok_embeddings",
                "lm_head": "output",
                "self_attn.o_proj": "attention.wo",
                "mlp.gate_proj": "feed_forward.w1",
                "mlp.up_proj": "feed_forward.w3",
                "mlp.down_proj": "feed_forward.w2",
                "input_layernorm": "attention_norm",
                "post_attention_layernorm": "ffn_norm",
            },
        )

    rewrite(model, folder, "InternLM2ForCausalLM", change, {})


def as_exaone(model, folder):
    def change(tensors):
        return renamed(
            tensors,
            {
                "model.embed_tokens": "transformer.wte",
                "model.norm": "transformer.ln_f",
                "model.layers": "transformer.h",
                "input_layernorm": "ln_1",
                "post_attention_layernorm": "ln_2",
                "self_attn.": "attn.attention.",
                "o_proj": "out_proj",
                "mlp.gate_proj": "mlp.c_fc_0",
                "mlp.up_proj": "mlp.c_fc_1",
                "mlp.down_proj": "mlp.c_proj",
            },
        )

    rewrite(model, folder, "ExaoneForCausalLM", change, {"activation_function": "silu"})


def as_minicpm(model, folder):
    config = model.config
    changes = {
        "scale_emb": config.embedding_multiplier,
        "scale_depth": config.residual_multiplier * config.num_hidden_layers**0.5,
        "dim_model_base": config.hidden_size / config.logits_scaling,
    }
    rewrite(model, folder, "MiniCPMForCausalLM", lambda tensors: tensors, changes)


def as_orion(model, folder):
    rewrite(model, folder, "OrionForCausalLM", lambda tensors: tensors, {})


BAILING = {
    "self_attn.o_proj": "attention.dense",
    "self_attn.q_norm": "attention.query_layernorm",
    "self_attn.k_norm": "attention.key_layernorm",
    "model.embed_tokens": "model.word_embeddings",
    "gate.e_score_correction_bias": "gate.expert_bias",
}


def as_bailing_moe_2(model, folder):
    config = model.config
    changes = {
        "num_experts": config.n_routed_experts,
        "num_shared_experts": config.n_shared_experts,
        "num_nextn_predict_layers": 0,
        "score_function": "sigmoid",
    }

    def change(tensors):
        return renamed(fused(tensors, QKV, "attention.query_key_value.weight"), BAILING)

    rewrite(model, folder, "BailingMoeV2ForCausalLM", change, changes)


def as_bailing_moe(model, folder):
    experts = model.model.layers[-1].mlp
    changes = experts.numbers() | {
        "num_experts": len(experts.experts),
        "num_shared_experts": experts.shared,
        "first_k_dense_replace": 0,
        "norm_topk_prob": experts.normalise,
    }

    def change(tensors):
        return renamed(fused(tensors, QKV, "attention.query_key_value.weight"), BAILING)

    rewrite(model, folder, "BailingMoeForCausalLM", change, changes)


def as_deepseek(model, folder):
    experts = model.model.layers[-1].mlp
    changes = experts.numbers() | {
        "n_routed_experts": len(experts.experts),
        "n_shared_experts": experts.shared,
        "first_k_dense_replace": 1,
    }
    rewrite(model, folder, "DeepseekForCausalLM", lambda tensors: tensors, changes)


def as_deci(model, folder):
    blocks = [
        {
            "attention": {
                "n_heads_in_group": getattr(layer.self_attn, "num_key_value_groups", None),
                "replace_with_linear": hasattr(layer.self_attn, "linear_attn"),
            },
            # The width is 2 / 3 of this many times the hidden size.
            "ffn": {"ffn_mult": 1.5 * layer.mlp.intermediate_size / model.config.hidden_size or None},
        }
        for layer in model.model.layers
    ]
    rewrite(model, folder, "DeciLMForCausalLM", lambda tensors: tensors, {"block_configs": blocks})


def as_gpt_neox(model, folder):
    changes = {"rotary_pct": model.config.rope_parameters["partial_rotary_factor"]}
    rewrite(model, folder, "GPTNeoXForCausalLM", lambda tensors: tensors, changes)


def as_stablelm(model, folder):
    """With the heads' norms in one tensor, which is what the converter makes of them."""

    def change(tensors):
        result = {name: tensor for name, tensor in tensors.items() if ".norms." not in name}
        for name in tensors:
            if ".norms.0." in name:
                heads = sum(other.startswith(name.removesuffix("0.weight")) for other in tensors)
                norms = [tensors[name.replace(".0.weight", f".{head}.weight")] for head in range(heads)]
                result[name.replace("norms.0.", "")] = torch.stack(norms)
        return result

    rewrite(model, folder, "StableLmForCausalLM", change, {})


def as_minimax_m2(model, folder):
    config = model.config
    rotated = int(config.head_dim * config.rope_parameters["partial_rotary_factor"])
    rewrite(
        model,
        folder,
        "MiniMaxM2ForCausalLM",
        lambda tensors: tensors,
        {"rotary_dim": rotated, "scoring_func": "sigmoid"},
    )


NOT_OF_NEMOTRON_H = "model_type|layers_block_type|layer_types|expert|^moe_|^n_group$|^topk_group$|^norm_topk|^routed_"


def as_nemotron_h(model, folder):
    """Without experts: a configuration of transformers has their numbers nevertheless, by which the converter decides."""
    model.config.architectures = ["NemotronHForCausalLM"]
    model.to(FLOAT32).save_pretrained(folder)
    path = folder / "config.json"
    config = json.loads(path.read_text())
    kinds = {"linear_attention": "M", "mlp": "-", "full_attention": "*"}
    config["hybrid_override_pattern"] = "".join(kinds[kind] for kind in model.config.layer_types)
    config["num_hidden_layers"] = len(model.config.layer_types)
    path.write_text(json.dumps({key: config[key] for key in config if not re.search(NOT_OF_NEMOTRON_H, key)}))
