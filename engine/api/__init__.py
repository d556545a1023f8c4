"""The wire: what clients send and receive over HTTP. Pure."""
