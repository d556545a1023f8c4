"""Which rows go into the next decode, written once over the Backend protocol."""
