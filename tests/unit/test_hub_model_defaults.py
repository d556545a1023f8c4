"""`engine.hub.model_defaults`: kept for each model, merged into settings and requests."""

import os
import subprocess
import sys

import msgspec
import pytest

from engine.config import ModelSettings
from engine.errors import SetupError
from engine.hub.model_defaults import (
    DefaultsStore,
    ModelDefaults,
    for_loading,
    for_sampling,
    over,
    understood,
)
from engine.types import SamplingParams
from tests.helpers.foreign_trees import OTHER_COMMIT, hf_file, model_bytes, put

FULL = ModelDefaults(
    context=4096,
    kv_type="q8_0",
    backend="fake",
    temperature=0.0,
    top_k=0,
    top_p=0.5,
    min_p=0.0,
    typical_p=0.9,
    repetition_penalty=1.1,
    repeat_last_n=0,
    presence_penalty=-1.0,
    frequency_penalty=0.5,
    system="Be brief.",
    stop=("END",),
)


def test_every_field_can_be_chosen_and_is_kept(tmp_path):
    assert None not in msgspec.structs.astuple(FULL)
    model = put(tmp_path / os.fsdecode(b"m\xff.gguf"), b"")
    other = put(tmp_path / "模型.gguf", b"")
    store = DefaultsStore(tmp_path / "config/defaults.json")
    assert store.read(model) == ModelDefaults()
    assert not (tmp_path / "config").exists()
    store.write(model, FULL)
    store.write(other, ModelDefaults(context=1))
    again = DefaultsStore(tmp_path / "config/defaults.json")
    assert (again.read(model), again.read(other)) == (FULL, ModelDefaults(context=1))
    again.write(model, ModelDefaults())
    assert store.read(model) == ModelDefaults()
    assert (tmp_path / "config/defaults.json").read_bytes().count(b"gguf") == 1


def test_a_downloaded_model_keeps_them_with_a_new_revision(tmp_path):
    store = DefaultsStore(tmp_path / "defaults.json")
    store.write(hf_file(tmp_path, "a/b", "m.gguf", model_bytes("m")), FULL)
    again = hf_file(tmp_path, "a/b", "m.gguf", model_bytes("m"), commit=OTHER_COMMIT)
    assert store.read(again) == FULL


def test_loading():
    general = ModelSettings(context=2048, backend="torch-cpu", backend_for={"m": "torch-cuda"})
    assert for_loading(ModelDefaults(), general) == general
    assert for_loading(ModelDefaults(temperature=1.0), general) == general
    loaded = for_loading(FULL, general)
    assert (loaded.context, loaded.kv_type, loaded.backend) == (4096, "q8_0", "fake")
    assert loaded.backend_for == {}
    assert for_loading(ModelDefaults(context=1), general).backend_for == {"m": "torch-cuda"}


def test_sampling():
    general = SamplingParams(temperature=0.5, seed=7)
    assert for_sampling(ModelDefaults(context=9, system="x"), general) == general
    params = for_sampling(FULL, general)
    assert (params.temperature, params.top_k, params.min_p, params.seed) == (0.0, 0, 0.0, 7)
    assert (params.repetition_penalty, params.presence_penalty) == (1.1, -1.0)


def test_the_users_choice_goes_before_a_suggestion():
    suggested = ModelDefaults(temperature=0.2, system="suggested", stop=("a",))
    chosen = ModelDefaults(temperature=0.0, system="")
    assert over(chosen, suggested) == ModelDefaults(temperature=0.0, system="", stop=("a",))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", -0.1),
        ("temperature", float("nan")),
        ("temperature", float("inf")),
        ("temperature", "1"),
        ("temperature", None),
        ("top_k", True),
        ("top_k", 2**70),
        ("top_p", 0.0),
        ("context", 0),
        ("kv_type", "q4_0"),
        ("system", "x" * 100_001),
        ("stop", ["x"] * 17),
        ("stop", [""]),
        ("stop", "x"),
        ("unheard of", 1),
    ],
)
def test_foreign_claims_that_are_not_possible_are_passed_over(name, value):
    assert understood({"min_p": 0.1, name: value}) == ModelDefaults(min_p=0.1)


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"[]",
        b'{"version": 2, "models": {}}',
        b'{"version": 1, "models": {"/m": {"temperature": NaN}}}',
        b'{"version": 1, "models": {"/m": {"temperature": 99}}}',
        b'{"version": 1, "models": {"\\ud800": {}}}',
        b"[" * 100_000,
    ],
)
def test_a_damaged_file_is_set_aside(tmp_path, damage):
    file = put(tmp_path / "defaults.json", damage)
    store = DefaultsStore(file)
    with pytest.raises(SetupError, match="damaged") as caught:
        store.read(tmp_path / "m.gguf")
    assert caught.value.hint
    assert (tmp_path / "defaults.broken-1.json").read_bytes() == damage
    store.write(tmp_path / "m.gguf", FULL)
    assert store.read(tmp_path / "m.gguf") == FULL


def test_processes_that_write_at_once_lose_nothing(tmp_path):
    code = (
        "import sys; from pathlib import Path\n"
        "from engine.hub.model_defaults import DefaultsStore, ModelDefaults\n"
        "store = DefaultsStore(Path(sys.argv[1]))\n"
        "for i in range(1, 11): store.write(Path(f'/{sys.argv[2]}/{i}'), ModelDefaults(context=i))"
    )
    file = tmp_path / "defaults.json"
    children = [subprocess.Popen([sys.executable, "-c", code, file, str(n)]) for n in range(3)]
    assert [child.wait(timeout=30) for child in children] == [0, 0, 0]
    assert file.read_bytes().count(b"context") == 30
