"""What every route needs, and how it gets it: `Service`, one for each app."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from starlette.requests import Request

from engine.server.interruption import Answers
from engine.server.metering import Meter
from engine.supervisor.answer import Answer, AnswerRequest, Engine
from engine.types import SamplingParams

if TYPE_CHECKING:  # the hub's clients take a tenth of a second to import
    from engine.supervisor.hub import Hub
    from engine.supervisor.keeping import Keeping


@dataclass(frozen=True, slots=True)
class Service:
    """The engine and the settings of one app."""

    engine: Engine
    version: str
    guarded: bool
    """Is a key needed?"""
    sampling: SamplingParams
    """Where a request is silent."""
    ping_seconds: float
    keeping: "Keeping | None" = None
    """None: an engine without a library on disk."""
    hub: "Hub | None" = None
    """None: this service neither searches nor downloads."""
    answers: Answers = field(default_factory=Answers)
    meter: Meter = field(default_factory=Meter)

    def answer(
        self, model: str | None, request: AnswerRequest
    ) -> AbstractAsyncContextManager[Answer]:
        """See `Engine.answer`; it is counted."""
        return self.meter.watch(self.engine.answer(model, request))

    @property
    def fingerprint(self) -> str:
        """`system_fingerprint` of replies: changes when the same seed may give another text."""
        return f"b-inglenook-{self.version}"

    @staticmethod
    def of(request: Request) -> "Service":
        """The service that a request came to."""
        return cast(Service, request.app.state.service)
