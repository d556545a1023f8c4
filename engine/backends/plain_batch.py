"""`PlainBatch`: a batch in NumPy arrays, for backends that have no memory of their own for it."""

import numpy as np

from engine.backends.base import I8, I32


class PlainBatch:
    """Implements `Batch`."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.n = 0
        self.token: I32 = np.zeros(capacity, np.int32)
        self.pos: I32 = np.zeros(capacity, np.int32)
        self.seq: I32 = np.zeros(capacity, np.int32)
        self.out: I8 = np.zeros(capacity, np.int8)
