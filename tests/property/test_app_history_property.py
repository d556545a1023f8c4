"""`app.history` against plain Python objects, under any order of calls and restarts."""

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from app.history import History
from app.history_records import clean_title, title_from

texts = st.text(alphabet="aAbB éÉяЯ天气%_\\\n\"'", max_size=12)
picks = st.integers(0, 10**6)


@dataclass
class Node:
    """A conversation (the root) or a message; its children in order, and the one that is shown."""

    id: int
    parent: "Node | None" = None
    role: str = ""
    content: str = ""
    state: str = "complete"
    children: list["Node"] = field(default_factory=list)
    shown: "Node | None" = None

    def add(self, child: "Node") -> None:
        self.children.append(child)
        self.shown = child

    def branch(self) -> list["Node"]:
        return [self.shown, *self.shown.branch()] if self.shown else []


@dataclass
class Chat:
    root: Node
    title: str = ""
    draft: str = ""
    deleted: bool = False
    messages: list[Node] = field(default_factory=list)


class Machine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "history.db"
        self.history = History(self.path, clock=lambda: 0.0)
        self.chats: list[Chat] = []  # newest last

    def teardown(self) -> None:
        self.history.close()
        self.folder.cleanup()

    def chat(self, pick: int) -> Chat:
        return self.chats[pick % len(self.chats)]

    def message(self, pick: int, role: str) -> tuple[Chat, Node] | None:
        found = [(c, m) for c in self.chats for m in c.messages if role in ("", m.role)]
        return found[pick % len(found)] if found else None

    def to_the_top(self, chat: Chat) -> None:
        self.chats.remove(chat)
        self.chats.append(chat)

    @rule()
    def create(self) -> None:
        self.chats.append(Chat(Node(self.history.create().id)))

    @precondition(lambda self: self.chats)
    @rule(pick=picks, text=texts, at=picks)
    def send(self, pick, text, at) -> None:
        chat = self.chat(pick)
        parents = [chat.root, *(m for m in chat.messages if m.role == "assistant")]
        parent = parents[at % len(parents)]
        stored = self.history.add_user(
            chat.root.id, text, None if parent is chat.root else parent.id
        )
        node = Node(stored.id, parent, "user", text)
        parent.add(node)
        chat.messages.append(node)
        chat.draft = ""
        chat.title = chat.title or title_from(text)
        self.to_the_top(chat)
        assert (stored.sibling + 1, stored.num_siblings) == (len(parent.children),) * 2

    @rule(pick=picks)
    def begin(self, pick) -> None:
        if found := self.message(pick, "user"):
            chat, asked = found
            stored = self.history.begin_answer(asked.id, model="m")
            node = Node(stored.id, asked, "assistant", "", "streaming")
            asked.add(node)
            chat.messages.append(node)
            self.to_the_top(chat)

    @rule(pick=picks, text=texts)
    def write(self, pick, text) -> None:
        if found := self.message(pick, "assistant"):
            self.history.write_answer(found[1].id, text, text)
            if found[1].state == "streaming":
                found[1].content = text

    @rule(
        pick=picks,
        text=texts,
        state=st.sampled_from(["complete", "stopped", "interrupted", "failed"]),
    )
    def finish(self, pick, text, state) -> None:
        if found := self.message(pick, "assistant"):
            stored = self.history.finish_answer(found[1].id, state, content=text, reasoning="")
            found[1].content, found[1].state = text, state
            assert (stored.content, stored.state) == (text, state)

    @rule(pick=picks)
    def resume(self, pick) -> None:
        if found := self.message(pick, "assistant"):
            self.history.resume_answer(found[1].id)
            found[1].state = "streaming"

    @rule(pick=picks)
    def select(self, pick) -> None:
        if found := self.message(pick, ""):
            node = found[1]
            self.history.select(node.id)
            assert self.history.siblings(node.id) == [n.id for n in node.parent.children]
            while node.parent:
                node.parent.shown = node
                node = node.parent

    @precondition(lambda self: self.chats)
    @rule(pick=picks, text=texts)
    def rename_or_type(self, pick, text) -> None:
        chat = self.chat(pick)
        if pick % 2:
            self.history.rename(chat.root.id, text)
            chat.title = clean_title(text) or chat.title
        else:
            self.history.set_draft(chat.root.id, text)
            chat.draft = text

    @precondition(lambda self: self.chats)
    @rule(pick=picks, deleted=st.booleans())
    def delete_or_restore(self, pick, deleted) -> None:
        chat = self.chat(pick)
        (self.history.delete if deleted else self.history.restore)(chat.root.id)
        chat.deleted = deleted

    @rule()
    def purge(self) -> None:
        self.history.purge_deleted(0)
        self.chats = [chat for chat in self.chats if not chat.deleted]

    @rule()
    def restart(self) -> None:
        self.history.close()
        self.history = History(self.path, clock=lambda: 0.0)
        assert self.history.notice == ""
        for message in (m for chat in self.chats for m in chat.messages):
            if message.state == "streaming":
                message.state = "interrupted"

    @rule(query=texts)
    def search(self, query) -> None:
        wanted = query.strip().casefold()
        found = [
            chat.root.id
            for chat in reversed(self.chats)
            if not chat.deleted
            and any(
                wanted in text.casefold()
                for text in (chat.title, *(m.content for m in chat.messages))
            )
        ]
        assert [c.id for c in self.history.conversations(query)] == found

    @invariant()
    def list_is_equal(self) -> None:
        assert [(c.id, c.title, c.draft) for c in self.history.conversations()] == [
            (c.root.id, c.title, c.draft) for c in reversed(self.chats) if not c.deleted
        ]

    @invariant()
    def branches_are_equal(self) -> None:
        for chat in self.chats:
            assert [
                (m.id, m.role, m.content, m.state, m.num_siblings)
                for m in self.history.path(chat.root.id)
            ] == [
                (n.id, n.role, n.content, n.state, len(n.parent.children))
                for n in chat.root.branch()
            ]


Machine.TestCase.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
TestHistory = Machine.TestCase
