"""The desktop: a client of the engine's service and nothing more."""
