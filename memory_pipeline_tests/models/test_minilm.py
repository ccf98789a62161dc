"""The conversion to GGUF on a BERT of one small block; the real model's vectors are checked in test_llama_cpp."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from safetensors.numpy import save_file

from memory_pipeline.models import open_embedder
from memory_pipeline.models.minilm import convert
from memory_pipeline.settings import load_settings

HIDDEN, FORWARD = 32, 64
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "log", "##in", "s", "#"]
CONFIG = {
    "model_type": "bert",
    "vocab_size": len(TOKENS),
    "hidden_size": HIDDEN,
    "intermediate_size": FORWARD,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "max_position_embeddings": 64,
    "type_vocab_size": 2,
    "layer_norm_eps": 1e-12,
}


def tensors() -> dict[str, Any]:
    numbers = np.random.default_rng(0)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(TOKENS), HIDDEN),
        "embeddings.position_embeddings.weight": (64, HIDDEN),
        "embeddings.token_type_embeddings.weight": (2, HIDDEN),
        "pooler.dense.weight": (HIDDEN, HIDDEN),
    }
    layer = "encoder.layer.0"
    for name, shape in {
        "embeddings.LayerNorm": (HIDDEN,),
        f"{layer}.attention.self.query": (HIDDEN, HIDDEN),
        f"{layer}.attention.self.key": (HIDDEN, HIDDEN),
        f"{layer}.attention.self.value": (HIDDEN, HIDDEN),
        f"{layer}.attention.output.dense": (HIDDEN, HIDDEN),
        f"{layer}.attention.output.LayerNorm": (HIDDEN,),
        f"{layer}.intermediate.dense": (FORWARD, HIDDEN),
        f"{layer}.output.dense": (HIDDEN, FORWARD),
        f"{layer}.output.LayerNorm": (HIDDEN,),
    }.items():
        shapes[f"{name}.weight"] = shape
        shapes[f"{name}.bias"] = shape[:1]
    made = {name: numbers.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    return {**made, "embeddings.position_ids": np.arange(64, dtype=np.int64)[None]}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "vocab.txt").write_text("\n".join(TOKENS) + "\n")
    save_file(tensors(), tmp_path / "model.safetensors")
    return tmp_path


def test_the_vocabulary_marks_word_beginnings_instead_of_continuations(source: Path, tmp_path: Path) -> None:
    convert(source, tmp_path / "model.gguf")
    fields = gguf.GGUFReader(tmp_path / "model.gguf").fields
    assert fields["tokenizer.ggml.tokens"].contents() == [*TOKENS[:5], "▁log", "in", "▁s", "▁#"]
    control, normal = int(gguf.TokenType.CONTROL), int(gguf.TokenType.NORMAL)
    assert fields["tokenizer.ggml.token_type"].contents() == [control] * 5 + [normal] * 4
    ids = {"padding": 0, "unknown": 1, "cls": 2, "bos": 2, "seperator": 3, "eos": 3, "mask": 4}
    assert {name: fields[f"tokenizer.ggml.{name}_token_id"].contents() for name in ids} == ids


def test_the_blocks_matrices_become_q8_0_the_words_f16_and_all_else_stays_f32(source: Path, tmp_path: Path) -> None:
    convert(source, tmp_path / "model.gguf")
    types = {tensor.name: tensor.tensor_type.name for tensor in gguf.GGUFReader(tmp_path / "model.gguf").tensors}
    parts = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_down")
    assert {name for name, kind in types.items() if kind == "Q8_0"} == {f"blk.0.{part}.weight" for part in parts}
    assert {name for name, kind in types.items() if kind == "F16"} == {"token_embd.weight"}
    assert set(types.values()) == {"Q8_0", "F16", "F32"}
    assert len(types) == 21


def test_llama_cpp_reads_what_was_written(source: Path, tmp_path: Path) -> None:
    convert(source, tmp_path / "model.gguf")
    with closing(open_embedder(load_settings(env_file=None, embeddings_gguf=tmp_path / "model.gguf"))) as embedder:
        login, logs = embedder.embed(["login", "log s"])
    assert len(login) == HIDDEN
    assert login != logs


def test_another_kind_of_model_is_refused(source: Path, tmp_path: Path) -> None:
    (source / "config.json").write_text(json.dumps({**CONFIG, "model_type": "gpt2"}))
    with pytest.raises(ValueError, match="holds no BERT model"):
        convert(source, tmp_path / "model.gguf")


def test_a_tensor_that_is_none_of_bert_s_is_refused(source: Path, tmp_path: Path) -> None:
    save_file({**tensors(), "lm_head.weight": np.zeros((2, 2), np.float32)}, source / "model.safetensors")
    with pytest.raises(ValueError, match=r"none of BERT's: lm_head\.weight"):
        convert(source, tmp_path / "model.gguf")
