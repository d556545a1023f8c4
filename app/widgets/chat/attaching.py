"""How attachments come to the composer and to the screen: pastes, files, the view of one.

Zone: app.widgets.chat. Stands between the page's widgets and `app.stores.attachments`.
"""

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtWidgets import QFileDialog, QWidget

from app.attachments import Attachment
from app.stores.attachments import AttachmentsStore
from app.widgets.chat.attachment_view import AttachmentView
from app.widgets.chat.composer import Composer


class Attaching(QObject):
    """Fills the composer's attachments.

    Signals:
        undo_offered(str text, object undo): one was taken away; undo is a callable.
    """

    undo_offered = Signal(str, object)

    def __init__(
        self,
        store: AttachmentsStore,
        composer: Composer,
        save_draft: Callable[[], None],
        page: QWidget,
    ) -> None:
        super().__init__(page)
        self._save_draft = save_draft
        self._store = store
        self._composer = composer
        self._page = page
        store.changed.connect(self._show)
        composer.editor.long_pasted.connect(self._paste)
        composer.editor.files_given.connect(store.add_files)
        composer.attach_requested.connect(self.choose_files)
        composer.attachments.removed.connect(self._remove)
        composer.attachments.opened.connect(self._open_in_draft)
        self._show()

    @Slot()
    def choose_files(self) -> None:
        """Ask for text files."""
        dialog = QFileDialog(self._page, self.tr("Attach text files"))
        dialog.setObjectName("attach_dialog")
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.filesSelected.connect(self._store.add_files)
        dialog.open()

    @Slot(object)
    def open(self, attachment: Attachment) -> AttachmentView:
        """Show the text of one that was sent."""
        return self._open(attachment, can_move=False)

    @Slot(object)
    def _open_in_draft(self, attachment: Attachment) -> None:
        view = self._open(attachment, can_move=True)
        view.move_requested.connect(partial(self._move, attachment, view))

    def _open(self, attachment: Attachment, *, can_move: bool) -> AttachmentView:
        text = partial(self._store.text, attachment)
        view = AttachmentView(attachment, text, can_move=can_move, parent=self._page)
        view.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        view.open()
        return view

    def _move(self, attachment: Attachment, view: AttachmentView) -> None:
        self._composer.editor.insert_at_cursor(self._store.text(attachment))
        self._save_draft()  # first: at no moment is the text in neither place
        self._store.remove(attachment)
        view.accept()

    @Slot()
    def _show(self) -> None:
        self._composer.show_attachments(self._store.items)

    @Slot(str)
    def _paste(self, text: str) -> None:
        count = len(self._store.items)
        name = self.tr("Pasted text {0}").format(count + 1) if count else self.tr("Pasted text")
        self._store.add(name, text)

    @Slot(object)
    def _remove(self, attachment: Attachment) -> None:
        undo = self._store.remove(attachment)
        if undo is not None:
            self.undo_offered.emit(self.tr("{0} was removed.").format(attachment.name), undo)
