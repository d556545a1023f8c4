"""`engine.hub.choices`: which downloads a repository's file list means (cases C26, C28, C34)."""

from collections import Counter
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.api.hub import HubFile
from engine.errors import InvalidRequest
from engine.hub.choices import choices_of, choose, quantization_of
from engine.hub.split import part_name

SHA = "ab" * 32


def files(*paths: str) -> list[HubFile]:
    return [HubFile(path, 1000 + number, SHA) for number, path in enumerate(paths)]


@pytest.mark.parametrize(
    ("path", "quantization"),
    [
        ("Qwen3-4B-Q4_K_M.gguf", "Q4_K_M"),
        ("qwen2.5-coder-7b-instruct-q4_k_m.gguf", "Q4_K_M"),
        ("SmolLM2-135M-Instruct.Q4_1.gguf", "Q4_1"),
        ("Llama-3.2-1B-Instruct-Q4_0_8_8.gguf", "Q4_0_8_8"),
        ("Llama-3.2-1B-Instruct-IQ4_XS.gguf", "IQ4_XS"),
        ("m-IQ2_XXS.gguf", "IQ2_XXS"),
        ("m-IQ4_NL.gguf", "IQ4_NL"),
        ("m-Q6_K_L.gguf", "Q6_K_L"),
        ("m-Q2_K.gguf", "Q2_K"),
        ("m-UD-Q4_K_XL.gguf", "UD-Q4_K_XL"),
        ("m-UD-IQ1_S.gguf", "UD-IQ1_S"),
        ("m.i1-Q4_K_M.gguf", "i1-Q4_K_M"),
        ("gpt-oss-20b-mxfp4.gguf", "MXFP4"),
        ("m-MXFP4_MOE.gguf", "MXFP4_MOE"),
        ("m-TQ1_0.gguf", "TQ1_0"),
        ("m-bf16.gguf", "BF16"),
        ("m.fp16.gguf", "F16"),
        ("m-F32.gguf", "F32"),
        ("ggml-model-q8.gguf", "Q8"),
        ("Q4_K_M/m-00001-of-00002.gguf", "Q4_K_M"),
        ("BF16/m-Q8_0.gguf", "Q8_0"),
        ("Qwen3-4B.gguf", ""),
        ("deepseek-q3x.gguf", ""),
        ("q4_k_m-finetune-Q8_0.gguf", "Q8_0"),
    ],
)
def test_the_quantization_is_read_from_the_name(path: str, quantization: str):
    assert quantization_of(path) == quantization


def test_parts_are_one_choice_and_missing_ones_are_counted():
    parts = [f"Q8_0/{part_name('big-Q8_0', number, 3)}" for number in (3, 1)]
    (choice,) = choices_of(files(*parts))
    assert choice.name == "Q8_0/big-Q8_0-00001-of-00003.gguf"
    assert [file.path for file in choice.files] == [parts[1], parts[0]]
    assert (choice.size_bytes, choice.missing_parts) == (2001, 1)


def test_equal_names_in_folders_stay_apart_and_the_smallest_comes_first():
    listed = [HubFile("b/m.gguf", 30), HubFile("m.gguf", 20), HubFile("a/m.gguf", 10)]
    assert [choice.name for choice in choices_of(listed)] == ["a/m.gguf", "m.gguf", "b/m.gguf"]


def test_a_kind_is_read_from_the_file_name_and_not_from_its_folder():
    kinds = {
        choice.name: choice.kind
        for choice in choices_of(
            files(
                "m-Q4_K_M.gguf",
                "mmproj-model-f16.gguf",
                "m.mmproj-Q8_0.gguf",
                "m-draft-Q4_0.gguf",
                "mtp-m-Q8_0.gguf",
                "m-EAGLE3-F16.gguf",
                "drafty-model-Q4_0.gguf",
                "mtp/m-Q5_K_M.gguf",
            )
        )
    }
    assert kinds == {
        "m-Q4_K_M.gguf": "model",
        "mmproj-model-f16.gguf": "mmproj",
        "m.mmproj-Q8_0.gguf": "mmproj",
        "m-draft-Q4_0.gguf": "draft",
        "mtp-m-Q8_0.gguf": "draft",
        "m-EAGLE3-F16.gguf": "draft",
        "drafty-model-Q4_0.gguf": "model",
        "mtp/m-Q5_K_M.gguf": "model",
    }


@pytest.mark.parametrize(
    "path",
    [
        "imatrix.gguf",
        "m.imatrix.gguf",
        "imatrix_unsloth.gguf",
        "ggml-vocab-llama.gguf",
        "m-lora-f16.gguf",
        "README.md",
        "m.safetensors",
        "m-Q4_0.gguf.part1of2",
    ],
)
def test_what_is_no_model_is_left_out(path: str):
    assert choices_of(files(path)) == ()


def test_a_model_made_with_an_imatrix_is_a_model():
    assert len(choices_of(files("m-imatrix-Q4_K_M.gguf"))) == 1


@pytest.mark.parametrize(
    "path",
    [
        *("../m.gguf", "/etc/m.gguf", "a/../../m.gguf", "..\\m.gguf", "a//m.gguf", "./m.gguf"),
        *("~/m.gguf", "C:/m.gguf", "C:m.gguf", "CON/m.gguf", "con.gguf", "LPT1.x.gguf"),
        *("a./m.gguf", "a /m.gguf", "a\0.gguf", "a\nb.gguf", "a\u202eb.gguf", "\ud800.gguf"),
        *("x" * 300 + ".gguf", "._m.gguf", ".gguf", "a?.gguf"),
    ],
)
def test_hostile_paths_are_left_out_and_hide_nothing_else(path: str):
    assert [choice.name for choice in choices_of(files(path, "m.gguf"))] == ["m.gguf"]


@pytest.mark.parametrize("path", ["模型-Q4_0.gguf", "a b/m (1).gguf", "%2fx.gguf"])
def test_unusual_names_are_kept(path: str):
    assert [choice.name for choice in choices_of(files(path))] == [path]


def test_a_checksum_that_is_none_is_dropped():
    listed = [HubFile("a.gguf", 1, "../x"), HubFile("b.gguf", 1, SHA.upper())]
    assert [choice.files[0].sha256 for choice in choices_of(listed)] == ["", SHA]


NAMES = st.text(st.sampled_from("aQ4_K.-/\\0 m~:\n模"), max_size=12)
PATHS = st.one_of(
    NAMES,
    NAMES.map(lambda name: f"{name}.gguf"),
    st.builds(
        lambda folder, name, number, total: f"{folder}{part_name(name, number, total)}",
        st.sampled_from(["", "a/", "../"]),
        st.sampled_from(["m", "m-Q4_0", "M"]),
        st.integers(0, 4),
        st.integers(1, 4),
    ),
)


@given(
    st.lists(st.builds(HubFile, PATHS, st.integers(-1, 5), st.sampled_from(["", SHA])), max_size=30)
)
def test_every_file_belongs_to_at_most_one_choice_and_stays_below_the_folder(listed: list[HubFile]):
    choices = choices_of(listed)
    used = Counter(file.path for choice in choices for file in choice.files)
    assert set(used.values()) <= {1}
    assert set(used) <= {file.path for file in listed}
    assert len({choice.name for choice in choices}) == len(choices)
    assert [c.size_bytes for c in choices] == sorted(c.size_bytes for c in choices)
    for choice in choices:
        assert choice.missing_parts >= 0
        assert choice.size_bytes == sum(file.size_bytes for file in choice.files) > 0
        assert choose(choices, choice.name, "o/r") == choice
        for file in choice.files:
            for pure in (PurePosixPath, PureWindowsPath):
                assert not pure(file.path).is_absolute()
                assert ".." not in pure(file.path).parts
            assert Path("/root", file.path).resolve().is_relative_to("/root")


@given(
    st.lists(st.builds(HubFile, PATHS, st.integers(1, 5)), max_size=20, unique_by=lambda f: f.path)
)
def test_the_order_of_the_list_does_not_matter(listed: list[HubFile]):
    assert choices_of(listed) == choices_of(listed[::-1])


def test_a_choice_is_found_by_name_by_quantization_or_by_default():
    choices = choices_of(
        files(
            "m-Q8_0.gguf", "m-Q4_K_M.gguf", "m.i1-Q5_K_M.gguf", "mmproj-m-F16.gguf", "m-Q2_K.gguf"
        )
    )
    assert choose(choices, "m-Q8_0.gguf", "o/r").quantization == "Q8_0"
    assert choose(choices, "mmproj-m-F16.gguf", "o/r").kind == "mmproj"
    assert choose(choices, "q8_0", "o/r").name == "m-Q8_0.gguf"
    assert choose(choices, "Q5_K_M", "o/r").name == "m.i1-Q5_K_M.gguf"
    assert choose(choices, "", "o/r").name == "m-Q4_K_M.gguf"


def test_a_projector_is_never_taken_for_the_model():
    choices = choices_of(files("mmproj-F16.gguf", "m-Q8_0.gguf"))
    assert choose(choices, "", "o/r").name == "m-Q8_0.gguf"
    with pytest.raises(InvalidRequest, match="no files for “F16”"):
        choose(choices, "F16", "o/r")


def test_the_default_is_whole():
    choices = choices_of(files(part_name("m-Q4_K_M", 1, 2), "m-Q8_0.gguf"))
    assert choose(choices, "", "o/r").name == "m-Q8_0.gguf"


def test_what_cannot_be_found_lists_what_there_is():
    choices = choices_of(files("a-Q4_0.gguf", "b/a-Q4_0.gguf", "a-Q8_0.gguf"))
    with pytest.raises(InvalidRequest) as caught:
        choose(choices, "Q3_K_M", "o/r")
    assert caught.value.hint == "Choose one of: Q4_0, Q8_0."
    with pytest.raises(InvalidRequest) as caught:
        choose(choices, "Q4_0", "o/r")
    assert "a-Q4_0.gguf, b/a-Q4_0.gguf" in caught.value.hint
    with pytest.raises(InvalidRequest, match="no GGUF files"):
        choose((), "", "o/r")
