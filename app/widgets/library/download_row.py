"""One download: what it is, how it goes, and what can be done with it. Neighbours: `downloads`, `app.item_models.download_words`."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.item_models.download_words import fraction, progress_text, state_text
from app.item_models.hub_words import joined
from app.stores.downloads import MOVING
from app.theme import UNIT, text_font
from app.widgets.common.buttons import IconButton, describe, icon_button, plain_button
from app.widgets.common.labels import ElidedLabel, Role, label, set_role
from app.widgets.common.progress_line import ProgressLine
from engine.api.hub import DownloadInfo, DownloadState

_TONES: dict[DownloadState, Role] = {"failed": "error", "done": "good"}
_OVER = frozenset({"done", "failed"})


class DownloadRow(QWidget):
    """Shows what it is given and emits what the user wants.

    Signals:
        switched(): pause it, or let it go on.
        moved(int by): -1 up, 1 down.
        cancelled(): the user does not want it, or wants it off the list.
        show_wanted(): show the model it became.
    """

    switched = Signal()
    moved = Signal(int)
    cancelled = Signal()
    show_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name = ElidedLabel(mode=Qt.TextElideMode.ElideLeft)
        self._state = label(role="soft")
        self._state.setFont(text_font("small"))
        self._progress = ProgressLine()
        self._problem = label(role="warn", wrap=True, selectable=True)
        self._problem.setFont(text_font("small"))
        self._show_model = plain_button(self.tr("Show"), object_name="download-show")
        self._show_model.setToolTip(self.tr("Show this model in the list"))
        self._show_model.clicked.connect(self.show_wanted)
        self._up = icon_button("arrow-up", self.tr("Earlier"), object_name="download-up", size=16)
        self._up.clicked.connect(lambda: self.moved.emit(-1))
        self._down = icon_button(
            "arrow-down", self.tr("Later"), object_name="download-down", size=16
        )
        self._down.clicked.connect(lambda: self.moved.emit(1))
        self._switch = IconButton("pause")
        self._switch.setObjectName("download-switch")
        self._switch.clicked.connect(self.switched)
        self._cancel = IconButton("x")
        self._cancel.setObjectName("download-cancel")
        self._cancel.clicked.connect(self.cancelled)
        head = QHBoxLayout()
        head.setSpacing(UNIT // 2)
        head.addWidget(self._name, 1)
        head.addWidget(self._state)
        head.addSpacing(UNIT)
        for button in (self._show_model, self._up, self._down, self._switch, self._cancel):
            head.addWidget(button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, UNIT)
        column.setSpacing(UNIT // 2)
        column.addLayout(head)
        column.addWidget(self._progress)
        column.addWidget(self._problem)

    def show_download(self, info: DownloadInfo, num_queued: int) -> None:
        """Show how it stands; `num_queued` are those whose order can be changed."""
        owner, file = info.repo.partition("/")[0], info.name.rpartition("/")[2]
        self.setAccessibleName(f"{info.repo}, {file}")
        self._name.setText(f"{owner}/{file}")
        self._name.set_tip(f"{info.repo}\n{info.name}")
        over = info.state in _OVER
        self._state.setText(state_text(info))
        self._state.setVisible(over)
        set_role(self._state, _TONES.get(info.state, "soft"))
        self._progress.setVisible(info.state != "done")
        self._progress.set_progress(
            fraction(info), joined("" if over else state_text(info), progress_text(info))
        )
        self._problem.setText(info.problem)
        self._problem.setVisible(bool(info.problem))
        set_role(self._problem, "error" if info.state == "failed" else "warn")
        self._show_model.setVisible(bool(info.model) and info.state == "done")
        for button, possible in (
            (self._up, info.position > 0),
            (self._down, info.position < num_queued - 1),
        ):
            button.setVisible(not over and num_queued > 1)
            button.setEnabled(possible)
        self._switch.setVisible(info.state not in ("done", "checking"))
        self._describe(info, over=over)

    def _describe(self, info: DownloadInfo, *, over: bool) -> None:
        if info.state in MOVING:
            self._switch.set_icon("pause")
            describe(self._switch, self.tr("Pause"))
        else:
            self._switch.set_icon("arrows-clockwise" if over else "play")
            describe(self._switch, self.tr("Try again") if over else self.tr("Resume"))
        done = info.state == "done"
        describe(self._cancel, self.tr("Take off this list") if done else self.tr("Cancel"))
