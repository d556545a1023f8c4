"""Reading ninja and pip, and the changing line."""

import io

import pytest

from installer.progress import Line, compile_status, duration, ninja_step, pip_step


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("[12/83] /usr/bin/c++ -DX -c a.cpp", (12, 83)),
        ("  [83/83] Linking CXX shared library", (83, 83)),
        ("[0/2] Re-checking", None),
        ("[5/4] nonsense", None),
        ("  warning: array[1/2] ", None),
        ("-- Configuring done", None),
        ("[1/83]no space", None),
    ],
)
def test_ninja_step(line: str, step: tuple[int, int] | None) -> None:
    assert ninja_step(line) == step


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "  Downloading numpy-2.3.5-cp311-cp311-manylinux_2_27.whl (16.8 MB)\n",
            "numpy 2.3.5 (16.8 MB)",
        ),
        ("  Using cached pkg/cmake-4.4.5-py3-none-any.whl (30 kB)", "cmake 4.4.5 (30 kB)"),
        ("Processing ./x/tqdm-4.70.1-py3-none-any.whl (from -r base.txt (line 5))", "tqdm 4.70.1"),
        (
            "Downloading llama_cpp_python-0.3.36.tar.gz (76.6 MB)",
            "llama_cpp_python 0.3.36 (76.6 MB)",
        ),
        ("Installing collected packages: a, b", "unpacking"),
        ("Collecting numpy==2.3.5", None),
    ],
)
def test_pip_step(line: str, said: str | None) -> None:
    assert pip_step(line) == said


def test_durations() -> None:
    assert duration(0.4) == "0 s"
    assert duration(59.6) == "1 min 00 s"
    assert duration(200) == "3 min 20 s"


def test_compile_status_estimates_the_rest_once_there_is_something_to_go_by() -> None:
    assert compile_status(None, 3) == "Compiling llama.cpp: preparing, 3 s"
    early = compile_status((1, 80), 2)
    assert "1 %" in early
    assert "left" not in early
    assert compile_status((20, 80), 30).endswith(
        "25 % (20 of 80), 30 s so far, about 1 min 30 s left"
    )
    assert "left" not in compile_status((80, 80), 90)


def test_a_terminal_gets_one_line_that_is_rewritten() -> None:
    out = Terminal()
    line = Line(out)
    for text in ("one", "two"):
        line.show(text)
    line.say("done")
    shown = out.getvalue()
    assert shown.count("\n") == 1
    assert shown.endswith("\r\x1b[2Kdone\n")


def test_without_a_terminal_it_speaks_now_and_then() -> None:
    out = io.StringIO()
    now = iter([0.0, 1.0, 5.0, 100.0, 100.0])
    line = Line(out, clock=lambda: next(now))
    for text in ("first", "dropped", "dropped too", "later"):
        line.show(text)
    assert out.getvalue() == "first\nlater\n"
