"""The conversion of all-MiniLM-L6-v2 from its safetensors to the GGUF file that llama.cpp reads; nothing else.

A BERT of 6 blocks whose vectors are the mean over all tokens. llama.cpp wants the vocabulary the other way round from
BERT: word beginnings are marked (U+2581) and continuations, BERT's ``##``, are not.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from gguf.quants import quantize
from safetensors import safe_open

SOURCES = ("config.json", "model.safetensors", "vocab.txt")
"""The files that :func:`convert` reads."""

_WORD_BEGIN = "\u2581"
_LEFT_OUT = ("embeddings.position_ids", "pooler.")
"""Tensors that mean pooling has no use for."""
_KEPT_F32 = ("position_embd.weight", "token_types.weight")
"""llama.cpp adds these to F32 activations, which it cannot do with F16."""
_QUANTIZED = "blk."
"""Matrices that activations are multiplied with: in 8 bits a text takes a fifth less time than in F16."""


def convert(source: Path, target: Path) -> None:
    """Write ``target`` from the folder ``source``: matrices of blocks as Q8_0, words as F16, all else as F32; 36 MB.

    To its vectors in F16 throughout those of 2,250 memories had a cosine of 0.9997 on average, of 0.9994 at least.

    Raises OSError where a file can't be read or written, ValueError or KeyError where ``source`` is another model.
    """
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    tokens = (source / "vocab.txt").read_text(encoding="utf-8").splitlines()
    if config["model_type"] != "bert" or len(tokens) != config["vocab_size"]:
        raise ValueError(f"{source} holds no BERT model with its vocabulary")
    writer = gguf.GGUFWriter(target, gguf.MODEL_ARCH_NAMES[gguf.MODEL_ARCH.BERT])
    try:
        _add_architecture(writer, config)
        _add_vocabulary(writer, tokens, config["type_vocab_size"])
        _add_tensors(writer, source / "model.safetensors", config["num_hidden_layers"])
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
    finally:
        writer.close()


def _add_architecture(writer: Any, config: dict[str, Any]) -> None:
    writer.add_name("all-MiniLM-L6-v2")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_layer_norm_eps(config["layer_norm_eps"])
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)


def _add_vocabulary(writer: Any, tokens: Sequence[str], token_types: int) -> None:
    special = {name: tokens.index(name) for name in ("[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]")}
    writer.add_tokenizer_model("bert")
    writer.add_token_type_count(token_types)
    writer.add_token_list([token if token in special else _marked(token) for token in tokens])
    writer.add_token_types([gguf.TokenType.CONTROL if token in special else gguf.TokenType.NORMAL for token in tokens])
    writer.add_unk_token_id(special["[UNK]"])
    writer.add_sep_token_id(special["[SEP]"])
    writer.add_pad_token_id(special["[PAD]"])
    writer.add_mask_token_id(special["[MASK]"])
    writer.add_bos_token_id(special["[CLS]"])
    writer.add_eos_token_id(special["[SEP]"])
    writer.add_key_value("tokenizer.ggml.cls_token_id", special["[CLS]"], gguf.GGUFValueType.UINT32)


def _marked(token: str) -> str:
    return token[2:] if token.startswith("##") else _WORD_BEGIN + token


def _add_tensors(writer: Any, source: Path, blocks: int) -> None:
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.BERT, blocks)
    with safe_open(source, framework="numpy") as tensors:
        for key in tensors.keys():  # noqa: SIM118 - no mapping, so it can't be iterated itself
            if key.startswith(_LEFT_OUT):
                continue
            name = names.get_name(key, try_suffixes=(".weight", ".bias"))
            if name is None:
                raise ValueError(f"{source} holds a tensor that is none of BERT's: {key}")
            tensor = tensors.get_tensor(key)
            if tensor.ndim == 1 or name in _KEPT_F32:
                writer.add_tensor(name, tensor.astype(np.float32))
            elif name.startswith(_QUANTIZED):
                eight_bits = gguf.GGMLQuantizationType.Q8_0
                writer.add_tensor(name, quantize(tensor.astype(np.float32), eight_bits), raw_dtype=eight_bits)
            else:
                writer.add_tensor(name, tensor.astype(np.float16))
