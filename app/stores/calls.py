"""The part of the bridge that stores need for one-shot requests: `Calls`. Neighbour: `app.bridge`."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

from engine.errors import EngineError

if TYPE_CHECKING:
    from engine.client.client import Client  # slow to import; a starting window need not wait

T = TypeVar("T")


class Calls(Protocol):
    """Runs requests beside the GUI thread."""

    def call(
        self,
        make: Callable[["Client"], Awaitable[T]],
        ok: Callable[[T], None],
        failed: Callable[[EngineError], None],
    ) -> object:
        """Await `make(client)`; then one of `ok` and `failed` is called, in the GUI thread."""
