"""Models worth knowing, for a first choice without a connection. No logic: read by `engine.hub.catalog`."""
