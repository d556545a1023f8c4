"""Decoding backends behind one protocol. Kept free of imports: base must not reach a native library."""
