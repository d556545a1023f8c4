"""Logging set-up, one call per process role. Prompts and answers are never logged."""

import logging
import sys

_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def setup(level: int = logging.INFO) -> None:
    """Send the root logger to stderr. Workers do the same; their supervisor keeps the lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter(_FORMAT, datefmt="%H:%M:%S"))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    if level > logging.DEBUG:
        for noisy in ("httpx2", "httpcore2", "asyncio", "uvicorn"):
            logging.getLogger(noisy).setLevel(logging.WARNING)
