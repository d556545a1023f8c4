"""How large torch is before it is fetched, how far pip has come, and whether there is room."""

import sys
from pathlib import Path
from typing import Any

import pytest

from engine.errors import SetupError
from installer import disk, pip, torch_size
from installer.progress import Line, PipReader, size
from installer.torch_size import Size


def report(*files: tuple[str, str, str]) -> dict[str, Any]:
    return {
        "version": "1",
        "pip_version": "26.3",
        "install": [
            {
                "download_info": {"url": url, "archive_info": {"hashes": {"sha256": "00"}}},
                "is_direct": False,
                "metadata": {"name": name, "version": version},
            }
            for name, version, url in files
        ],
    }


TORCH = ("torch", "2.13.0", "https://index/torch-2.13.0.whl")
CUBLAS = ("nvidia-cublas", "13.1.1.3", "https://index/cublas.whl")


def test_the_size_is_the_sum_of_what_the_servers_say() -> None:
    lengths = {TORCH[2]: 526_574_961, CUBLAS[2]: 423_100_000}
    found = torch_size.measure(report(TORCH, CUBLAS), lengths.__getitem__)
    assert found == Size("2.13.0", remote=949_674_961)
    assert found.amount() == "950 MB to download"
    assert Size("2.13.0", remote=2_740_735_246).amount() == "2.7 GB to download"


def test_files_on_this_machine_are_not_called_a_download(tmp_path: Path) -> None:
    wheel = tmp_path / "torch-2.13.0+cpu.whl"
    wheel.write_bytes(bytes(3_000_000))
    url = wheel.as_uri()
    assert "%2B" in url
    here = ("torch", "2.13.0+cpu", url)
    found = torch_size.measure(report(here, CUBLAS), lambda _url: 1_000_000)
    assert found.amount() == "3 MB on this machine's disk, 1 MB to download"
    assert torch_size.measure(report(here)).amount() == "3 MB, all on this machine's disk"


def test_an_unknown_size_is_said() -> None:
    some = torch_size.measure(report(TORCH, CUBLAS), {TORCH[2]: 5_000_000}.get)
    assert some.amount() == "at least 5 MB to download"
    none = torch_size.measure(report(TORCH, CUBLAS), lambda _url: None)
    assert "could not be found" in none.amount()
    assert "could not be found" in Size(asked=False).amount()
    assert torch_size.measure(report()) == Size()
    assert torch_size.content_length("ftp://index/torch.whl") is None


@pytest.mark.parametrize(
    ("text", "stops"),
    [
        ("  Downloading torch-2.13.0-cp311-cp311-manylinux_2_28_x86_64.whl (526.6 MB)\n", True),
        ("  Downloading everything-1-py3-none-any.whl (1.2 GB)", True),
        ("  Downloading sympy-1.14.0-py3-none-any.whl (6.3 MB)", False),
        ("  Downloading torch-2.13.0-cp311-linux.whl.metadata (31 kB)", False),
        ("Collecting torch==2.13.0", False),
    ],
)
def test_pip_may_not_fetch_torch_to_answer(text: str, stops: bool) -> None:
    if stops:
        with pytest.raises(torch_size.TooLargeError):
            torch_size.refuse_large(text)
    else:
        torch_size.refuse_large(text)


def test_pip_s_byte_counts_become_a_share() -> None:
    reader = PipReader()
    assert reader.read("Progress 1 of 2") is None
    step = reader.read("  Downloading torch-2.13.0-cp311-x.whl (526.6 MB)")
    assert step == "torch 2.13.0 (526.6 MB)"
    assert reader.read("Progress 250 of 1000\n") == "torch 2.13.0 (526.6 MB), 25 %"
    assert reader.read("Progress 250 of 0\n") is None
    assert [size(2_740_735_246), size(999_600_000), size(14_200)] == ["2.7 GB", "1.0 GB", "14 kB"]


def test_room_is_asked_for_once_a_file_system(tmp_path: Path) -> None:
    disk.check_space({tmp_path / "not" / "there": 1, tmp_path: 1})
    most = 1 << 61
    with pytest.raises(SetupError, match=size(2 * most)):
        disk.check_space({tmp_path / "a": most, tmp_path / "b": most})


def test_pip_is_ended_when_its_watcher_raises(tmp_path: Path) -> None:
    def watch(_text: str) -> None:
        raise torch_size.TooLargeError

    with pytest.raises(torch_size.TooLargeError):
        pip.run(
            Path(sys.executable),
            ["--version"],
            what="x",
            line=Line(),
            log=tmp_path / "log",
            watch=watch,
        )
