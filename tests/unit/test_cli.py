"""The command line: what it accepts, and one sentence for what it does not."""

import json
from pathlib import Path

import pytest

from engine.cli import build_parser, main
from tests.helpers.tiny_llama import write_tiny_llama


def test_options_before_and_after_the_command() -> None:
    parse = build_parser().parse_args
    assert parse(["--model", "a", "chat", "hi"]).model == "a"
    assert parse(["chat", "hi", "--model", "b", "--max-tokens", "8"]).model == "b"
    assert parse(["--serve", "--port", "0"]).serve
    assert parse(["models", "list", "--json"]).json


@pytest.mark.parametrize("argv", [["frob"], ["--port", "x"], ["--port", "70000"], ["models"]])
def test_mistakes_are_one_line(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(argv)
    assert caught.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_serve_and_a_command_do_not_go_together(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--serve", "doctor"])
    assert "do not go together" in capsys.readouterr().err


def test_models_add_list_remove(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = ["--data-dir", str(tmp_path / "data")]
    file = write_tiny_llama(tmp_path / "my model.gguf")
    assert main([*data, "models", "add", str(file)]) == 0
    assert "Added my model." in capsys.readouterr().out
    assert main([*data, "models", "list", "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)
    assert (entry["id"], entry["architecture"], entry["problem"]) == ("my model", "llama", None)
    assert main([*data, "models", "remove", "my model", "--json"]) == 0
    assert main([*data, "models", "list"]) == 0
    assert "No models yet" in capsys.readouterr().out
    assert file.exists()


def test_errors_are_sentences_with_a_next_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = ["--data-dir", str(tmp_path)]
    assert main([*data, "models", "remove", "ghost"]) == 1
    error = capsys.readouterr().err
    assert "ghost" in error
    assert "models add" in error
    assert main([*data, "models", "add", str(tmp_path / "none.gguf")]) == 1
    assert "Traceback" not in capsys.readouterr().err


def test_doctor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "models").mkdir()
    write_tiny_llama(tmp_path / "models" / "m.gguf")
    (tmp_path / "models" / "bad.gguf").write_bytes(b"")
    data = ["--data-dir", str(tmp_path)]
    assert main([*data, "doctor", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["models"]["m"]["backend"] == "llama.cpp"
    assert "empty" in report["models"]["bad"]["problem"]
    assert main([*data, "doctor"]) == 0
    text = capsys.readouterr().out
    assert "Cores" in text
    assert "llama.cpp on" in text
    assert "! " in text
