"""Vocabularies of every kind, trained here, each as GGUF holds it and as another program's tokenizer.

A function `make_KIND(folder, texts, size)` writes `folder/NAME.gguf` and gives an encoder: text to ids, without BOS and EOS.
"""

import collections
import io
import json

import gguf
import sentencepiece as spm
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

from make import corpus

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = (int(getattr(gguf.TokenType, name)) for name in (
    "NORMAL", "UNKNOWN", "CONTROL", "USER_DEFINED", "UNUSED", "BYTE"))


def training_texts(texts, repeats=3):
    """The written corpus, a few times, among random texts."""
    return [*texts, *corpus() * repeats]


def write_vocabulary(path, model, tokens, types, scores=None, merges=None, **keys):
    """A GGUF file of nothing but a vocabulary. `keys` are the rest of `tokenizer.ggml.*`."""
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_tokenizer_model(model)
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    if scores is not None: writer.add_token_scores(scores)
    if merges is not None: writer.add_token_merges(merges)
    for key, value in keys.items():
        key = "tokenizer.ggml." + key.replace("__", ".")
        if isinstance(value, bool): writer.add_bool(key, value)
        elif isinstance(value, int): writer.add_uint32(key, value)
        elif isinstance(value, str): writer.add_string(key, value)
        else: writer.add_array(key, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def make_word_piece(path, texts, size=3000, lowercase=True):
    """BERT's WordPiece, as Hugging Face's tokenizers train it and use it."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=size, special_tokens=special, show_progress=False, limit_alphabet=min(1000, size // 3))
    tokenizer.train_from_iterator(training_texts(texts), trainer)
    tokens = [token for token, _ in sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])]
    marked = [token if token in special else token[2:] if token.startswith("##") else "\u2581" + token for token in tokens]
    ids = {token: i for i, token in enumerate(tokens)}
    write_vocabulary(path, "bert", marked, [CONTROL if token in special else NORMAL for token in tokens],
                     bos_token_id=ids["[CLS]"], eos_token_id=ids["[SEP]"], unknown_token_id=ids["[UNK]"],
                     normalizer__lowercase=lowercase)
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def train_sentencepiece(texts, model_type, size, **options):
    """A trained SentencePiece processor."""
    model = io.BytesIO()
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(line for text in training_texts(texts) for line in text.split("\n") if line.strip() and "\0" not in line), model_writer=model, model_type=model_type,
        vocab_size=size, hard_vocab_limit=False, num_threads=1, minloglevel=2, max_sentence_length=1 << 16, **options)
    return spm.SentencePieceProcessor(model_proto=model.getvalue()), model.getvalue()


def write_sentencepiece(path, model, processor, **keys):
    """A SentencePiece vocabulary as llama.cpp's converter writes it."""
    size = processor.vocab_size()
    types = [UNKNOWN if processor.is_unknown(i) else CONTROL if processor.is_control(i) else
             BYTE if processor.is_byte(i) else UNUSED if processor.is_unused(i) else NORMAL for i in range(size)]
    ids = {"unknown_token_id": processor.unk_id(), "bos_token_id": processor.bos_id(), "eos_token_id": processor.eos_id()}
    write_vocabulary(path, model, [processor.id_to_piece(i) for i in range(size)], types,
                     [processor.get_score(i) for i in range(size)], **{key: id for key, id in ids.items() if id >= 0}, **keys)


def make_sentencepiece(path, texts, size=3000, **options):
    """SentencePiece's BPE with byte fallback, the kind of Llama 2."""
    processor, _ = train_sentencepiece(
        texts, "bpe", size, byte_fallback=True, normalization_rule_name="identity", character_coverage=0.999,
        remove_extra_whitespaces=False, allow_whitespace_only_pieces=True, split_digits=True, **options)
    write_sentencepiece(path, "llama", processor)
    return processor.encode


def charsmap_of(model):
    from sentencepiece import sentencepiece_model_pb2
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model)
    return proto.normalizer_spec


def make_unigram(path, texts, size=3000, rule="nmt_nfkc", byte_fallback=False, **options):
    """SentencePiece's Unigram with its own normalization, the kind of T5."""
    if rule is not None: options["normalization_rule_name"] = rule
    processor, model = train_sentencepiece(texts, "unigram", size, character_coverage=0.998, byte_fallback=byte_fallback, **options)
    spec = charsmap_of(model)
    keys = {"precompiled_charsmap": bytes(spec.precompiled_charsmap)} if spec.precompiled_charsmap else {}
    write_sentencepiece(path, "t5", processor, add_space_prefix=spec.add_dummy_prefix,
                        remove_extra_whitespaces=spec.remove_extra_whitespaces, **keys)
    return processor.encode


def make_unigram_double(path, texts, size=3000, **options):
    """The same with Hugging Face's tokenizers as the peer, which add scores in double precision as llama.cpp does."""
    processor, model = train_sentencepiece(texts, "unigram", size, normalization_rule_name="identity", character_coverage=0.998,
                                           remove_extra_whitespaces=False, **options)
    write_sentencepiece(path, "t5", processor, add_space_prefix=True, remove_extra_whitespaces=False)
    pieces = [(processor.id_to_piece(i), processor.get_score(i)) for i in range(processor.vocab_size())]
    tokenizer = Tokenizer(models.Unigram(pieces, processor.unk_id(), False))
    # Metaspace's own prefix is left out where a text begins with a space; SentencePiece's is not.
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace("\u2581", "never")
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def train_byte_level(texts, size=8000, words=1500):
    """Tokens and merges of byte pair encoding over whole texts: they cross what any pre-tokenizer cuts, so that each cut shows."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator(training_texts(texts, repeats=1), trainer)
    model = json.loads(tokenizer.to_str())["model"]
    vocabulary = model["vocab"]
    # Words that no merge gives: only programs that do not merge a word that is a token ever find them.
    counts = collections.Counter(word for text in texts for word, _ in pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str(text))
    for word in sorted(counts, key=lambda word: (-counts[word], word))[:words]:
        vocabulary.setdefault(word, len(vocabulary))
    return vocabulary, [tuple(merge) for merge in model["merges"]]


def make_byte_level(path, trained, name, pre_tokenizer, ignore_merges):
    """A trained byte-level vocabulary with the pre-tokenizer of a name."""
    vocabulary, merges = trained
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, ignore_merges=ignore_merges))
    tokenizer.pre_tokenizer = pre_tokenizer
    tokens = sorted(vocabulary, key=vocabulary.get)
    write_vocabulary(path, "gpt2", tokens, [NORMAL] * len(tokens), merges=[" ".join(merge) for merge in merges], pre=name)
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def make_gemma(path, texts, size=4000):
    """Gemma 4's: merges over characters, spaces written U+2581, bytes for what is not there."""
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("\n+"), "isolated")
    special = ["<pad>", "<eos>", "<bos>", "<unk>"]
    byte_tokens = [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=special + byte_tokens, show_progress=False, limit_alphabet=1000)
    tokenizer.train_from_iterator(training_texts(texts), trainer)
    model = json.loads(tokenizer.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    types = [UNKNOWN if token == "<unk>" else CONTROL if token in special else BYTE if token in byte_tokens else NORMAL for token in tokens]
    write_vocabulary(path, "gemma4", tokens, types, merges=[" ".join(merge) for merge in model["merges"]],
                     bos_token_id=2, eos_token_id=1, unknown_token_id=3, add_space_prefix=False)
    # Of the special tokens the peer would find the bytes' in the text as well: a model of its own has none.
    peer = Tokenizer(models.BPE(model["vocab"], [tuple(merge) for merge in model["merges"]], byte_fallback=True, fuse_unk=True,
                                unk_token="<unk>"))
    peer.normalizer = tokenizer.normalizer
    peer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    return lambda text: peer.encode(text, add_special_tokens=False).ids
