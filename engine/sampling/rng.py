"""Random numbers addressed by (seed, choice, position) instead of drawn from a stream.

Pure Python integers, so the same on every machine and backend. An answer can thus be continued after
a crash, or a draft verified, without carrying any generator state. Used by `engine.sampling.sampler`.
"""

import secrets

_WORD = 0xFFFFFFFF
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10


def uniform(seed: int, choice: int, position: int) -> float:
    """A number of [0, 1) with 53 random bits.

    Args:
        seed: any integer; its low 64 bits count.
        choice: which answer to the same prompt; without it all choices would be the same text.
        position: tokens the answer has so far.
    """
    a, b, _, _ = philox((position & _WORD, position >> 32 & _WORD, choice & _WORD, 0), seed)
    return ((a >> 5) * 67108864 + (b >> 6)) / 9007199254740992  # 27 and 26 bits over 2**53


def philox(counter: tuple[int, int, int, int], key: int) -> tuple[int, int, int, int]:
    """One block of Philox4x32-10: four 32-bit words from four, under a 64-bit key.

    Source: Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3".
    """
    a, b, c, d = counter
    low, high = key & _WORD, key >> 32 & _WORD
    first, second = _MULTIPLIERS
    low_step, high_step = _WEYL
    for _ in range(_ROUNDS):
        x, y = first * a, second * c
        a, b, c, d = y >> 32 ^ b ^ low, y & _WORD, x >> 32 ^ d ^ high, x & _WORD
        low, high = low + low_step & _WORD, high + high_step & _WORD
    return a, b, c, d


def fresh_seed() -> int:
    """An unpredictable seed of 31 bits, so that it survives JSON and clients with 32-bit integers."""
    return secrets.randbits(31)
