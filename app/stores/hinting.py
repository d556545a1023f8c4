"""Tells the service what is being typed, so that it reads along. GUI thread. Neighbours: `chat`, `asking`.

Nobody waits for a hint: one that fails or comes late is dropped without a word.
"""

from collections.abc import Sequence

from PySide6.QtCore import QObject, Slot

from app.attachments import Attachment
from app.history import Conversation, History, StoredMessage
from app.stores.asking import draft_request
from app.stores.calls import Calls
from app.stores.chat import ChatStore
from app.stores.models import ModelsStore
from engine.errors import EngineError

_FEW = 4
"""Fewer characters more are not worth a request."""
_CHARACTERS_PER_TOKEN = 8
"""More than a token has on average in any text: what is longer than this has no room in the context."""


class Hinting(QObject):
    """Hints for the open conversation, at most one on its way."""

    def __init__(
        self,
        history: History,
        chat: ChatStore,
        models: ModelsStore,
        calls: Calls,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.enabled = True
        """Does the user want it?"""
        self._history = history
        self._chat = chat
        self._models = models
        self._calls = calls
        self._draft = ""
        self._told = ""
        self._told_where: object = None
        """Conversation, branch, model and attachments of `_told`; None: nothing was told."""
        self._asking = False
        chat.message_added.connect(self._forget)
        chat.opened.connect(self._forget)
        chat.message_changed.connect(self._consider)
        models.changed.connect(self._consider)

    @Slot(str)
    def tell(self, draft: str) -> None:
        """This is what is typed so far."""
        self._draft = draft
        self._consider()

    @Slot()
    def _forget(self) -> None:
        self._draft, self._told_where = "", None

    @Slot()
    def _consider(self) -> None:
        model = self._models.get(self._chat.model)
        if not self.enabled or self._asking or self._chat.busy:
            return
        if model is None or model.state != "ready":
            return
        conversation = self._chat.conversation
        path = self._chat.messages()
        beside = [] if conversation is None else self._history.draft_attachments(conversation.id)
        if not self._draft.strip() and not beside:
            return
        room = _CHARACTERS_PER_TOKEN * (model.n_ctx or 0)
        if _characters(path, beside) + len(self._draft) > room:
            return
        where = (
            conversation and (conversation.id, conversation.system_prompt),
            path[-1].id if path else None,
            model.id,
            tuple(attachment.id for attachment in beside),
        )
        if where != self._told_where or self._has_grown():
            self._told_where, self._told = where, self._draft
            self._ask(conversation)

    def _has_grown(self) -> bool:
        """Is there more than was told? What was deleted again has been read all the same."""
        told, draft = self._told, self._draft
        few_more = draft.startswith(told) and len(draft) < len(told) + _FEW
        return not few_more and not told.startswith(draft)

    def _ask(self, conversation: Conversation | None) -> None:
        request = draft_request(
            self._history,
            conversation,
            self._draft,
            model=self._chat.model,
            defaults=self._chat.defaults,
        )
        self._asking = True
        self._calls.call(lambda client: client.prefill(request), self._on_reply, self._on_failure)

    def _on_reply(self, accepted: bool) -> None:
        self._asking = False
        if accepted:
            self._consider()  # more was typed meanwhile
        else:
            self._told_where = None

    def _on_failure(self, error: EngineError) -> None:
        del error
        self._asking = False
        self._told_where = None


def _characters(path: Sequence[StoredMessage], beside: Sequence[Attachment]) -> int:
    attached = [*beside, *(a for message in path for a in message.attachments)]
    return sum(len(m.content) for m in path) + sum(a.characters for a in attached)
