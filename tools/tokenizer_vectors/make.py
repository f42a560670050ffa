"""Makes tests/data/tokenizer: small SentencePiece vocabularies and what other programs encode with them.

    pip install sentencepiece gguf numpy xllamacpp
    python3 tools/tokenizer_vectors/make.py

The text that the vocabularies are trained on is written below. The peers are SentencePiece itself
and llama.cpp (through xllamacpp, whose server has a /tokenize endpoint; it wants a whole model, so each
vocabulary gets a llama of two heads with random weights, in a temporary folder).
"""

import itertools
import json
import random
import tempfile
import urllib.request
from pathlib import Path

import gguf
import numpy as np
import sentencepiece as spm

OUT = Path(__file__).resolve().parents[2] / "tests" / "data" / "tokenizer"
SEED = 20

WHO = ["the old miller", "a small fox", "our neighbour", "the clockmaker", "my sister Anna", "the ferryman"]
DID = ["found", "mended", "painted", "carried", "sold", "forgot", "described"]
WHAT = ["a silver bell", "the broken wheel", "three letters", "an empty basket", "the blue door", "a map"]
WHEN = ["before sunrise", "in the winter of 1904", "at 7:45", "yesterday", "when nobody was looking"]
OTHER = [
    "Der Müller öffnet früh die Tür und grüßt den Fährmann.",
    "Où est passée la clé de l'atelier ? Elle était à côté du poêle.",
    "Старый мельник нашёл серебряный колокольчик у реки.",
    "Лодочник забыл письмо под скамейкой.",
    "老磨坊主在河边找到了一个银铃。",
    "渡し守は小さな手紙を見つけた。",
    "def mend(wheel, times=3):\n    for i in range(times):\n        wheel.turn(i * 45)\n    return wheel",
    "if (door.open) {\n\tbell.ring(2);\n}\n",
    "12 + 30 = 42; 3.14159; 100,000; 2^16 = 65536",
    "Well... no!!! Why not?? (He didn't say; she'd know.)",
]

# Texts to encode. The caller names those with special tokens in them.
PLAIN = [
    "", " ", "  ", "     ", "\n", "\n\n\n", "\t", " \t\n ", "a", " a", "a ", "  a  b   c    ",
    "the old miller found a silver bell before sunrise.",
    "The Clockmaker, who mended NOTHING, sold everything!",
    "unrelated vocabulary: quixotic zephyrs jumble", "thethethethethe", "belbellbellsbell",
    "Müller öffnet", "Mu\u0308ller o\u0308ffnet", "колокольчик у реки", "银铃在河边", "渡し守は手紙を見つけた。",
    "mixed 语言 и языки together", "ไม่มีในคลังคำ", "العربية من اليمين", "हिन्दी में भी",
    "\U0001f600", "x\U0001f468\u200d\U0001f469\u200d\U0001f467y", "flags \U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7 end",
    "\u0000", "a\u0000b\u0001c\u007f", "\ufeffbom first", "nbsp\u00a0here\u2003and em space",
    "line one\nline two\r\nline three\n", "def mend(wheel):\n    return wheel.turn(45)\n",
    "\tif (door.open) {\n\t\tbell.ring(2);\n\t}\n", "    indented by four", "trailing four    ",
    "1", "12", "123", "1904", "3.14159265358979", "100,000,000", "!!!!!!!!", "???", "....", "((((()))))",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "=-=-=-=-=-=-=-=-", "he said: \"don't\"", "it's Anna's, isn't it?",
    "https://example.org/path?query=1&other=2#part", "CamelCaseAndsnake_case_and-dashes",
    "<0x0A>", "<0x41><0x42>", "\ufffd", "\ue000 private", "\U0010ffff", "the" * 40, "ringing " * 12,
]
SPECIAL = [
    "<|user|>hello<|end|>", "<|user|> hello <|end|>\n<|assistant|>\n", "<s>", "</s>", "<s>the miller</s>", "<unk>",
    "a<unk>b", "x <s> y", "<|user|><|user|>", "<|user|", "|user|>", "<|<|user|>|>",
    "<tool>mend</tool>", "a <tool> b </tool> c", " <tool>", "<tool> ", "<tool>  two spaces", "<<tool>>",
    "<tool><s></tool>", "the<tool>the", "long<long_tag>short<long>tail", "ab<long><long_tag>", "<long_<long>tag>",
    "überlang<|ende|>über", "<|user|>Müller<|end|>老磨坊主<|end|>",
]


def corpus():
    rng = random.Random(SEED)
    sentences = [" ".join(words) for words in itertools.product(WHO, DID, WHAT, WHEN)]
    rng.shuffle(sentences)
    lines = []
    for i, sentence in enumerate(sentences[:500]):
        lines.append(sentence[0].upper() + sentence[1:] + ".")
        lines.append(OTHER[i % len(OTHER)])
    return lines


def train(folder, **options):
    """A trained SentencePiece processor, byte fallback and all."""
    prefix = str(folder / "spm")
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus()), model_prefix=prefix, model_type="bpe", byte_fallback=True,
        normalization_rule_name="identity", character_coverage=0.995, num_threads=1, minloglevel=2,
        allow_whitespace_only_pieces=True, split_digits=True,
        control_symbols=["<|user|>", "<|assistant|>", "<|end|>", "<|ende|>"],
        user_defined_symbols=["<tool>", "</tool>", "<long>", "<long_tag>"], **options)
    return spm.SentencePieceProcessor(model_file=prefix + ".model")


def add_vocabulary(writer, processor, settings):
    types = []
    for i in range(processor.vocab_size()):
        if processor.is_unknown(i): types.append(gguf.TokenType.UNKNOWN)
        elif processor.is_control(i): types.append(gguf.TokenType.CONTROL)
        elif processor.is_byte(i): types.append(gguf.TokenType.BYTE)
        elif processor.id_to_piece(i) in ("<tool>", "</tool>", "<long>", "<long_tag>"):
            types.append(gguf.TokenType.USER_DEFINED)
        else: types.append(gguf.TokenType.NORMAL)
    size = processor.vocab_size()
    writer.add_tokenizer_model("llama")
    writer.add_token_list([processor.id_to_piece(i) for i in range(size)])
    writer.add_token_scores([processor.get_score(i) for i in range(size)])
    writer.add_token_types(types)
    writer.add_unk_token_id(processor.unk_id())
    writer.add_bos_token_id(processor.bos_id())
    writer.add_eos_token_id(processor.eos_id())
    for key, value in settings.items():
        writer.add_bool(f"tokenizer.ggml.{key}", value)


def write(path, processor, settings, with_model):
    """The vocabulary as a GGUF; with a model around it where llama.cpp is to load it."""
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name("vectors")
    add_vocabulary(writer, processor, settings)
    if with_model:
        hidden, rng = 32, np.random.default_rng(SEED)
        writer.add_block_count(1)
        writer.add_context_length(4096)
        writer.add_embedding_length(hidden)
        writer.add_feed_forward_length(32)
        writer.add_head_count(2)
        writer.add_head_count_kv(2)
        writer.add_layer_norm_rms_eps(1e-5)
        writer.add_vocab_size(processor.vocab_size())
        shapes = {"token_embd.weight": (processor.vocab_size(), hidden), "output_norm.weight": (hidden,)}
        for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
            shapes[f"blk.0.{name}.weight"] = (hidden, hidden)
        for name in ("attn_norm", "ffn_norm"):
            shapes[f"blk.0.{name}.weight"] = (hidden,)
        for name, shape in shapes.items():
            writer.add_tensor(name, rng.standard_normal(shape).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    if with_model: writer.write_tensors_to_file()
    writer.close()


def llama_cpp_vectors(path):
    import xllamacpp
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(path)
    parameters.n_ctx, parameters.n_parallel, parameters.warmup, parameters.port = 256, 1, False, 0
    server = xllamacpp.Server(parameters)
    vectors = []
    settings = [(text, False, False) for text in PLAIN + SPECIAL]
    settings += [(text, special, True) for text in SPECIAL for special in (False, True)]
    settings += [(text, True, False) for text in PLAIN[:20]]
    for text, add_special, parse_special in settings:
        request = {"content": text, "add_special": add_special, "parse_special": parse_special}
        call = urllib.request.Request(server.listening_address + "/tokenize", json.dumps(request).encode(),
                                      {"Content-Type": "application/json"})
        with urllib.request.urlopen(call) as answer:
            tokens = json.load(answer)["tokens"]
        vectors.append({"text": text, "addSpecial": add_special, "parseSpecial": parse_special, "tokens": tokens})
    return vectors


def sentencepiece_vectors(processor):
    # Without user-defined symbols: after one of them the space prefix of the two programs differs.
    return [{"text": text, "addSpecial": False, "parseSpecial": False, "tokens": processor.encode(text)}
            for text in PLAIN]


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    variants = [
        # name, training options, settings in the file, whether llama.cpp is a peer
        ("plain", {"vocab_size": 700, "remove_extra_whitespaces": False}, {"add_bos_token": True}, True),
        ("no-prefix", {"vocab_size": 600, "remove_extra_whitespaces": False, "add_dummy_prefix": False},
         {"add_space_prefix": False, "add_bos_token": True, "add_eos_token": True}, True),
        ("phrases", {"vocab_size": 800, "remove_extra_whitespaces": False, "split_by_whitespace": False},
         {"add_bos_token": False}, True),
        # llama.cpp knows this setting only for another kind of vocabulary.
        ("trimmed", {"vocab_size": 600, "remove_extra_whitespaces": True},
         {"remove_extra_whitespaces": True}, False),
    ]
    for name, options, settings, with_llama_cpp in variants:
        with tempfile.TemporaryDirectory() as folder:
            processor = train(Path(folder), **options)
            write(OUT / f"{name}.gguf", processor, settings, with_model=False)
            vectors = {"sentencepiece": sentencepiece_vectors(processor)}
            if with_llama_cpp:
                model = Path(folder) / "model.gguf"
                write(model, processor, settings, with_model=True)
                vectors["llama.cpp"] = llama_cpp_vectors(model)
        parts = [f"{json.dumps(peer)}: [\n" + ",\n".join(map(json.dumps, list_)) + "\n]" for peer, list_ in vectors.items()]
        (OUT / f"{name}.json").write_text("{\n" + ",\n".join(parts) + "\n}\n")
        print(name, {peer: len(list_) for peer, list_ in vectors.items()})


if __name__ == "__main__":
    main()
