"""However an answer is cut into pieces, its blocks are the same, and together they are the answer."""

from hypothesis import given
from hypothesis import strategies as st

from app.widgets.chat.blocks import BlockSplitter, merged, split

MARKUP = [
    "```",
    "````",
    "~~~",
    "\n",
    "\n\n",
    "- ",
    "1. ",
    "  ",
    "    ",
    "\t",
    "> ",
    "| a |",
    "py",
    "`",
    "x y",
    "\r\n",
    "é",
    "😀",
    "#",
]
SOURCES = st.lists(st.sampled_from(MARKUP), max_size=40).map("".join) | st.text(max_size=60)
WORDS = st.from_regex(r"[a-z][a-z ]{0,12}[a-z]", fullmatch=True)
PARTS = st.one_of(
    st.lists(WORDS, min_size=1, max_size=4).map("\n".join),
    st.lists(WORDS, min_size=1, max_size=4).map(lambda w: "\n\n".join(f"- {x}" for x in w)),
    st.lists(WORDS, min_size=1, max_size=4).map(
        lambda w: "\n".join(["| a | b |", "|---|---|", *(f"| {x} | 1 |" for x in w)])
    ),
)
CODE = st.lists(st.text(" \tab`~:{}é😀&<", max_size=12), max_size=6).map("\n".join)


@given(SOURCES, st.data())
def test_blocks_and_tail_are_the_source_for_every_split(source: str, data: st.DataObject) -> None:
    splitter, blocks, at = BlockSplitter(), [], 0
    while at < len(source):
        size = data.draw(st.integers(1, 7))
        blocks += splitter.push(source[at : at + size])
        at = min(at + size, len(source))
        assert "".join(b.source for b in blocks) + splitter.tail.source == source[:at]
    whole = BlockSplitter()
    assert blocks == whole.push(source)
    assert splitter.tail == whole.tail


@given(SOURCES)
def test_merged_blocks_are_the_source(source: str) -> None:
    blocks = split(source)
    joined = list(merged(blocks, 30))
    assert "".join(b.source for b in joined) == source
    assert [b for b in joined if b.kind == "code"] == [b for b in blocks if b.kind == "code"]


@given(st.lists(PARTS, min_size=1, max_size=6))
def test_paragraphs_lists_and_tables_stay_whole(parts: list[str]) -> None:
    blocks = split("\n\n".join(parts) + "\n")
    for part in parts:
        assert any(part in block.source for block in blocks)


@given(st.lists(CODE, min_size=1, max_size=4))
def test_code_comes_out_as_it_went_in(codes: list[str]) -> None:
    fence = "`" * 20
    source = "text\n\n".join(f"{fence}py\n{code}\n{fence}\n" for code in codes)
    found = [b.code for b in split(source) if b.kind == "code"]
    assert found == codes
