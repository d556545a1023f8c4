"""What llama.cpp allocated, read from its own log.

`llama_get_memory_breakdown` is exported as C++ only (returns a std::map), so the log is the one
source; may go when the C API offers the figures.
"""

import re

from engine.backends.base import MemoryReport

_MIB = 1024 * 1024
_KV = re.compile(r"(?:KV|RS) buffer size\s*=\s*([\d.]+) MiB")
_COMPUTE = re.compile(r"(?:compute|output) buffer size\s*=\s*([\d.]+) MiB")


def memory_report(weights_bytes: int, log_lines: list[str]) -> MemoryReport:
    """Sum the buffers that making a context reported; 0 where the log says nothing."""

    def total(pattern: re.Pattern[str]) -> int:
        return int(
            sum(float(match[1]) * _MIB for line in log_lines for match in pattern.finditer(line))
        )

    return MemoryReport(weights_bytes, total(_KV), total(_COMPUTE))
