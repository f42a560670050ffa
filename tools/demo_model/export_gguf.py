"""Writes the trained model as GGUF: python export_gguf.py out/checkpoint.pt

Matrices become Q8_0, norms F32. Training already uses GGUF's order of rope pairs, so no rows are permuted.
"""

import argparse
import pathlib

import gguf
import torch

from vocabulary import ASSISTANT, BOS, CONTROL, END, EOS, UNKNOWN, USER, Vocabulary

HERE = pathlib.Path(__file__).parent

# The turns as documents.py lays them out. A system message goes in front of the first question.
CHAT_TEMPLATE = (
    "{{ bos_token }}"
    "{% if messages[0]['role'] == 'system' %}{% set system = (messages[0]['content'] | trim) + '\\n\\n' %}{% set turns = messages[1:] %}"
    "{% else %}{% set system = '' %}{% set turns = messages %}{% endif %}"
    "{% for message in turns %}"
    "{% if message['role'] == 'assistant' %}" + CONTROL[ASSISTANT] + "{{ '\\n' + (message['content'] | trim) }}"
    "{% else %}" + CONTROL[USER] + "{{ '\\n' + (system if loop.first else '') + (message['content'] | trim) }}{% endif %}"
    "{{ '" + CONTROL[END] + "' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}" + CONTROL[ASSISTANT] + "{{ '\\n' }}{% endif %}"
)


def export(checkpoint, vocabulary, out):
    """Writes the GGUF file and returns its size in bytes."""
    shape, weights = checkpoint["shape"], checkpoint["weights"]
    writer = gguf.GGUFWriter(out, "llama")
    writer.add_type(gguf.GGUFType.MODEL)
    writer.add_name("m40 demo")
    writer.add_basename("m40-demo")
    writer.add_description("A small storyteller, trained for m40 on stories that a program wrote (tools/demo_model).")
    writer.add_license("mit")
    writer.add_size_label(f"{sum(weight.numel() for weight in weights.values()) / 1e6:.0f}M")
    writer.add_tags(["text-generation", "stories"])
    writer.add_languages(["en"])
    writer.add_context_length(shape["context"])
    writer.add_embedding_length(shape["hidden"])
    writer.add_block_count(shape["layers"])
    writer.add_feed_forward_length(shape["feed_forward"])
    writer.add_head_count(shape["heads"])
    writer.add_head_count_kv(shape["kv_heads"])
    writer.add_key_length(shape["head"])
    writer.add_value_length(shape["head"])
    writer.add_layer_norm_rms_eps(shape["epsilon"])
    writer.add_rope_freq_base(shape["rope_base"])
    writer.add_rope_dimension_count(shape["head"])
    writer.add_vocab_size(shape["vocabulary"])
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(vocabulary.pieces)
    writer.add_token_scores(vocabulary.scores)
    writer.add_token_types(vocabulary.types)
    writer.add_bos_token_id(BOS)
    writer.add_eos_token_id(EOS)
    writer.add_unk_token_id(UNKNOWN)
    writer.add_eot_token_id(END)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)
    writer.add_add_space_prefix(True)
    writer.add_chat_template(CHAT_TEMPLATE)
    for name, weight in weights.items():
        values = weight.float().numpy()
        if values.ndim == 1:
            writer.add_tensor(name, values)
        else:
            kind = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(name, gguf.quants.quantize(values, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return pathlib.Path(out).stat().st_size


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint")
    parser.add_argument("--out", default=str(HERE / "demo.gguf"))
    args = parser.parse_args()
    loaded = torch.load(args.checkpoint, map_location="cpu", weights_only=True)
    print(f"{export(loaded, Vocabulary.load(HERE / 'vocabulary.json'), args.out)} bytes written to {args.out}")
