"""Splitting streaming Markdown: CommonMark's fences, lists that hold code, what Copy returns."""

import pytest

from app.widgets.chat.blocks import Block, BlockSplitter, definitions, merged, split


def kinds(source: str) -> list[tuple[str, str]]:
    return [(b.kind, b.code if b.kind == "code" else b.source) for b in split(source)]


def test_paragraphs_are_committed_at_blank_lines() -> None:
    splitter = BlockSplitter()
    assert splitter.push("one\ntwo\n") == []
    assert splitter.push("\n") == [Block("text", "one\ntwo\n\n")]
    assert splitter.tail.source == ""


@pytest.mark.parametrize(
    ("source", "code", "language"),
    [
        ("```py\nx = 1\n```\n", "x = 1", "py"),
        ("```py\nx = 1\n```", "x = 1", "py"),
        ("```py\nx = 1", "x = 1", "py"),
        ("```py\nx = 1\n", "x = 1", "py"),
        ("````md\n```py\nx\n```\n````\n", "```py\nx\n```", "md"),
        ("~~~\n```\n~~~\n", "```", ""),
        ("~~~ c++ title=`x`\nx\n~~~~~\n", "x", "c++"),
        ("```\n\n\n```\n", "\n", ""),
        ("```\n```\n", "", ""),
        ("```\nx\n``\n```x\n~~~\n```  \n", "x\n``\n```x\n~~~", ""),
        ("  ```\n  x\n y\n    z\n  ```\n", "x\ny\n  z", ""),
        ("```\n\tx\n  \ty \n```\n", "\tx\n  \ty ", ""),
        ("```py\r\nx\r\n\r\ny\r\n```\r\n", "x\r\n\r\ny", "py"),
        (
            "```\n&lt; &amp; \u00a0 a\u200db \u2028 \x0b\n```\n",
            "&lt; &amp; \u00a0 a\u200db \u2028 \x0b",
            "",
        ),
        ("```\nx\n    ```\n```\n", "x\n    ```", ""),
        ("```py\n```py\nx\n```\n", "```py\nx", "py"),
    ],
)
def test_fences(source: str, code: str, language: str) -> None:
    (block,) = split(source)
    assert (block.kind, block.code, block.language) == ("code", code, language)
    assert block.source == source


@pytest.mark.parametrize(
    "source",
    ["``` a`b\nx\n", "    ```\n    x\n", "a `` ``` `` b\n", "> ```\n> x\n> ```\n", "``\nx\n``\n"],
)
def test_no_fences(source: str) -> None:
    assert [b.kind for b in split(source)] == ["text"]


def test_a_fence_ends_a_paragraph() -> None:
    assert kinds("Look:\n```\nx\n```\nthere\n") == [
        ("text", "Look:\n"),
        ("code", "x"),
        ("text", "there\n"),
    ]


def test_fences_in_lists_are_blocks_of_their_own() -> None:
    blocks = split(
        "1. Install:\n   ```sh\n   pip\n   ```\n   then\n2. Run:\n\n   ```\n   go\n   ```\n"
    )
    assert [(b.kind, b.code or b.markdown, b.indent) for b in blocks] == [
        ("text", "1. Install:\n", 0),
        ("code", "pip", 3),
        ("text", "then\n", 3),
        ("text", "2. Run:\n\n", 0),
        ("code", "go", 3),
    ]


def test_nested_lists_keep_their_depth() -> None:
    blocks = split("- a\n  - b\n    ```\n    x\n      y\n    ```\n  - c\n- d\n")
    assert [(b.code or b.markdown, b.indent) for b in blocks] == [
        ("- a\n  - b\n", 0),
        ("x\n  y", 4),
        ("- c\n", 2),
        ("- d\n", 0),
    ]


def test_code_less_indented_than_its_list_item_stays_code() -> None:
    blocks = split("1. a\n   ```\ndef f():\n    x\n   ```\n2. b\n")
    assert [b.kind for b in blocks] == ["text", "code", "text"]
    assert blocks[1].code == "def f():\n x"


def test_a_fence_right_after_a_marker() -> None:
    assert kinds("- ```\n  x\n  ```\n- y\n") == [("text", "- "), ("code", "x"), ("text", "- y\n")]


@pytest.mark.parametrize(
    "part",
    [
        "- a\n\n- b\n\n  more\n\n- c\n",
        "1. a\n\n   b\n\n2. c\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n",
        "one\ntwo\nthree\n",
        "> a\n> b\n",
    ],
)
def test_nothing_is_cut_in_its_middle(part: str) -> None:
    blocks = split(f"before\n\n{part}\nafter\n\n")
    assert any(part in b.source for b in blocks)
    assert not any("after" in b.source and part in b.source for b in blocks)


def test_the_tail_is_what_it_would_be_if_the_source_ended() -> None:
    splitter = BlockSplitter()
    splitter.push("```py\nx\n``")
    assert splitter.tail.code == "x\n``"
    splitter.push("`")
    assert splitter.tail.code == "x"
    splitter.push("x")
    assert splitter.tail.code == "x\n```x"


def test_merging_keeps_the_source_and_the_code_apart() -> None:
    source = "a\n\nb\n\n```\nx\n```\nc\n\nd\n\n"
    blocks = list(merged(split(source), 100))
    assert "".join(b.source for b in blocks) == source
    assert [b.kind for b in blocks] == ["text", "code", "text"]
    assert [b.source for b in merged(split("aa\n\nbb\n\ncc"), 8)] == ["aa\n\nbb\n\n", "cc"]


def test_link_definitions_are_found() -> None:
    assert definitions("[a][1]\n\n[1]: https://x.org\n") == "[1]: https://x.org"
    assert definitions("nothing [a](b)") == ""
