"""The HTTP front: routes, validation, streaming."""
