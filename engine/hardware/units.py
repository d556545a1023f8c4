"""Bytes as people read them. Neighbours: `plan`, `report`."""


def gigabytes(count: int) -> str:
    """`7.8 GB`, `920 MB`; powers of 1024, as memory is sold."""
    if count < 1 << 30:
        return f"{count / 2**20:.0f} MB"
    return f"{count / 2**30:.1f} GB"
