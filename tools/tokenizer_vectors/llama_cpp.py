"""llama.cpp's tokenizers, over the C API that the library in PyPI's xllamacpp exports."""

import ctypes
import importlib.util
from pathlib import Path


class ModelParams(ctypes.Structure):
    """llama_model_params: pointers and enumerations, then flags, of which the first asks for the vocabulary alone."""

    _fields_ = [("others", ctypes.c_uint64 * 9), ("flags", ctypes.c_ubyte * 8)]


def _load():
    folder = Path(importlib.util.find_spec("xllamacpp").origin).parent
    llama = ctypes.CDLL(str(folder / "xllamacpp.abi3.so"))
    llama.llama_model_default_params.restype = ModelParams
    llama.llama_model_load_from_file.argtypes = [ctypes.c_char_p, ModelParams]
    llama.llama_model_load_from_file.restype = ctypes.c_void_p
    llama.llama_model_get_vocab.argtypes = [ctypes.c_void_p]
    llama.llama_model_get_vocab.restype = ctypes.c_void_p
    llama.llama_tokenize.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32,
                                       ctypes.c_bool, ctypes.c_bool]
    llama.llama_backend_init()
    return llama


class Vocabulary:
    """The vocabulary of a GGUF file, which needs no weights."""

    llama = None

    def __init__(self, path):
        Vocabulary.llama = Vocabulary.llama or _load()
        params = self.llama.llama_model_default_params()
        params.flags[0] = 1
        model = self.llama.llama_model_load_from_file(str(path).encode(), params)
        if not model: raise ValueError(f"llama.cpp does not load {path}")
        self.vocabulary = self.llama.llama_model_get_vocab(model)

    def encode(self, data):
        """The ids of a text's bytes, without BOS and EOS."""
        room = len(data) + 16
        ids = (ctypes.c_int32 * room)()
        count = self.llama.llama_tokenize(self.vocabulary, data, len(data), ids, room, False, False)
        return ids[:count]
