"""A saved model into GGUF, by llama.cpp's converter: names, keys and transformations are those of real files."""

import sys

N_VOCABULARY = 128


def load_converter(llama_cpp):
    sys.path[:0] = [str(llama_cpp), str(llama_cpp / "gguf-py")]


def convert(folder, path, name, keys):
    """Converts the model in the folder; the vocabulary is a small one of our own.

    `keys` are added to the metadata: what the architecture's models all have alike, and files do not say.
    """
    import gguf
    from conversion import ModelBase, ModelType, get_model_architecture, get_model_class

    hyperparameters = ModelBase.load_hparams(folder, False)
    kind = get_model_architecture(hyperparameters, ModelType.TEXT)
    converter = get_model_class(kind)
    small = type(converter.__name__, (converter,), {"model_arch": converter.model_arch, "set_vocab": set_vocabulary})
    path.unlink(missing_ok=True)
    conversion = small(folder, gguf.LlamaFileType.ALL_F32, path, eager=True, model_name=name)
    for key, value in keys.items():
        add = conversion.gguf_writer.add_uint32 if isinstance(value, int) else conversion.gguf_writer.add_float32
        add(key, value)
    conversion.write()


def set_vocabulary(converter):
    """<unk>, <s>, </s>, the space mark, what ASCII prints, and some letters."""
    printed = [chr(code) for code in (*range(0x21, 0x7F), *range(0xE0, 0xFE))]
    tokens = ["<unk>", "<s>", "</s>", "\u2581", *printed]
    assert len(tokens) == N_VOCABULARY
    writer = converter.gguf_writer
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types([2, 3, 3, *[1] * (N_VOCABULARY - 3)])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)
