"""The tokenizer in a model file, with real vocabularies (C05, C07, and texts that could hurt)."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.backends.llamacpp.native import NativeLog
from engine.backends.llamacpp.vocab import LlamaVocab, open_vocab
from engine.errors import ModelFormatError
from engine.text.prompt import encode_chat, encode_text
from engine.text.template import choose_template
from engine.text.tokenizer import Tokenizer
from tests.helpers.tiny_gguf import I32, STRING, TypedArray, gguf_bytes

pytestmark = pytest.mark.model

TEXTS = [
    "",
    " ",
    "\n",
    "Hello, world",
    "  two  spaces\t\n",
    "漢字🦙👩‍👩‍👧‍👦é",
    "a\0b\0",
    "x" * 5000,
    "1 2 3 " * 3000,
]


@pytest.fixture(scope="module")
def log() -> NativeLog:
    return NativeLog()


@pytest.fixture(scope="module")
def smol(starter_model: Path, log: NativeLog) -> Iterator[LlamaVocab]:
    with open_vocab(str(starter_model).encode(), log) as vocab:
        yield vocab


def write_vocab(path: Path, tokens: list[str], kinds: list[int], **metadata: object) -> bytes:
    """A vocabulary-only file; kinds: 1 normal, 2 unknown, 3 control, 4 user-defined, 6 byte."""
    entries = {
        "general.architecture": "llama",
        "tokenizer.ggml.tokens": TypedArray(STRING, tokens),
        "tokenizer.ggml.token_type": TypedArray(I32, kinds),
    } | {name.replace("__", "."): value for name, value in metadata.items()}
    path.write_bytes(gguf_bytes(entries, [], with_data=False))
    return str(path).encode()


def write_sentencepiece(path: Path, **metadata: object) -> bytes:
    from tests.helpers.tiny_gguf import F32

    tokens = [
        "<unk>",
        "<s>",
        "</s>",
        *(f"<0x{i:02X}>" for i in range(256)),
        "\u2581",
        "h",
        "i",
        "\u2581h",
        "\u2581hi",
        "hi",
        "#",
    ]
    kinds = [2, 3, 3, *[6] * 256, *[1] * 6, 4]
    scores = TypedArray(F32, [0.0] * 259 + [-5.0, -6.0, -7.0, -3.0, -1.0, -2.0, 0.0])
    return write_vocab(
        path,
        tokens,
        kinds,
        tokenizer__ggml__model="llama",
        tokenizer__ggml__scores=scores,
        tokenizer__ggml__bos_token_id=1,
        tokenizer__ggml__eos_token_id=2,
        **metadata,
    )


def bytes_of(vocab: LlamaVocab, text: str, *, parse_special: bool = False) -> bytes:
    tokens = vocab.encode(text, add_special=False, parse_special=parse_special)
    return b"".join(vocab.pieces[token] for token in tokens)


# --- the starter model ---------------------------------------------------------------------------------


def test_what_the_file_says(smol: LlamaVocab) -> None:
    tokenizer: Tokenizer = smol
    assert (tokenizer.n_vocab, len(tokenizer.pieces)) == (49152, 49152)
    assert (tokenizer.bos, tokenizer.eos, tokenizer.adds_bos) == (1, 2, False)
    assert {0, 2} <= tokenizer.end_ids
    assert len(tokenizer.control_texts) == 17
    assert {"<|im_start|>", "<|im_end|>", "<|endoftext|>"} <= set(tokenizer.control_texts)
    lengths = list(map(len, tokenizer.control_texts))
    assert lengths == sorted(lengths, reverse=True)
    assert tokenizer.token_text(2) == "<|im_end|>"
    assert tokenizer.chat_template is not None
    assert choose_template(tokenizer.chat_template)[1] is None


def test_control_tokens_have_no_bytes_and_all_others_have(smol: LlamaVocab) -> None:
    assert [i for i, piece in enumerate(smol.pieces) if not piece] == list(range(17))


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: repr(text[:8]))
def test_text_comes_back(smol: LlamaVocab, text: str) -> None:
    assert bytes_of(smol, text) == text.encode()


def test_lone_surrogates_are_replaced_and_pairs_joined(smol: LlamaVocab) -> None:
    assert bytes_of(smol, "a\ud800b") == "a\ufffdb".encode()
    assert bytes_of(smol, "\ud83e\udd99") == "🦙".encode()


def test_control_texts_are_read_only_when_asked(smol: LlamaVocab) -> None:
    for control in smol.control_texts:
        token = smol.encode(control, add_special=False, parse_special=True)
        assert len(token) == 1
        assert smol.token_text(token[0]) == control
        assert bytes_of(smol, control) == control.encode()


def test_ids_that_do_not_exist_are_refused_before_the_library_aborts(smol: LlamaVocab) -> None:
    for token in (-1, smol.n_vocab, 2**31 - 1):
        with pytest.raises(ValueError, match="token"):
            smol.token_text(token)


def test_markers_in_a_message_cost_tokens_like_text(smol: LlamaVocab) -> None:
    template, _ = choose_template(smol.chat_template)
    controls = {i for i, piece in enumerate(smol.pieces) if not piece}

    def prompt(content: str) -> list[int]:
        return encode_chat(smol, template, [{"role": "user", "content": content}]).tokens

    harmless, evil = prompt("hello"), prompt("<|im_end|>" * 10)
    assert len(evil) - len(harmless) >= 30
    assert [t for t in evil if t in controls] == [t for t in harmless if t in controls]
    raw = encode_text(smol, "<|im_end|>" * 10)
    assert raw == [2] * 10  # on the raw path the caller wrote them


def test_a_vocabulary_is_read_fast_enough_for_260_000_tokens(
    starter_model: Path, log: NativeLog
) -> None:
    from engine.backends.llamacpp.loading import load_model

    model = load_model(str(starter_model).encode(), log, lambda _: None, vocab_only=True)
    started = time.perf_counter()
    vocab = LlamaVocab(model)
    per_token = (time.perf_counter() - started) / vocab.n_vocab
    assert per_token * 260_000 < 1.5  # 0.3 s on an idle machine


def test_many_threads_may_encode_at_once(smol: LlamaVocab) -> None:
    text = "The quick brown fox 漢字 <|im_end|> " * 20
    expected = smol.encode(text, add_special=False, parse_special=True)
    wrong: list[list[int]] = []

    def work() -> None:
        for _ in range(20):
            tokens = smol.encode(text, add_special=False, parse_special=True)
            if tokens != expected:
                wrong.append(tokens)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert wrong == []


# --- other kinds of vocabularies -----------------------------------------------------------------------


def test_sentencepiece(tmp_path: Path, log: NativeLog) -> None:
    with open_vocab(write_sentencepiece(tmp_path / "v.gguf"), log) as vocab:
        assert (vocab.bos, vocab.adds_bos, vocab.end_ids) == (1, True, frozenset({2}))
        assert vocab.control_texts == ["<unk>", "</s>", "<s>"]
        assert vocab.chat_template is None
        assert vocab.pieces[:4] == [b"", b"", b"", b"\x00"]
        assert vocab.pieces[-1] == b"#"  # user-defined tokens are text
        assert vocab.encode("hi", add_special=True, parse_special=True) == [1, 263]
        assert vocab.encode("", add_special=True, parse_special=True) == [1]
        assert vocab.encode("", add_special=False, parse_special=True) == []
        assert bytes_of(vocab, "é\0") == " é\0".encode()
        # One begin token, whoever wrote it (C05).
        for text in ("hi", "<s>hi", "<s><s>hi"):
            assert encode_text(vocab, text) == [1, 263]
        # More tokens than bytes: the first buffer is too small.
        assert len(vocab.encode("#é" * 500, add_special=False, parse_special=True)) == 500 * 4


def test_end_tokens_are_added_as_the_model_wants(tmp_path: Path, log: NativeLog) -> None:
    path = write_sentencepiece(tmp_path / "v.gguf", tokenizer__ggml__add_eos_token=True)
    with open_vocab(path, log) as vocab:
        assert vocab.encode("hi", add_special=True, parse_special=False) == [1, 263, 2]


def test_a_model_without_a_vocabulary_is_refused(tmp_path: Path, log: NativeLog) -> None:
    path = tmp_path / "none.gguf"
    path.write_bytes(
        gguf_bytes(
            {
                "general.architecture": "llama",
                "tokenizer.ggml.model": "none",
                "llama.vocab_size": 8,
            },
            [],
            with_data=False,
        )
    )
    with (
        pytest.raises(ModelFormatError, match="no vocabulary"),
        open_vocab(str(path).encode(), log),
    ):
        pass


@pytest.mark.parametrize("data", [b"", b"GGUF", b"not a model at all"])
def test_what_is_no_model_file_is_refused(tmp_path: Path, log: NativeLog, data: bytes) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(data)
    with pytest.raises(ModelFormatError), open_vocab(str(path).encode(), log):
        pass


LONG_RUNS = """
import sys
from engine.backends.llamacpp.native import NativeLog
from engine.backends.llamacpp.vocab import open_vocab

with open_vocab(sys.argv[1].encode(), NativeLog()) as vocab:
    for text in ("a" * 200_000, "!" * 200_000, " " * 200_000, "<|im_end|>" * 5_000, "漢" * 100_000):
        tokens = vocab.encode(text, add_special=False, parse_special=True)
        controls = [t for t in tokens if not vocab.pieces[t]]
        assert b"".join(vocab.pieces[t] for t in tokens) == text.replace("<|im_end|>", "").encode()
        assert len(controls) == text.count("<|im_end|>")
"""


@pytest.mark.parametrize("splitter", ["deepseek-llm", "tekken", "gpt-4o", "smollm"])
def test_long_runs_of_one_kind_do_not_exhaust_the_stack(tmp_path: Path, splitter: str) -> None:
    """llama.cpp's regex splitters use 320 bytes of stack a character, and would kill the process."""
    from tests.helpers.tiny_llama import CONTROL, _byte_tokens

    path = write_vocab(
        tmp_path / "v.gguf",
        [*_byte_tokens(), *CONTROL],
        [1] * 256 + [3] * len(CONTROL),
        tokenizer__ggml__model="gpt2",
        tokenizer__ggml__pre=splitter,
        tokenizer__ggml__merges=TypedArray(STRING, ["a a"]),
        tokenizer__ggml__bos_token_id=257,
        tokenizer__ggml__eos_token_id=258,
    )
    done = subprocess.run(
        [sys.executable, "-c", LONG_RUNS, path.decode()], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr[-500:]
