"""The pre-tokenizers of models, as their tokenizer.json describes them, for Hugging Face's tokenizers.

Written down from the models' own files, one entry for each group of names that cuts text alike, and apart from
engine/tokenizer/pre_tokenizers.ts: where the two agree, neither has a slip of the pen.
"""

from tokenizers import Regex
from tokenizers.pre_tokenizers import ByteLevel, Digits, Punctuation, Sequence, Split

BYTES = ByteLevel(add_prefix_space=False, use_regex=False)
GPT2 = ByteLevel(add_prefix_space=False, use_regex=True)


def split(expression):
    return Split(Regex(expression), "isolated")


def cut(*steps):
    return Sequence([*steps, BYTES])


CL100K = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
         r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN35 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
TEKKEN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
          r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
          r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
BAILING = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+")
SEED = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+")
KIMI = "|".join([
    r"[\p{Han}]+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}",
    r" ?[^\s\p{L}\p{N}]+[\r\n]*",
    r"\s*[\r\n]+",
    r"\s+(?!\S)",
    r"\s+",
])
DEEPSEEK3 = ("[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
             "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+")
DEEPSEEK_LETTERS = (
    "\\s?["
    "A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af\u0370-\u0373\u0376"
    "\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f"
    "\u0531-\u0556\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77"
    "\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d"
    "\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4"
    "\u1ff6-\u1ffc\u2102\u2107\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139"
    "\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee\u2cf2\u2cf3\ua640-\ua66d"
    "\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a"
    "\uff41-\uff5a\U00010400-\U0001044f\U000104b0-\U000104d3\U000104d8-\U000104fb\U00010c80-\U00010cb2"
    "\U00010cc0-\U00010cf2\U000118a0-\U000118df\U0001e900-\U0001e943"
    "]+")
BLOOM = " ?[^(\\s|[.,!?…。，、।۔،])]+"
GPT2_EXPRESSION = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

EXAONE_MOE = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?"
              r"|\s*[\r\n]|\s+(?!\S)|\s+")
MINICPM5 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
UFAKZEKA = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
SPARK = ("[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
         "| ?[\\p{P}\\p{S}]+|[\r\n]|\\s+(?!\\S)|\\s+")
YOUTU_ASIA = ("[\uac00-\ud7a3\u3131-\u318e]+|[\uff01\u2026\u201c\u201d\u2018\u2019\u2014\uff1a\uff1b\uff0c\u3001-\u303f\ufe30-\ufe4f]+"
              "|[\u3105-\u312f]+|[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+")

JAIS2 = CL100K.replace(r"\s+(?!\S)|\s+", "|".join([r"\s{%s}(?!\S)" % n for n in "512 256 128 64 32 16 8 4 1,2".split()] + [r"\s{1}"]))
K2_HORIZON = CL100K.replace(r"\p{L}+", "(?:\\p{L}|\\p{M}|\u200c|\u200d)+")
# Three digits from the right, of whatever kind of number.
AFMOE_DIGITS = r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))"
AFMOE_SCRIPTS = ("[\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\u3040-\u309f\u30a0-\u30ff\uff65-\uff9f\u2f00-\u2fdf\u0e40-\u0e7f\u0e80-\u0eff"
                 "\u1780-\u17ff\u1000-\u109f\uaa60-\uaa7f\ua9e0-\ua9ff\uac00-\ud7af\u1100-\u11ff]+")

# The names of each group: what cuts their text, and whether a word that is a token is not merged.
PRE_TOKENIZERS = {
    # llama.cpp's for files without a name; no model's own.
    "default": (cut(split(r"[\p{P}\$\+<=>\^~\|]+"), split(GPT2_EXPRESSION), split(r"\p{N}+"), split("[0-9][0-9][0-9]")), False),
    "gpt-2 phi-2 jina-es jina-de jina-v2-es jina-v2-de gigachat a.x-4.0 mellum modern-bert jina-v1-en jina-v2-code roberta-bpe exaone4": (GPT2, False),
    "mpt olmo jais trillion granite-docling": (GPT2, False),
    "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano": (cut(split(CL100K)), True),
    "dbrx smaug-bpe": (cut(split(CL100K)), False),
    "deepseek-llm": (cut(split("[\r\n]"), split(DEEPSEEK_LETTERS), split("\\s?[!-/:-~！-／：-～‘-‟\u3000-。]+"), split("\\s+$"),
                         split("[一-龥ࠀ-一가-\ud7ff]+"), Digits(individual_digits=True)), False),
    "deepseek-coder": (cut(split("[\r\n]"), split("\\s?\\p{L}+"), split("\\s?\\p{P}+"), split("[一-龥ࠀ-一가-\ud7ff]+"),
                           Digits(individual_digits=True)), False),
    "deepseek-v3 hunyuan-dense joyai-llm hy_v4": (cut(split("\\p{N}{1,3}"), split("[一-龥\u3040-ゟ゠-ヿ]+"), split(DEEPSEEK3)), False),
    "starcoder refact command-r smollm codeshell exaone minerva-7b mellum2": (Sequence([Digits(individual_digits=True), GPT2]), False),
    "qwen2 deepseek-r1-qwen kormo f2llmv2 megrez": (cut(split(QWEN2)), False),
    "stablelm2 hunyuan solar-open": (cut(split(QWEN2)), False),
    "qwen35": (cut(split(QWEN35)), False),
    "gpt-4o llama4 kanana2 talkie": (cut(split(O200K)), False),
    "minimax-m2": (cut(split(O200K)), False),
    "chatglm-bpe": (cut(split(CL100K)), False),
    "glm4 glm5": (cut(split(CL100K)), True),
    "tekken": (cut(split(TEKKEN)), True),
    "bailingmoe bailingmoe2 llada-moe": (cut(split(BAILING)), False),
    "tiny_aya cohere2moe": (cut(split(r"\d{1,3}(?=(?:\d{3})*\b)"), split(O200K)), False),
    "poro-chat bloom gpt3-finnish": (cut(split(BLOOM)), False),
    "viking": (cut(split(BLOOM), Digits(individual_digits=True)), False),
    "exaone-moe": (cut(split(EXAONE_MOE)), False),
    "granite-embed-multi-97m": (cut(split(O200K)), True),
    "laguna": (cut(split(r"[^\n]+|[\n]+"), split(QWEN2)), False),
    "minicpm5": (cut(split(r"\p{N}{1,3}"), split(MINICPM5)), True),
    "spark2_5": (cut(split(r"\p{N}{1,3}"), split("[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"), split(SPARK), split(r"\p{N}")), False),
    "ufakzeka": (cut(split(UFAKZEKA)), False),
    "youtu": (cut(split(YOUTU_ASIA), split(O200K.replace(r"\p{N}{1,3}", r"\p{N}"))), True),
    "falcon": (Sequence([Punctuation("contiguous"), GPT2, Digits(individual_digits=False), split("[0-9][0-9][0-9]")]), False),
    "seed-coder": (cut(split(SEED)), False),
    "kimi-k2": (cut(split(KIMI)), False),
    "grok-2": (cut(split(QWEN2)), False),
    "superbpe": (cut(split(r"\p{N}+"), split(r"(?=(\d{3})+(?!\d))")), False),
    "jais-2": (cut(split(JAIS2)), False),
    "k2-horizon": (cut(split(K2_HORIZON)), False),
    "afmoe": (cut(split(AFMOE_DIGITS), split(AFMOE_SCRIPTS), split(DEEPSEEK3)), False),
    "chameleon": (Sequence([split("<sentinel:[0-9]+>"), split("(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z"), split("([\t\n]|    |  )"),
                            Digits(individual_digits=True), Punctuation("isolated"), GPT2]), False),
}
