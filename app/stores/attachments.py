"""What lies beside the open conversation's draft. GUI thread. Neighbour: `chat`, which sends it along."""

from collections.abc import Callable, Iterable
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.attachments import FILE_LIMIT, Attachment, NotText, read_text_file
from app.history import History
from app.stores.chat import ChatStore
from engine.errors import EngineError


class AttachmentsStore(QObject):
    """The draft's attachments; each is in the history as soon as it is shown.

    Signals:
        changed(): another list.
        failed(str sentence): something could not be attached.
    """

    changed = Signal()
    failed = Signal(str)

    def __init__(self, history: History, chat: ChatStore, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._history = history
        self._chat = chat
        chat.opened.connect(self.changed)
        chat.message_added.connect(self.changed)

    @property
    def items(self) -> list[Attachment]:
        """In the order they came."""
        conversation = self._chat.conversation
        return [] if conversation is None else self._history.draft_attachments(conversation.id)

    def text(self, attachment: Attachment) -> str:
        """All of it, sent or not."""
        if attachment.text is not None:
            return attachment.text
        return self._history.attachment_text(attachment.id)

    def add(self, name: str, text: str) -> bool:
        """Attach a text; false (with `failed`) when it cannot be saved."""
        return self._try(
            lambda: self._history.attach(self._chat.ensure_conversation().id, name, text)
        )

    def add_files(self, paths: Iterable[str]) -> None:
        """Attach text files; each that is none is named in `failed`."""
        for path in map(Path, paths):
            try:
                self.add(path.name, read_text_file(path))
            except NotText as error:
                self.failed.emit(self._words(path.name, error))

    def remove(self, attachment: Attachment) -> Callable[[], None] | None:
        """Take one away; the function returned brings it back. None (with `failed`): it is still there."""
        conversation, text = self._chat.conversation, self.text(attachment)
        if conversation is None or not self._try(lambda: self._history.detach(attachment.id)):
            return None

        def undo() -> None:
            self._try(lambda: self._history.attach(conversation.id, attachment.name, text))

        return undo

    def _try(self, change: Callable[[], object]) -> bool:
        try:
            change()
        except EngineError as error:
            self.failed.emit(str(error))
            return False
        self.changed.emit()
        return True

    def _words(self, name: str, error: NotText) -> str:
        sentences = {
            "size": self.tr("{0} is too large: at most {1} MB of text can be attached."),
            "binary": self.tr("{0} is not a text file. Attach text in UTF-8, such as .txt or .md."),
        }
        unreadable = self.tr("{0} cannot be read. Check that it is there and may be read.")
        sentence = sentences.get(error.details["reason"], unreadable)
        return sentence.format(name, FILE_LIMIT // 1_000_000)
