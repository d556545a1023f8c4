"""GGUF metadata as what it is, a stranger's claims: every value is checked for type and bounds on the way out.

Zone: any; pure. Neighbours: `facts`, `kv_layout`.
"""

from collections.abc import Mapping

MAX_COUNT = 1 << 24
"""Nothing a model counts gets near: tokens, heads, widths."""
MAX_WIDTH = 1 << 16
"""Of one attention head or state."""
MAX_LAYERS = 4096


class Claims:
    """The entries of the file's own architecture (`llama.block_count` is `block_count`)."""

    def __init__(self, metadata: Mapping[str, object]) -> None:
        self._metadata = metadata
        name = metadata.get("general.architecture")
        self.architecture = name if isinstance(name, str) and name else "unknown"

    def number(self, key: str, most: int = MAX_COUNT) -> int | None:
        """A whole number in [1, most], or None."""
        return _bounded(self._get(key), 1, most)

    def largest(self, key: str) -> int | None:
        """The number, or the largest in a list with one for each layer; None where that is 0."""
        values = self._list(key)
        numbers = (
            [self.number(key)] if values is None else [_bounded(v, 1, MAX_COUNT) for v in values]
        )
        return max((n for n in numbers if n is not None), default=None)

    def per_layer(self, key: str, n_layer: int) -> tuple[int, ...] | None:
        """One number (0 is allowed) for each layer; a single one stands for all. None when one is missing."""
        values = self._list(key)
        if values is None:
            values = (self.number(key),) * n_layer
        numbers = tuple(n for v in values[:n_layer] if (n := _bounded(v, 0, MAX_COUNT)) is not None)
        return numbers if len(numbers) == n_layer else None

    def flags(self, key: str, n_layer: int) -> tuple[bool, ...] | None:
        """One yes or no for each layer."""
        values = self._list(key) or ()
        return (
            tuple(v is True or v == 1 for v in values[:n_layer]) if len(values) >= n_layer else None
        )

    def vocabulary(self) -> int | None:
        """Number of tokens; of a long list, readers keep only the `length`."""
        tokens = self._metadata.get("tokenizer.ggml.tokens")
        length = (
            len(tokens) if isinstance(tokens, tuple | list) else getattr(tokens, "length", None)
        )
        return _bounded(length, 1, MAX_COUNT) or self.number("vocab_size")

    def file_type(self) -> int | None:
        """llama.cpp's number of the quantization."""
        return _bounded(self._metadata.get("general.file_type"), 0, 1023)

    def _get(self, key: str) -> object:
        return self._metadata.get(f"{self.architecture}.{key}")

    def _list(self, key: str) -> tuple[object, ...] | None:
        value = self._get(key)
        return tuple(value[:MAX_LAYERS]) if isinstance(value, tuple | list) else None


def _bounded(value: object, least: int, most: int) -> int | None:
    return value if type(value) is int and least <= value <= most else None
