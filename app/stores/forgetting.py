"""Tells the service to delete what it keeps of conversations that were deleted here, now or when it is there again.

GUI thread. Neighbours: `chat`, `asking` (the name of a conversation). Undoing a deletion costs reading the conversation anew.
"""

import logging
from functools import partial

import msgspec
from PySide6.QtCore import QObject, Slot

from app.history import History
from app.stores.asking import cache_key
from app.stores.calls import Calls
from app.stores.chat import ChatStore
from engine.errors import EngineError

logger = logging.getLogger(__name__)
_VALUE = "to be forgotten"
"""Under this name the history keeps the cache keys that the service has yet to hear of."""


class Forgetting(QObject):
    """The deleted conversations that the service does not know to be deleted."""

    def __init__(
        self, history: History, chat: ChatStore, calls: Calls, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._history = history
        self._calls = calls
        self._keys = _keys(history.value(_VALUE))
        self._asking: set[str] = set()
        chat.deleted.connect(self._on_deleted)

    @Slot()
    def tell(self) -> None:
        """The service is there: tell it what it does not know."""
        for key in self._keys:
            self._ask(key)

    @Slot(int)
    def _on_deleted(self, conversation_id: int) -> None:
        key = cache_key(self._history, conversation_id)
        if key not in self._keys:
            self._keys.append(key)
            self._save()
        self._ask(key)

    def _ask(self, key: str) -> None:
        if key not in self._asking:
            self._asking.add(key)
            self._calls.call(
                lambda client: client.forget(key),
                partial(self._on_forgotten, key),
                partial(self._on_failure, key),
            )

    def _on_forgotten(self, key: str, _reply: object) -> None:
        self._asking.discard(key)
        self._keys.remove(key)
        self._save()

    def _on_failure(self, key: str, error: EngineError) -> None:
        """Nobody waits for it: it is tried again when the service starts the next time."""
        self._asking.discard(key)
        logger.info("a deleted conversation is forgotten later, error=%s", error.code)

    def _save(self) -> None:
        try:
            self._history.set_value(_VALUE, msgspec.json.encode(self._keys).decode())
        except EngineError as error:  # a full disk: it holds until this window closes
            logger.warning("deleted conversations were not noted, error=%s", error)


def _keys(saved: str) -> list[str]:
    try:
        return msgspec.json.decode(saved or "[]", type=list[str])
    except msgspec.MsgspecError:
        return []
