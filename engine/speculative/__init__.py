"""Speculative decoding, written once over the Backend protocol: guess, compute all guesses in one step, keep what is right."""
