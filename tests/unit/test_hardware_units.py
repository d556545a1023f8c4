import pytest

from engine.hardware.units import gigabytes


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 MB"),
        (92 << 20, "92 MB"),
        (100 << 20, "100 MB"),
        (1 << 30, "1.0 GB"),
        (24564 << 20, "24.0 GB"),
        (int(3.14 * 2**30), "3.1 GB"),
    ],
)
def test_gigabytes(count: int, text: str) -> None:
    assert gigabytes(count) == text
