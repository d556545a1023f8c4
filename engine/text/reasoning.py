"""Interim: no reasoning."""


class ReasoningSplitter:
    """Everything is content."""

    def __init__(self, prefilled: bool) -> None:
        del prefilled

    def push(self, text: str) -> tuple[str, str]:
        """(reasoning, content)."""
        return "", text

    def flush(self) -> tuple[str, str]:
        """The rest."""
        return "", ""
