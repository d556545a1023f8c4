"""C42: a process killed while it writes costs nothing that a call had saved before it returned."""

import os
import random
import signal
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from app.history import History

ROOT = Path(__file__).resolve().parents[2]

WRITER = """
import sys
from pathlib import Path
from app.history import History

history = History(Path(sys.argv[1]))
chat, parent = history.create(), None
for turn in range(500):
    user = history.add_user(chat.id, f"question {turn} " + "x" * 3000, parent)
    print("sent", user.id, turn, flush=True)
    parent = history.begin_answer(user.id, model="m").id
    text = ""
    for number in range(20):
        text += f"{number} word " * 40
        history.write_answer(parent, text, text)
        print("wrote", parent, len(text), flush=True)
        history.set_draft(chat.id, f"draft {turn} {number}")
        print("draft", chat.id, turn * 100 + number, flush=True)
    history.finish_answer(parent, "complete", content=text + "end", reasoning=text)
    print("done", parent, len(text) + 3, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9")
def test_kill_9_while_writing(tmp_path):
    path, chance = tmp_path / "history.db", random.Random(3)
    for number_killed in range(1, 21):
        child = subprocess.Popen(
            [sys.executable, "-c", WRITER, path], cwd=ROOT, stdout=subprocess.PIPE
        )
        lines = list(islice(child.stdout, chance.randrange(1, 150)))
        os.kill(child.pid, signal.SIGKILL)
        lines += [line for line in child.stdout.read().splitlines(True) if line.endswith(b"\n")]
        child.stdout.close()
        assert child.wait() == -signal.SIGKILL
        told = {}
        for line in lines:
            what, name, number = line.split()
            if what == b"sent":
                told.pop("draft", None)  # was emptied by it
            told[what.decode()] = int(name), int(number)

        history = History(path)
        assert history.notice == ""
        assert history._file.rows("PRAGMA integrity_check") == [("ok",)]
        listed = history.conversations()
        assert len(listed) == number_killed
        messages = {m.id: m for m in history.path(listed[0].id)}
        sent, turn = told["sent"]
        assert messages[sent].content == f"question {turn} " + "x" * 3000
        if "wrote" in told:
            wrote, length = told["wrote"]
            assert len(messages[wrote].content) >= length
            assert len(messages[wrote].reasoning) >= length
        if "done" in told:
            done, length = told["done"]
            assert (messages[done].state, len(messages[done].content)) == ("complete", length)
        if "draft" in told:
            written = [int(word) for word in listed[0].draft.split()[1:]]
            # Empty where the next message was sent before the kill.
            assert not written or written[0] * 100 + written[1] >= told["draft"][1]
            assert written or max(messages) > told["wrote"][0]
        assert {m.state for m in messages.values()} <= {"complete", "interrupted"}
        history.close()
